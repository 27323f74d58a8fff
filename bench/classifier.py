"""Measure the command classifier: speed, and misses on two public collections.

    python bench/classifier.py                                # speed only
    python bench/classifier.py --gtfobins PATH --tldr PATH    # and the collections: git checkouts or git directories

GTFOBins lists ways to misuse programs: none should be judged safe. tldr pages list ordinary uses: those that only read
should be judged safe. Both are read with git, nothing of them is kept. `--show` prints the lines behind the figures.
"""

import argparse
import io
import re
import statistics
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.safety.shell.corpus import CASES

from fourhands.safety.shell import classify

SIZE = 100_000
# The placeholder of a recipe that reads a file becomes one that nobody may read: reading an ordinary file is safe.
PLACEHOLDERS = {"/path/to/input-file": "/etc/shadow", "$LFILE": "/etc/shadow"}
# The readers of safety-policy.md C7, as the policy lists them.
_LISTED = """
true false chdir netstat whoami hostname uptime free cmp ls cat head tail wc grep rg find fd sort uniq cut tr diff comm
jq column nl stat file du df tree date ps id uname seq sleep test echo printf basename dirname realpath readlink base64
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum xxd hexdump strings cd pwd set history printenv
"""
POLICY_READERS = frozenset(_LISTED.split())
# Forms that the policy itself takes out of reading: writing, deleting, running, setting, secrets.
NOT_READING = re.compile(
    r"[^-=]>(?!&)|\bsudo\b|\btee\b|-exec|-ok|-delete|-fprint|--pre\b|--output\b|--set\b|\s-s\b.*date|\$\(|"
    r"\bxargs\b|/etc/shadow|id_rsa|\.key\b|\.pem\b"
    r"|history\s+-|--compress-program|\brm\b|--in-place"
)


def shapes() -> dict[str, str]:
    """Return texts of 100 kB, each hard in its own way, and deep nesting."""
    one = {
        "many short commands": "ls -la x{};",
        "many lines of a script": "if [ -f 'x{0}' ]; then cp \"$a/x{0}\" b >/dev/null 2>&1 || exit 1; fi # copy it\n",
        "many changes of directory": "cd a{};b;",
        "many loops": "for i in $x{}; do echo $i; done;",
        "a long pipeline": "cat f{} |",
        "many lines of git": "git log --oneline -n {}\n",
        "many quoted words": "'a {}' ",
        "many here-documents": "cat <<E{0}\nx\nE{0}\n",
        "many substitutions": 'echo "$(date) {}";',
        "many assignments": "a{}=b;",
        "many exported variables": "export A{}=1;",
        "many deletions": "rm x{};",
        "many conditions": "if [ -f x{} ]; then cat y; fi\n",
    }
    texts = {
        name: "".join(part.format(n) for n in range(SIZE // len(part.format(5000)))).rstrip("|;")
        for name, part in one.items()
    }
    return texts | {
        "50,000 commands": "a;" * (SIZE // 2),
        "a pipeline of 50,000": "a|" * (SIZE // 2) + "a",
        "50,000 background jobs": "a&" * (SIZE // 2),
        "33,000 variables": "$a;" * (SIZE // 3),
        "25,000 redirections": "a>b;" * (SIZE // 4),
        "one long word": "echo " + "a" * SIZE,
        "one long string": "echo '" + "a; rm b " * (SIZE // 8) + "'",
        "many arguments": "echo " + "word " * (SIZE // 5),
        "10,000 parentheses": "(" * 10_000 + "ls" + ")" * 10_000,
        "10,000 substitutions": "echo " + "$(" * 10_000 + "ls" + ")" * 10_000,
        "10,000 quoted substitutions": "echo " + '"$(' * 10_000 + "ls" + ')"' * 10_000,
        "10,000 groups": "{ " * 10_000 + "ls;" + " }" * 10_000,
        "100,000 open parentheses": "(" * SIZE,
        "100,000 quotes": "'\"" * (SIZE // 2),
        "100,000 redirections": "<" * SIZE,
    }


def speed() -> None:
    """Print the median on the corpus and the time of each shape."""
    times = []
    for line, _, _ in CASES:
        best = min(_timed(line) for _ in range(3))
        times.append(best * 1000)
    print(f"{len(CASES)} corpus lines: median {statistics.median(times):.3f} ms, worst {max(times):.3f} ms\n")
    print("| text | kB | ms | level |\n|---|---:|---:|---|")
    for name, text in shapes().items():
        taken = min(_timed(text) for _ in range(3))
        print(f"| {name} | {len(text) // 1000} | {taken * 1000:.0f} | {classify(text).level} |")


def _timed(text: str) -> float:
    begin = time.process_time()
    classify(text)
    return time.process_time() - begin


def files(repository: Path, folder: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file below a folder of a repository's newest commit."""
    packed = subprocess.run(
        ["git", "-C", str(repository), "archive", "HEAD", folder], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read().decode("utf-8", "replace")


def recipes(repository: Path) -> Iterator[tuple[str, str, str]]:
    """Yield program, function and text of every GTFOBins recipe."""
    for name, text in files(repository, "_gtfobins"):
        function, block, indent = "", list[str](), -1
        for line in [*text.split("\n"), "..."]:
            depth = len(line) - len(line.lstrip())
            if block or indent >= 0:
                if not line.strip() or depth > indent:
                    block.append(line)
                    continue
                yield Path(name).name, function, _outdented(block)
                block, indent = [], -1
            if found := re.match(r"  ([\w-]+):\s*$", line):
                function = found.group(1)
            if found := re.match(r"(\s*(?:- )?)code: \|-?\s*$", line):
                indent = len(found.group(1))
            elif found := re.match(r"\s*(?:- )?code: ([^|].*)$", line):
                yield Path(name).name, function, found.group(1).strip("'\"")


def _outdented(block: list[str]) -> str:
    depth = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
    text = "\n".join(line[depth:] for line in block).strip("\n")
    for placeholder, name in PLACEHOLDERS.items():
        text = text.replace(placeholder, name)
    return text


def gtfobins(repository: Path, show: bool) -> None:
    """Print how many recipes of each function are judged safe."""
    levels: Counter[tuple[str, str]] = Counter()
    for program, function, text in recipes(repository):
        verdict = classify(text)
        levels[function, verdict.level] += 1
        if show and verdict.level == "safe":
            print(f"SAFE {program} {function}: {text!r}")
    print("\n| GTFOBins function | recipes | dangerous | unknown | safe |\n|---|---:|---:|---:|---:|")
    functions = sorted({function for function, _ in levels})
    for function in [*functions, "all"]:
        counts = [
            sum(n for (f, at), n in levels.items() if at == level and function in (f, "all"))
            for level in ("dangerous", "unknown", "safe")
        ]
        print(f"| {function} | {sum(counts)} | {counts[0]} | {counts[1]} | {counts[2]} |")


def examples(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield program and line of every tldr example that only reads, by the rules in docs/classifier.md."""
    for folder in ("pages/common", "pages/linux"):
        for name, text in files(repository, folder):
            program = Path(name).stem
            git = re.fullmatch(
                r"git-(status|log|diff|show|blame|shortlog|describe|rev-parse|ls-files|ls-tree|grep)", program
            )
            if program not in POLICY_READERS and not git:
                continue
            for line in re.findall(r"^`(.*)`$", text, re.MULTILINE):
                plain = _filled(line)
                commands = [part.split() for part in re.split(r"\s(?:\||&&|;)\s", plain)]
                if NOT_READING.search(plain) or not all(
                    words and (words[0] in POLICY_READERS or words[0] == "git") for words in commands
                ):
                    continue
                yield program, plain


def _filled(line: str) -> str:
    """Replace placeholders by their first choice."""

    def choose(found: re.Match[str]) -> str:
        inside = found.group(1)
        if inside.startswith("[") and inside.endswith("]"):
            inside = inside[1:-1]
        return inside.split("|")[0].removesuffix(" ...")

    return re.sub(r"\{\{(.*?)\}\}(?!\})", choose, line)


def tldr(repository: Path, show: bool) -> None:
    """Print how many read-only examples are not judged safe."""
    levels: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for program, line in examples(repository):
        verdict = classify(line)
        levels[verdict.level] += 1
        if verdict.level != "safe":
            reasons[f"{verdict.level} {verdict.rule}"] += 1
            if show:
                print(f"{verdict.level.upper()} {program}: {line!r} -- {verdict.reason}")
    total = sum(levels.values())
    missed = total - levels["safe"]
    print("\n| tldr read-only examples | judged safe | not safe | share |\n|---:|---:|---:|---:|")
    print(f"| {total} | {levels['safe']} | {missed} | {missed / max(total, 1):.1%} |")
    print("\n| not safe by | examples |\n|---|---:|")
    for reason, count in reasons.most_common():
        print(f"| {reason} | {count} |")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gtfobins", type=Path, help="checkout or git directory of GTFOBins")
    parser.add_argument("--tldr", type=Path, help="checkout or git directory of tldr-pages")
    parser.add_argument("--show", action="store_true", help="print the lines behind the figures")
    parser.add_argument("--no-speed", action="store_true", help="only the collections")
    arguments = parser.parse_args()
    if not arguments.no_speed:
        speed()
    if arguments.gtfobins:
        gtfobins(arguments.gtfobins, arguments.show)
    if arguments.tldr:
        tldr(arguments.tldr, arguments.show)


if __name__ == "__main__":
    main()
