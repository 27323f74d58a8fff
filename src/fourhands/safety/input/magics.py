"""IPython's own lines: magics, shell lines behind `!`, and questions with `?`."""

import re

from fourhands.safety.shell import classify
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.levels import FINE, LEVELS, Finding, dangerous, unknown
from fourhands.safety.shell.options import words
from fourhands.safety.shell.parser.expansion import shown

_RULE = "C6.2"
_SHELL_MAGICS = words("sx system sc bash sh script ! cmd")
_LOOKS = words(
    "pwd who whos who_ls lsmagic magic quickref history hist pdoc pdef pinfo pinfo2 psource pfile precision pprint "
    "dhist colors xmode doctest_mode"
)
_CODE = words("timeit time prun memit mprun lprun capture")  # code stands behind them
_FILES = words(
    "cd ls ll lf lk ld lx mkdir rmdir rm mv cp cat less more man env set_env pip conda mamba uv writefile file"
)
_ASSIGNED = re.compile(r"\s*[\w.,\s\[\]]+=\s*(?=[!%])")
_ASKS = re.compile(r"\?{0,2}%{0,2}[\w.*]+\?{0,2}")
_OPTIONS = re.compile(r"(?:-\w+(?:\s+\d+)?\s+)*")


def without_magics(text: str, classifier: LineClassifier) -> tuple[str, list[Finding]]:
    """Return the Python code of a text, and the findings for its other lines."""
    code: list[str] = []
    findings: list[Finding] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        plain = line.strip()
        if (assigned := _ASSIGNED.match(plain)) is not None:
            plain = plain[assigned.end() :]
        if plain.startswith("%%"):
            findings.append(_cell(plain, "\n".join(lines[number + 1 :]), classifier))
            if plain[2:].split(" ")[0] in _CODE:
                code.extend(lines[number + 1 :])
            break
        if plain.startswith("!"):
            findings.append(_shell(plain.lstrip("!"), classifier))
        elif plain.startswith("%"):
            found, rest = _magic(plain[1:].strip(), classifier)
            findings.append(found)
            code.append(rest)
        elif "?" in plain and _ASKS.fullmatch(plain):
            findings.append(FINE)
        elif plain.startswith(("/", ",", ";")):  # the rest are a function's name and its operands, without brackets
            findings.append(dangerous(_RULE, f"Python code: calls by a sign: {shown(plain)[:24]}"))
        else:
            code.append(line)
            first = plain.split(" ")[0] if plain else ""
            if first in _FILES and not re.match(r"\s*[=.(\[,:]", plain[len(first) :]):  # a magic without its sign
                findings.append(_shell(plain, classifier))
                code.pop()
    return "\n".join(code), findings


def _magic(plain: str, classifier: LineClassifier) -> tuple[Finding, str]:
    """Classify one magic; also return the code behind it."""
    name, _, rest = plain.partition(" ")
    if name in _CODE:
        return FINE, rest[match.end() :] if (match := _OPTIONS.match(rest)) else rest
    if name in _SHELL_MAGICS or name in _FILES:
        return _shell(rest if name in _SHELL_MAGICS else plain, classifier), ""
    if name in _LOOKS and re.fullmatch(r"[\w.]*", rest.strip()):
        return FINE, ""
    return unknown(_RULE, f"IPython's %{shown(name)[:24]}"), ""


def _cell(first: str, rest: str, classifier: LineClassifier) -> Finding:
    name = first[2:].strip().split(" ")[0]
    if name in _SHELL_MAGICS:
        return _shell(rest, classifier)
    if name in _CODE:
        return FINE
    return unknown(_RULE, f"IPython's %%{shown(name)[:24]}")


def _shell(line: str, classifier: LineClassifier) -> Finding:
    if re.search(r"[{$]", line):
        return dangerous(_RULE, "starts a shell's line that is only known at run time")
    verdict = classify(line.strip(), classifier.rules)
    kinds = verdict.effects.kinds if verdict.level == "dangerous" else frozenset()
    return Finding(LEVELS.index(verdict.level), verdict.rule, f"starts a shell's line: {verdict.reason}", kinds)
