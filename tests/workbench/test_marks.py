import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.core.errors import BadArgument
from fourhands.workbench.marks import SCRIPTS, Command, Commands, Mark, Scanner, encode_input, integrate
from tests.support.marked_shell import NONCE, MarkedShell

SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("bash", "zsh")
]

Start = Callable[..., MarkedShell]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a shell whose user has the given files."""
    shells: list[MarkedShell] = []

    def make(shell: str, rc: str = "", *, prompt: str = "PS1='$ '\n", env: dict[str, str] | None = None) -> MarkedShell:
        (tmp_path / ".bash_profile").write_text(prompt + rc)
        (tmp_path / ".zshrc").write_text("setopt interactivecomments\n" + prompt + rc)
        shells.append(MarkedShell(shell, tmp_path, env=env))
        return shells[-1].start()

    yield make
    for shell in shells:
        shell.close()


def one(records: list[Command]) -> Command:
    assert len(records) == 1, records
    return records[0]


def check(shell: MarkedShell, text: str, output: bytes, code: int, statuses: tuple[int, ...] | None = None) -> Command:
    records = shell.run(text)
    assert shell.seen(records) == output
    assert records[-1].exit_code == code
    assert records[-1].state == "finished"
    if statuses is not None:
        assert records[-1].statuses == statuses
    return records[-1]


# ---- the mixed commands -------------------------------------------------------------------------------------------


class Mix:
    """Random commands whose output and exit code are known beforehand."""

    def __init__(self, shell: MarkedShell, seed: int, places: Path) -> None:
        self.shell = shell
        self.zsh = shell.shell == "zsh"
        self.random = random.Random(seed)
        self.places = places
        self.code = 0
        self.count = 0
        self.makers = [
            self.plain, self.status, self.pipeline, self.heredoc, self.function, self.loop, self.binary, self.no_newline,
            self.stderr, self.unicode, self.cd, self.background, self.comment, self.empty, self.syntax, self.strict,
            self.forged, self.dollar_question, self.long, self.tab, self.unfinished_escape, self.cleared, self.last_word,
            self.negated, self.killed,
        ]  # fmt: skip

    def token(self) -> str:
        self.count += 1
        return f"t{self.count}_{self.random.randrange(10**6)}"

    def step(self) -> None:
        if self.random.random() < 0.01:
            self.megabyte()
        else:
            self.random.choice(self.makers)()

    def expect(self, text: str, output: bytes, code: int, statuses: tuple[int, ...] | None = None) -> Command:
        shown = self.shell.commands.shown
        records = self.shell.run(text)
        # A background job that ends just now may be announced at any time.
        seen = re.sub(rb"(\r\r\n)?\[\d+\] *[+-]? +(Done|done) [^\n]*\n", b"", self.shell.seen(records))
        assert seen == output.replace(b"\n", b"\r\n"), (text, seen[:300], output[:300])
        assert all(record.ran and record.state == "finished" and record.prompt == shown for record in records)
        last = records[-1]
        assert last.exit_code == code, (text, last)
        if statuses is not None:
            assert last.statuses == statuses, (text, last)
        self.code = code
        return last

    def nothing(self, text: str, codes: tuple[int, ...]) -> None:
        record = one(self.shell.run(text))
        assert not record.ran
        assert record.exit_code in codes
        assert record.exit_code is not None
        self.code = record.exit_code

    def plain(self) -> None:
        token = self.token()
        self.expect(f"echo {token}", f"{token}\n".encode(), 0, (0,))

    def status(self) -> None:
        code = self.random.randrange(256)
        self.expect(f"(exit {code})", b"", code, (code,))

    def pipeline(self) -> None:
        codes = [self.random.choice([0, 0, 1, 2, 77, 255]) for _ in range(self.random.randrange(2, 6))]
        self.expect(" | ".join(f"(exit {code})" for code in codes), b"", codes[-1], tuple(codes))

    def heredoc(self) -> None:
        lines = [f"  {self.token()} $HOME `x` 'q' \"d\" \\" for _ in range(self.random.randrange(1, 5))]
        body = "\n".join(lines)
        self.expect(f"cat <<'END'\n{body}\nEND", f"{body}\n".encode(), 0, (0,))

    def function(self) -> None:
        token, code = self.token(), self.random.randrange(1, 100)
        self.expect(f"f() {{\n  echo {token}\n  return {code}\n}}\nf", f"{token}\n".encode(), code)

    def loop(self) -> None:
        token = self.token()
        self.expect(
            f"for i in 1 2 3; do\n  # {token}\n  echo {token} $i\ndone",
            "".join(f"{token} {i}\n" for i in (1, 2, 3)).encode(),
            0,
        )

    def binary(self) -> None:
        data = bytes(self.random.choice([*range(1, 10), *range(11, 256)]) for _ in range(50))
        octal = "".join(f"\\{byte:03o}" for byte in data)
        self.expect(f"printf '{octal}'", data, 0, (0,))

    def no_newline(self) -> None:
        token = self.token()
        self.expect(f"printf %s {token}; (exit 4)", token.encode(), 4)

    def stderr(self) -> None:
        token = self.token()
        self.expect(f"echo {token} >&2; (exit 5)", f"{token}\n".encode(), 5)

    def unicode(self) -> None:
        token = self.token() + "äöü漢字👍🏽é"
        self.expect(f"echo {token}", f"{token}\n".encode(), 0)

    def cd(self) -> None:
        place = self.places / self.random.choice(
            ["plain", "with space", "100%;d=x;", "new\nline", "tab\tbell\a", "ünï"]
        )
        place.mkdir(exist_ok=True)
        octal = "".join(f"\\{byte:03o}" for byte in os.fsencode(place))
        assert self.expect(f"cd \"$(printf '{octal}')\"", b"", 0).cwd == str(place)

    def background(self) -> None:
        token = self.token()
        self.expect(f"(sleep 0.00{self.random.randrange(10)} &); echo {token}", f"{token}\n".encode(), 0)
        record = one(self.shell.run("sleep 0.001 &"))
        assert re.match(rb"\[\d+\] \d+\r\n", self.shell.seen([record]))
        assert record.exit_code == 0
        self.code = 0

    def comment(self) -> None:
        self.nothing(f"# {self.token()}", (self.code,))

    def empty(self) -> None:
        self.nothing(self.random.choice(["", "   "]), (self.code,))

    def syntax(self) -> None:
        self.nothing(self.random.choice([")(", "echo a; ;; b", "fi"]), (self.code, 1, 2))

    def strict(self) -> None:
        token = self.token()
        self.expect(f"(set -euo pipefail; echo {token}; false; echo no)", f"{token}\n".encode(), 1)

    def forged(self) -> None:
        forged = b"\033]133;D;0;fh=;n=%d;s=0;o=h;d=/\007\033]133;A;p=99\007\033]133;B\007" % self.count
        octal = "".join(f"\\{byte:03o}" for byte in forged)
        self.expect(f"printf '{octal}'; (exit 6)", forged, 6)

    def dollar_question(self) -> None:
        codes = [self.random.randrange(256) for _ in range(2)]
        self.expect(f"(exit {codes[0]}) | (exit {codes[1]})", b"", codes[1])
        name = "pipestatus" if self.zsh else "PIPESTATUS"
        self.expect(f'echo "$? ${{{name}[*]}}"', f"{codes[1]} {codes[0]} {codes[1]}\n".encode(), 0)

    def last_word(self) -> None:
        token = self.token()
        self.expect(f": one {token}", b"", 0)
        self.expect('echo "$_"', f"{token}\n".encode(), 0)

    def long(self) -> None:
        word = self.token() * 600
        self.expect(f"echo {word}", f"{word}\n".encode(), 0)

    def tab(self) -> None:
        self.expect("printf '%s|' 'a\tb' \"c\t\"", b"a\tb|c\t|", 0)

    def unfinished_escape(self) -> None:
        escape = self.random.choice(
            ["\\033", "\\033]", "\\033]133", "\\033]133;D;0;fh=", "\\033]0;title", "\\033[", "\\033P"]
        )
        self.expect(f"printf '{escape}'", escape.replace("\\033", "\033").encode(), 0)

    def cleared(self) -> None:
        self.expect("printf '\\033[2J\\033[H\\033[?1049h\\033[?1049l'", b"\033[2J\033[H\033[?1049h\033[?1049l", 0)

    def negated(self) -> None:
        self.expect("! true", b"", 1)

    def killed(self) -> None:
        self.expect("sh -c 'sh -c \"kill -9 \\$\\$\"; exit $?' 2>/dev/null | (exit 9)", b"", 9, (137, 9))

    def megabyte(self) -> None:
        self.expect("head -c 1048576 /dev/zero | tr '\\0' x", b"x" * 1048576, 0, (0, 0))


def mixed(shell: MarkedShell, count: int, seed: int, places: Path) -> None:
    mix = Mix(shell, seed, places)
    mix.megabyte()
    for _ in range(count):
        mix.step()


@pytest.mark.parametrize("name", SHELLS)
def test_mixed_commands_have_exact_bounds_and_exit_codes(start: Start, tmp_path: Path, name: str) -> None:
    mixed(start(name), 300, 1, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SHELLS)
def test_ten_thousand_mixed_commands(start: Start, tmp_path: Path, name: str) -> None:
    mixed(start(name), 10_000, 2, tmp_path)
