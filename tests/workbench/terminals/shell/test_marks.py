import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.marked_shell import NONCE, MarkedShell

from fourhands.core.errors import BadArgument
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.shell.history import ShellCommand, ShellHistory
from fourhands.workbench.terminals.shell.integration import SCRIPTS, encode_input, integrate
from fourhands.workbench.terminals.shell.marks import MarkScanner, ShellMark

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
        (tmp_path / ".config/fish").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".config/fish/config.fish").write_text("function fish_greeting; end\n")
        (tmp_path / ".zshrc").write_text("setopt interactivecomments\n" + prompt + rc)
        shells.append(MarkedShell(shell, tmp_path, env=env))
        return shells[-1].start()

    yield make
    for shell in shells:
        shell.close()


def one(records: list[ShellCommand]) -> ShellCommand:
    assert len(records) == 1, records
    return records[0]


def check(
    shell: MarkedShell, text: str, output: bytes, code: int, statuses: tuple[int, ...] | None = None
) -> ShellCommand:
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
            self.plain, self.status, self.pipeline, self.heredoc, self.function, self.loop, self.binary,
            self.no_newline, self.stderr, self.unicode, self.cd, self.background, self.comment, self.empty, self.syntax,
            self.strict, self.forged, self.dollar_question, self.long, self.tab, self.unfinished_escape, self.cleared,
            self.last_word, self.negated, self.killed,
        ]  # fmt: skip

    def token(self) -> str:
        self.count += 1
        return f"t{self.count}_{self.random.randrange(10**6)}"

    def step(self) -> None:
        if self.random.random() < 0.01:
            self.megabyte()
        else:
            self.random.choice(self.makers)()

    def expect(self, text: str, output: bytes, code: int, statuses: tuple[int, ...] | None = None) -> ShellCommand:
        shown = self.shell.commands.shown
        records = self.shell.run(text)
        seen = self.shell.seen(records)
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
        # The shell announces the end of the job when it likes: during `wait`, or before or after a prompt.
        record = one(self.shell.run("wait"))
        assert re.fullmatch(rb"(\s*\[\d+\] *[+-]? +[Dd]one [^\n]*\n)?", self.shell.seen([record]))
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


# ---- hostile users, both shells -----------------------------------------------------------------------------------


def works(shell: MarkedShell) -> None:
    """A handful of commands with exact bounds and exit codes."""
    check(shell, "echo one", b"one\r\n", 0)
    check(shell, "(exit 3) | (exit 4)", b"", 4, (3, 4))
    check(shell, "printf x; (exit 9)", b"x", 9)
    check(shell, "cat <<END\na\nb\nEND", b"a\r\nb\r\n", 0)
    assert not one(shell.run("")).ran


PROMPTS = {
    "multi-line": "PS1=$'first line\\nsecond line\\n> '",
    "empty": "PS1=",
    "unset": "unset PS1",
    "forged": "PS1=$'\\e]133;A\\a$ \\e]133;B\\a'",
    "nounset": "set -u",
    "noglob": "set -f",
    "no separator": "IFS=",
    "all exported": "set -a",
    "no clobber": "set -C",
    "own builtins": 'printf() { command printf "$@"; }; local() { :; }; alias builtin=false typeset=false',
}


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("rc", PROMPTS.values(), ids=PROMPTS)
def test_marks_survive_prompts_and_options(start: Start, name: str, rc: str) -> None:
    works(start(name, rc + "\n"))


BASH_THEMES = {
    "prompt command sets PS1": "PROMPT_COMMAND='PS1=\"$? > \"; echo noise'",
    "array": "PROMPT_COMMAND=('echo one' 'PS1=\"x> \"' 'false')",
    "readonly": "PROMPT_COMMAND='echo noise'; readonly PROMPT_COMMAND",
    "readonly PS1": "readonly PS1",
    "debug trap": "trap ':' DEBUG",
    "skipping debug trap": "shopt -s extdebug; trap ':' DEBUG",
    "error trap": "set -E; trap ':' ERR",
    "exit trap": "trap 'echo bye' EXIT",
    "history control": "HISTCONTROL=ignoreboth; HISTIGNORE='*'",
    "own PS0": "PS0='running $(false)'",
    "vi keys": "set -o vi",
    "substitution in PS1": "PS1='$(false; echo sub)> '",
}


@pytest.mark.parametrize("rc", BASH_THEMES.values(), ids=BASH_THEMES)
def test_marks_survive_bash_customs(start: Start, rc: str) -> None:
    shell = start("bash", rc + "\n")
    if "readonly PROMPT_COMMAND" in rc:
        # Only the prompt can tell the end; what the user's prompt code prints is included, and the record says so.
        last = one(shell.run("(exit 3)"))
        assert (last.exit_code, last.sure) == (3, False)
        return
    works(shell)


@pytest.mark.parametrize(
    "spoil",
    [
        "unset PROMPT_COMMAND",
        "PROMPT_COMMAND=",
        "PROMPT_COMMAND='PS1=\"% \"'",
        "PROMPT_COMMAND=(true)",
        "PROMPT_COMMAND+=('PS1=\"% \"')",
        "unset PS0",
        "PS0=x",
        "unset PS1 PS2",
        "PS1=$PS1'more '",
        "unset PROMPT_COMMAND; readonly PROMPT_COMMAND=:",
    ],
)
def test_bash_repairs_what_a_command_removed(start: Start, spoil: str) -> None:
    shell = start("bash")
    check(shell, spoil, b"", 0)
    check(shell, "echo next; (exit 5)", b"next\r\n", 5)
    works(shell)


def test_bash_never_guesses_when_everything_was_removed_at_once(start: Start) -> None:
    shell = start("bash")
    shown = shell.commands.shown
    seen = len(shell.output)
    shell.send(encode_input("unset PROMPT_COMMAND PS1; (exit 7)", True))
    while b"\x1b[?2004h" not in shell.output[seen:]:  # it reads the next line
        assert shell.read()
    shell.send(encode_input("echo next", True))
    while not shell.commands.settled(shown):
        assert shell.read()
    lost, after = shell.commands.at(shown)
    assert (lost.state, lost.end, lost.exit_code) == ("finished", None, 7)
    assert shell.seen([after]) == b"next\r\n"
    works(shell)


ZSH_THEMES = {
    "precmd sets PROMPT": "precmd() { PROMPT='%? > '; echo noise }",
    "right prompt": "RPROMPT='[%~ %T]'; setopt transient_rprompt",
    "assigned hooks": "precmd_functions=(); preexec_functions=()",
    "substitution": "setopt prompt_subst; PROMPT='$(false; echo sub)> '",
    "transient": "zle-line-finish() { PS1='> '; zle .reset-prompt }; zle -N zle-line-finish; precmd() { PS1='%~ > ' }",
    "no partial line mark": "unsetopt prompt_sp",
    "own partial line mark": "PROMPT_EOL_MARK='<'",
    "ksh arrays": "setopt ksh_arrays sh_word_split",
    "no bracketed paste": "unset zle_bracketed_paste",
    "vi keys": "bindkey -v",
    "plain percent": "setopt no_prompt_percent",
}  # fmt: skip


@pytest.mark.parametrize("rc", ZSH_THEMES.values(), ids=ZSH_THEMES)
def test_marks_survive_zsh_customs(start: Start, rc: str) -> None:
    works(start("zsh", rc + "\n"))


@pytest.mark.parametrize("spoil", ["precmd_functions=()", "preexec_functions=()", "PROMPT='% '"])
def test_zsh_repairs_what_a_command_removed(start: Start, spoil: str) -> None:
    shell = start("zsh")
    check(shell, spoil, b"", 0)
    works(shell)


def test_zsh_says_when_its_own_mark_of_a_missing_newline_is_included(start: Start) -> None:
    shell = start("zsh")
    record = one(shell.run("unset PROMPT_EOL_MARK"))
    assert (record.exit_code, record.sure) == (0, False)
    works(shell)


@pytest.mark.parametrize("name", SHELLS)
def test_tracing_shows_only_the_users_commands(start: Start, name: str) -> None:
    shell = start(name)
    shell.run("PS4='+ '; set -x")
    check(shell, "echo one", b"+ echo one\r\none\r\n", 0)
    check(shell, "set +x", b"+ set +x\r\n", 0)


@pytest.mark.parametrize("name", SHELLS)
def test_strict_shell_goes_on_until_a_command_fails(start: Start, name: str) -> None:
    shell = start(name)
    check(shell, "set -euo pipefail", b"", 0)
    check(shell, "echo one", b"one\r\n", 0)
    assert not one(shell.run("")).ran
    record = one(shell.run("false | true"))
    assert shell.exit_status == 1
    assert (record.state, record.end) == ("running", None)


@pytest.mark.parametrize("name", SHELLS)
def test_incomplete_input_is_a_state_of_its_own(start: Start, name: str) -> None:
    shell = start(name)
    shown = shell.commands.shown
    shell.send(encode_input("echo 'open", shell.commands.bracketed))
    while shell.commands.state != "incomplete":
        assert shell.read()
    assert not shell.commands.ready
    shell.send(encode_input("closed'", True))
    while not shell.commands.settled(shown):
        assert shell.read()
    assert shell.seen(shell.commands.at(shown)) == b"open\r\nclosed\r\n"


@pytest.mark.parametrize("name", SHELLS)
def test_interrupted_line_ran_nothing(start: Start, name: str) -> None:
    shell = start(name)
    shown = shell.commands.shown
    shell.send(b"half typed")
    shell.until(b"typed")
    shell.send(b"\x03")
    while not shell.commands.settled(shown):
        try:
            assert shell.read(timeout_s=1)
        except TimeoutError:
            shell.send(b"\x03")  # readline may notice the first one only with the next key
    assert not one(shell.commands.at(shown)).ran
    works(shell)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("rc", ["", "set -a\n", "export PS1 PS2\n"])
def test_children_never_see_the_nonce(start: Start, name: str, rc: str) -> None:
    shell = start(name, rc)
    shell.run("true")
    check(shell, f"env | grep -c -e {NONCE} -e FOURHANDS", b"0\r\n", 1)
    check(shell, 'echo "[$ENV]"', b"[]\r\n", 0)


@pytest.mark.parametrize("name", SHELLS)
def test_shell_inside_the_shell_is_one_command(start: Start, name: str) -> None:
    shell = start(name, "export PS1\n")
    shown = shell.commands.shown
    shell.send(encode_input(f"{name} -f" if name == "zsh" else "bash --norc", True))
    while not (shell.commands.state == "running" and shell.commands.bracketed):
        assert shell.read()
    shell.send(b"echo inner\rexit 3\r")
    while not shell.commands.settled(shown):
        assert shell.read()
    record = one(shell.commands.at(shown))
    assert record.exit_code == 3
    assert b"inner" in shell.seen([record])
    works(shell)


def test_bash_is_the_users_ordinary_login_shell(start: Start, tmp_path: Path) -> None:
    shell = start("bash", "FROM_PROFILE=yes\n", env={"ENV": "/nonexistent"})
    check(
        shell,
        'echo "$FROM_PROFILE $HISTFILE $ENV $MAILCHECK"',
        f"yes {tmp_path}/.bash_history /nonexistent 60\r\n".encode(),
        0,
    )
    check(shell, "shopt login_shell | grep -c on; shopt -o posix", b"1\r\nposix          \toff\r\n", 1)
    check(shell, "shopt inherit_errexit shift_verbose | grep -c on", b"0\r\n", 1)


def test_zsh_reads_the_users_own_files(start: Start, tmp_path: Path) -> None:
    other = tmp_path / "dots"
    other.mkdir()
    for file in (".zshenv", ".zprofile", ".zshrc", ".zlogin"):
        (other / file).write_text(f"SEEN+=({file})\n")
    shell = start("zsh", env={"ZDOTDIR": str(other)})
    check(shell, 'echo "$SEEN $ZDOTDIR"', f".zshenv .zprofile .zshrc .zlogin {other}\r\n".encode(), 0)
    plain = start("zsh")
    check(plain, 'echo "[${ZDOTDIR-unset}]"', b"[unset]\r\n", 0)


def test_bash_without_bracketed_paste_takes_several_lines_by_eval(start: Start, tmp_path: Path) -> None:
    (tmp_path / ".inputrc").write_text("set enable-bracketed-paste off\n")
    shell = start("bash")
    assert not shell.commands.bracketed
    check(shell, 'for i in 1 2; do\n\techo "it\'s $i!"\ndone', b"it's 1!\r\nit's 2!\r\n", 0)
    check(shell, "cat <<'E'\na\\nb\nE\n(exit 3)", b"a\\nb\r\n", 3)


def test_dash_tells_what_its_prompt_can_carry_and_is_never_sure(tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("PS1='ready> '\nmine() { return 7; }\n")
    shell = MarkedShell("dash", tmp_path, env={"ENV": str(tmp_path / "mine.sh")})
    try:
        shell.start()
        for text, output, code in (
            ("echo one", b"one\r\n", 0),
            ("mine", b"", 7),
            ("printf x; (exit 9)", b"x", 9),
            ("cd /usr", b"", 0),
            ("cat <<'E'\na\\nb\t'$x'\nE\n(exit 3)", b"a\\nb\t'$x'\r\n", 3),
            (f'echo "$ENV $(env | grep -c {NONCE})"', f"{tmp_path}/mine.sh 0\r\n".encode(), 0),
        ):
            record = one(shell.run(text))
            assert (shell.seen([record]), record.exit_code, record.sure) == (output, code, False)
        assert shell.commands.cwd == "/usr"
        shell.send(b"echo 'open\r")
        while shell.commands.state != "incomplete":
            assert shell.read()
    finally:
        shell.close()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_tells_by_its_events(start: Start, tmp_path: Path) -> None:
    shell = start("fish", env={"XDG_DATA_DIRS": "/usr/local/share:/usr/share"})
    for text, output, code, statuses in (
        ("echo one", "one\n", 0, (0,)),
        ("sh -c 'exit 3' | sh -c 'exit 4'", "", 4, (3, 4)),
        ("for i in 1 2\n  echo $i\nend", "1\n2\n", 0, None),
        ("printf x; false", "x", 1, None),
        ("cd /usr; echo $XDG_DATA_DIRS", "/usr/local/share:/usr/share\n", 0, None),
        (f"env | grep -c -e {NONCE} -e FOURHANDS", "0\n", 1, (0, 1)),
    ):
        record = one(shell.run(text))
        assert (sanitize(shell.seen([record])), record.exit_code, record.sure) == (output, code, True)
        assert statuses is None or record.statuses == statuses
    assert shell.commands.cwd == "/usr"
    assert not one(shell.run("")).ran
    shell.send(encode_input("echo )(", True, shell="fish"))  # fish keeps a line that it does not understand
    shell.until(b"Unexpected")
    assert sanitize(shell.seen([one(shell.run("echo after"))])) == "after\n"


EXECS = ["bash", "bash -l", "$SHELL", "zsh", "-l zsh", "fish"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_marks_go_on_where_exec_starts_a_shell_that_is_known(start: Start, tmp_path: Path, name: str) -> None:
    for word in EXECS:
        shell = start(name, env={"SHELL": "/bin/bash"})
        for file in (".bashrc", ".bash_profile", ".zshrc"):
            (tmp_path / file).write_text(f"PS1='$ '\nFROM={file}\n")
        shell.run("true")
        begun = one(shell.run(f"exec {word.removeprefix('-l ') if name == 'fish' else word}"))
        assert (begun.id, begun.sure) == (2, False), word
        record = one(shell.run("sh -c 'exit 3' | sh -c 'exit 4'"))
        assert (record.id, record.exit_code, record.statuses, record.sure) == (3, 4, (3, 4), True), word
        files = {
            "bash": ".bashrc",
            "$SHELL": ".bashrc",
            "bash -l": ".bash_profile",
            "zsh": ".zshrc",
            "-l zsh": ".zshrc",
        }
        if word in files:
            check(shell, "echo $FROM", b"%s\r\n" % files[word].encode(), 0)
        check_left = one(shell.run("env | grep -c -e FOURHANDS -e POSIXLY -e ZDOTDIR -e ^ENV= -e XDG_DATA"))
        assert sanitize(shell.seen([check_left])) == "0\n", word


@pytest.mark.parametrize("name", SHELLS)
def test_exec_of_anything_else_gets_nothing_of_ours(start: Start, name: str) -> None:
    shell = start(name)
    check(shell, f"(exec env) | grep -c -e {NONCE} -e FOURHANDS -e POSIXLY", b"0\r\n", 1)
    check(shell, f"exec 7>&1; echo through >&7; exec 7>&-; env | grep -c {NONCE}", b"through\r\n0\r\n", 1)
    if name == "bash":  # zsh ends where an exec fails
        shell.run("PATH=/nowhere\nexec zsh")
        shell.run("PATH=/usr/bin:/bin")
        check(shell, f"env | grep -c -e {NONCE} -e FOURHANDS -e ZDOTDIR", b"0\r\n", 1)
    works(shell)


# ---- starting -----------------------------------------------------------------------------------------------------


def test_scripts_are_found_where_the_caller_says() -> None:
    bash = integrate("/opt/bin/bash", NONCE, directory=Path("/sandbox/shells"))
    assert bash is not None
    assert bash.argv == ("/opt/bin/bash", "--posix", "--login")
    assert bash.env == {"FOURHANDS_NONCE": NONCE, "ENV": "/sandbox/shells/fourhands.bash"}
    zsh = integrate("zsh", NONCE, directory=Path("/sandbox/shells"), env={"ZDOTDIR": "/mine"})
    assert zsh is not None
    assert zsh.env == {"FOURHANDS_NONCE": NONCE, "ZDOTDIR": "/sandbox/shells", "FOURHANDS_ZDOTDIR": "/mine"}
    assert (SCRIPTS / "fourhands.bash").is_file()
    assert (SCRIPTS / ".zshenv").is_file()
    dash = integrate("/bin/dash", NONCE, directory=Path("/sandbox/shells"), env={"ENV": "/mine"})
    assert dash is not None
    assert dash.env["ENV"] == "/sandbox/shells/fourhands.sh"
    assert (SCRIPTS / "fourhands.sh").is_file()
    fish = integrate("fish", NONCE, directory=Path("/sandbox/shells"))
    assert fish is not None
    assert fish.env["XDG_DATA_DIRS"] == "/sandbox/shells:/usr/local/share:/usr/share"
    assert (SCRIPTS / "fish/vendor_conf.d/fourhands.fish").is_file()
    assert integrate("/bin/ksh", NONCE) is None


@pytest.mark.parametrize("nonce", ["", "short", "with space in it", "semi;colon;x", "x" * 129, "new\nline00"])
def test_bad_nonce_is_refused(nonce: str) -> None:
    with pytest.raises(BadArgument, match="bad nonce"):
        integrate("bash", nonce)


# ---- the scanner --------------------------------------------------------------------------------------------------

STREAM = (
    b"plain \x1b[1mbold\x1b]0;title\x07"
    + f"\x1b]133;D;1;fh={NONCE};n=4;s=0 1;o=h;d=/a b;d=%25%0A\x07".encode()
    + b"\x1b[?2004h\x1b[?2004x\x1b[?2004"
    + f"\x1b]133;A;fh={NONCE};p=7;b=1\x1b\\$ \x1b]133;B;fh={NONCE};p=7\x07".encode()
    + b"\x1b]133;C;fh=wrong;n=5\x07\x1b]133;C;n=5\x07\x1b]133;Z\x07\x1b]133;D;x;fh=" + NONCE.encode() + b";o=h\x07"
    + b"\x1b]133;unfinished\x1b[?2004l\x1b\x1b]133;\x1b]133;P;k=c;fh=" + NONCE.encode() + b"\x07tail\x1b]13"
)  # fmt: skip


def test_scanner_gives_kind_place_and_fields() -> None:
    marks = MarkScanner(NONCE, position=1000).feed(STREAM)
    assert [mark.kind for mark in marks] == ["end", "paste-on", "prompt", "input", "paste-off", "more"]
    end = marks[0]
    assert (end.exit_code, end.statuses, end.number, end.origin, end.cwd) == (1, (0, 1), 4, "hook", "/a b;d=%\n")
    assert STREAM[end.start - 1000 : end.end - 1000].startswith(b"\x1b]133;D;1;")
    assert STREAM[end.start - 1000 : end.end - 1000].endswith(b"\x07")
    assert (marks[2].prompt, marks[2].pastes) == (7, True)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_any_cutting_gives_the_same_marks(cuts: list[int]) -> None:
    scanner = MarkScanner(NONCE)
    edges = pairwise([0, *sorted(cuts), len(STREAM)])
    marks = [mark for a, b in edges for mark in scanner.feed(STREAM[a:b])]
    assert marks == MarkScanner(NONCE).feed(STREAM)
    assert scanner.position == len(STREAM)


def test_what_is_complete_ends_in_no_mark_at_any_byte() -> None:
    marks = [(mark.start, mark.end) for mark in MarkScanner(NONCE).feed(STREAM)]
    scanner = MarkScanner(NONCE)
    for at in range(len(STREAM)):
        scanner.feed(STREAM[at : at + 1])
        assert scanner.complete <= at + 1
        assert not [(start, end) for start, end in marks if start < scanner.complete < end]


def test_byte_by_byte_gives_the_same_marks() -> None:
    scanner = MarkScanner(NONCE)
    marks = [mark for at in range(len(STREAM)) for mark in scanner.feed(STREAM[at : at + 1])]
    assert marks == MarkScanner(NONCE).feed(STREAM)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"\x1b", b"]133;", b"\x07", b"\x1b\\", b"[?2004", b"h", b"D;0;fh=", b"x" * 99]), max_size=60
    )
)
def test_no_output_without_the_nonce_is_a_mark(pieces: list[bytes]) -> None:
    scanner = MarkScanner(NONCE)
    found = [mark for piece in pieces for mark in scanner.feed(piece)]
    assert all(mark.kind in ("paste-on", "paste-off") for mark in found)
    assert found == MarkScanner(NONCE).feed(b"".join(pieces))


def test_endless_sequence_is_given_up_and_later_marks_are_found() -> None:
    scanner = MarkScanner(NONCE)
    scanner.feed(b"\x1b]133;D;")
    for _ in range(200):
        assert scanner.feed(b"x" * 1000) == []
        assert scanner.position - scanner.complete < 40_000
    (mark,) = scanner.feed(b"\x07" + f"\x1b]133;B;fh={NONCE}\x07".encode())
    assert mark.kind == "input"
    long = f"\x1b]133;D;0;fh={NONCE};n=1;o=h;d={'y' * 40_000}\x07".encode()
    assert MarkScanner(NONCE).feed(long) == []


# ---- records from marks -------------------------------------------------------------------------------------------


def records(*marks: ShellMark) -> ShellHistory:
    commands = ShellHistory()
    for mark in marks:
        commands.apply(mark)
    return commands


def test_joining_in_the_middle_leaves_the_beginning_unknown() -> None:
    commands = records(
        ShellMark("end", 50, 60, number=9, exit_code=2, origin="hook"), ShellMark("prompt", 60, 70, prompt=3)
    )
    (record,) = commands.records
    assert (record.id, record.start, record.end, record.exit_code, record.bounded) == (9, None, 50, 2, False)


def test_lost_end_leaves_the_end_unknown() -> None:
    commands = records(
        ShellMark("prompt", 0, 5, prompt=1),
        ShellMark("begin", 5, 10, number=1),
        ShellMark("begin", 50, 60, number=2),
        ShellMark("end", 70, 80, number=2, exit_code=0, origin="hook"),
    )
    lost, after = commands.records
    assert (lost.state, lost.end, lost.exit_code) == ("finished", None, None)
    assert (after.start, after.end) == (60, 70)


def test_end_of_a_later_command_does_not_end_this_one() -> None:
    commands = records(
        ShellMark("begin", 5, 10, number=1), ShellMark("end", 70, 80, number=3, exit_code=0, origin="hook")
    )
    lost, later = commands.records
    assert (lost.id, lost.end) == (1, None)
    assert (later.id, later.start, later.end) == (3, None, 70)


def test_prompt_without_an_end_closes_the_command() -> None:
    commands = records(ShellMark("begin", 5, 10, number=1), ShellMark("prompt", 20, 30, prompt=2))
    (record,) = commands.records
    assert (record.state, record.end) == ("finished", None)
    assert commands.state == "prompt"


def test_prompt_drawn_again_changes_nothing() -> None:
    drawn = ShellMark("end", 0, 5, number=1, exit_code=0, origin="prompt"), ShellMark("prompt", 5, 9, prompt=2)
    commands = records(
        ShellMark("begin", 0, 1, number=1), ShellMark("end", 1, 2, number=1, exit_code=0, origin="hook"), *drawn
    )
    shown, kept = commands.shown, list(commands.records)
    for mark in drawn:
        commands.apply(mark)
    assert (commands.shown, list(commands.records)) == (shown, kept)


def test_records_are_bounded() -> None:
    commands = ShellHistory(keep=10)
    for number in range(1, 100):
        commands.apply(ShellMark("begin", number, number, number=number))
    assert len(commands.records) == 10


# ---- typing -------------------------------------------------------------------------------------------------------


def test_paste_carries_text_as_it_is() -> None:
    assert encode_input("a\n\tb\r\nc\n\n", True) == b"\x1b[200~a\n\tb\nc\x1b[201~\r"
    assert encode_input("", True) == b"\r"
    assert encode_input("echo ü", False) == "echo ü\r".encode()


def test_several_lines_without_paste_become_one_eval() -> None:
    assert encode_input("a 'b'\nc\\d!", False) == b"eval $'a \\'b\\'\\nc\\\\d\\x21'\r"
    assert (
        encode_input("a 'b'\n\tc\\n", False, shell="/bin/dash")
        == b"eval \"$(printf %b 'a '\\''b'\\''\\n\\tc\\\\n')\"\r"
    )
    with pytest.raises(BadArgument, match="ksh without bracketed paste"):
        encode_input("a\nb", False, shell="/bin/ksh")


@pytest.mark.parametrize("text", ["\x1b[201~; rm x", "a\x03b", "nul\0", "a\rb", "\x7f", "\x13"])
@pytest.mark.parametrize("bracketed", [True, False])
def test_control_characters_are_refused(text: str, bracketed: bool) -> None:
    with pytest.raises(BadArgument, match="control character"):
        encode_input(text, bracketed)


def test_text_that_cannot_be_typed_is_refused() -> None:
    with pytest.raises(BadArgument, match="UTF-8"):
        encode_input("\ud800", True)
    with pytest.raises(BadArgument, match="too long"):
        encode_input("x" * 5000, False)
