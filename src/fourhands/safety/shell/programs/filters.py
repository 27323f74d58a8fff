"""sed and awk: small languages whose programs may run commands, write files and read secrets (C6.4).

Their programs are cut into commands as the tools do it: a pattern that looks like another command hides nothing. What
does not fit is never safe.
"""

import re
from collections.abc import Iterator

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.file_rules import written
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import is_static, literal, shown

_LONGEST = 4_096

_SED = Tool(
    takes=words("-l --line-length -f --file"),
    texts=words("-e --expression"),
    unskip=words("-f --file -e --expression"),
    skip=1,
)
_SED_SKIP = re.compile(r"[\s;{}]*+(?:#[^\n]*+[\s;{}]*+)*+")
_SED_CASE = re.compile(r"[IM]*")
_SED_NUMBER = re.compile(r"[+~]?\d+(?:\s*~\s*\d+)?|\$")
_SED_JOINT = re.compile(r"\s*,\s*")
_SED_NOT = re.compile(r"[\s!]*")
_SED_FLAGS = re.compile(r"[a-zA-Z0-9]*")
_SED_LINE = re.compile(r"(?:[^\n\\]|\\.)*+\\?", re.DOTALL)
_SED_NAME = re.compile(r"\s*([^\n]*)")
_SED_LABEL = re.compile(r"[^\n;}]*")
_SED_COUNT = re.compile(r"\s*\d*")
_SED_END = re.compile(r"\s*(?=[;}#]|\Z)|[ \t]*\n")


class _Strange(Exception):
    """A program that is cut in another way than expected, or not at all."""


def sed(argv: list[str], context: CommandContext) -> Finding:
    """Classify `sed`: the scripts that run or write, and editing in place."""
    args = read(argv[1:], _SED)
    scripts = args.values("-e", "--expression")
    if not scripts and not args.has("-f", "--file"):
        scripts = args.operands[:1]
    findings = [context.classifier.plain(_SED, argv[1:], context)]
    if args.has("-i", "--in-place") or any(option.startswith("--in-place") for option, _ in args.options):
        files = args.operands if args.values("-e") else args.operands[1:]
        findings.append(unknown("C5.2", "edits files in place"))
        findings.extend(written(word, context.classifier.cwd, "edits") for word in files)
    if args.has("-f", "--file"):
        findings.append(unknown("C6.4", "runs a sed script from a file"))
    findings.extend(_sed_script(literal(script), context) for script in scripts)
    return worst(*findings)


def _sed_script(script: str, context: CommandContext) -> Finding:
    if not is_static(script):
        return unknown("C6.4", "a sed script that is only known at run time")
    if len(script) > _LONGEST:
        return unknown("C6.4", "a sed script too long to check")
    findings = [FINE]
    try:
        for name, value in _sed_commands(script):
            if name == "e":
                findings.append(dangerous("C6.4", "sed runs a command: e"))
            elif name in "wW":
                findings.append(written(value, context.classifier.cwd))
            elif context.classifier.secret([value]):
                findings.append(dangerous("C5.4", f"reads the secret file {shown(value)}"))
    except _Strange:
        findings.append(unknown("C6.4", "a sed script that cannot be parsed"))
        if re.search(r"(?<![a-zA-Z\\])e(?![a-zA-Z])|[a-zA-Z0-9]*e\Z", script):
            findings.append(dangerous("C6.4", "a sed script that may run a command"))
    return worst(*findings)


def _sed_commands(script: str) -> Iterator[tuple[str, str]]:
    """Yield the commands that run, write or read: `e`, `w`, `W`, `r`, `R`, each with its argument."""
    at = 0
    while (at := _end(_SED_SKIP, script, at)) < len(script):
        at = _sed_address(script, at)
        if joint := _SED_JOINT.match(script, at):
            at = _sed_address(script, joint.end())
        at = _end(_SED_NOT, script, at)
        name, at = script[at : at + 1], at + 1
        if name in ("{", "}", "#", ""):
            at -= name == "#"
            continue
        if name in "sy":
            sign, at = script[at : at + 1], at + 1
            at = _sed_part(script, _sed_part(script, at, sign), sign)
            flags = _SED_FLAGS.match(script, at) if name == "s" else None
            if flags is not None:
                before, writes, _ = flags.group().partition("w")
                if "e" in before:
                    yield "e", ""
                at = flags.start() + len(before)
                if writes:
                    name, at = "w", at + 1
        if name in "wWrR":
            found = _SED_NAME.match(script, at)
            assert found is not None  # it matches anything
            yield name, found.group(1)
            at = found.end()
        elif name in "aic":
            at = _end(_SED_LINE, script, at)
        elif name == "e":
            yield "e", ""
            at = _end(_SED_LINE, script, at)
        elif name in "btT:v":
            at = _end(_SED_LABEL, script, at)
        elif name in "qQlL":
            at = _end(_SED_COUNT, script, at)
        elif name not in "sy=dDgGhHnNpPxzF":
            raise _Strange
        end = _SED_END.match(script, at)
        if end is None:
            raise _Strange
        at = end.end()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _sed_address(script: str, at: int) -> int:
    """Return the end of the address at `at`, or `at` if there is none."""
    sign = script[at : at + 1]
    if sign in ("/", "\\"):
        at += 1
        if sign == "\\":
            sign, at = script[at : at + 1], at + 1
        at = _sed_part(script, at, sign)
        return _end(_SED_CASE, script, at)
    return _end(_SED_NUMBER, script, at)


def _sed_part(script: str, at: int, sign: str) -> int:
    """Return the offset behind the sign that ends a pattern or replacement."""
    if not sign or sign in "\n\\":
        raise _Strange
    bracket = -1
    while at < len(script):
        letter = script[at]
        if letter == sign:
            if bracket >= 0 and "]" in script[at:]:
                raise _Strange  # some seds take it for the end, others not
            return at + 1
        if letter == "[" and bracket < 0:
            bracket = at
            at += script.startswith("^", at + 1) + script.startswith(("]", "^]"), at + 1)
        elif letter == "]":
            bracket = -1
        at += 2 if letter == "\\" else 1
    raise _Strange


_AWK = Tool(
    takes=words("-F -i -l -L -D -p --include --load --field-separator"),
    texts=words("-v --assign -e --source"),
    unskip=words("-f --file -E --exec -e --source"),
    skip=1,
    rule="C6.4",
    writes=words("-o --pretty-print -d --dump-variables --profile"),
    ask={
        "-f": "runs an awk script from a file",
        "--file": "runs an awk script from a file",
        "-E": "runs a script from a file",
        "-i": "loads a library",
        "-l": "loads a library",
        "--include": "loads a library",
        "--load": "loads a library",
    },
)
_AWK_TOKEN = re.compile(
    r"(?P<string>\"(?:[^\"\\]|\\.)*+\")"
    r"|(?P<word>[A-Za-z_]\w*+)|(?P<operand>[\d.]+\w*+|[)\]$])|(?P<step>\+\+|--)"
    r"|(?P<comment>\#[^\n]*+)|(?P<blank>[ \t\r]++|\\\n)|(?P<slash>/)|(?P<other>.|\n)",
    re.DOTALL,
)
_AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n/]*+\])*+/")  # a slash in brackets is the end for some
# A word behind which a slash starts a pattern, not a division.
_AWK_KEYWORDS = words("print printf return in case do else getline delete if while for switch exit")
_AWK_RUNS = re.compile(r"\bsystem\s*\(|\|&|(?<!\|)\|(?!\|)|@\w|\bfork\s*\(|\bextension\s*\(")


def awk(argv: list[str], context: CommandContext) -> Finding:
    """Classify `awk`: programs that run commands or write."""
    args = read(argv[1:], _AWK)
    findings = [context.classifier.plain(_AWK, argv[1:], context)]
    programs = args.values("-e", "--source")
    if not programs and not args.has("-f", "--file", "-E", "--exec"):
        programs = args.operands[:1]
    findings.extend(_awk_program(literal(program), context) for program in programs)
    return worst(*findings)


def _awk_program(program: str, context: CommandContext) -> Finding:
    if "/inet" in program or re.search(r"\bsystem\s*\(", program):
        return dangerous("C6.4", "awk runs a command or opens a connection")
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', program):
        if context.classifier.secret([found.group(1)]):
            return dangerous("C5.4", f"awk reads the secret file {found.group(1)}")
    try:
        bare = _awk_bare(program)
    except _Strange:
        if _AWK_RUNS.search(program):
            return dangerous("C6.4", "an awk program that may run a command")
        return unknown("C6.4", "an awk program that cannot be parsed")
    if _AWK_RUNS.search(bare):
        return dangerous("C6.4", "awk runs a command")
    if not is_static(program):
        return unknown("C6.4", "an awk program that is only known at run time")
    if re.search(r"\bprintf?\b[^;\n}]*?>", bare):
        target = re.search(r'>\s*"([^"]*)"', program)
        return written(target.group(1), context.classifier.cwd) if target else unknown("C6.4", "awk writes a file")
    return unknown("C6.4", "awk reads a file by name") if re.search(r"\bgetline\b|\bARGV\s*\[", bare) else FINE


def _awk_bare(program: str) -> str:
    """Return a program without the insides of its texts and patterns, and without comments."""
    out: list[str] = []
    at, operand, sure = 0, False, True
    while at < len(program):
        found = _AWK_TOKEN.match(program, at)
        assert found is not None  # any sign fits
        kind, text, at = found.lastgroup, found.group(), found.end()
        if kind in ("blank", "comment"):
            out.append(" " if kind == "blank" else "")
            continue
        if kind == "slash" and not operand:
            pattern = _AWK_REGEX.match(program, found.start())
            if pattern is None or not sure:
                raise _Strange
            text, at, operand = "//", pattern.end(), True
        else:
            if text == '"':
                raise _Strange
            text = '""' if kind == "string" else text
            # Behind a step a slash may be either.
            sure = kind != "step"
            operand = kind in ("string", "operand") or (kind == "word" and text not in _AWK_KEYWORDS)
        out.append(text)
    return "".join(out)


FILTERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk),
}
