"""One table: what people have in their shells × what we promise them.

Each habit is a start-up file. It is read by a bare shell and by one of ours, both type the same lines, and then:

- boundaries, exit codes, output: each record is exactly what the line gave, or says that it is not sure;
- the person's prompt, `$?`, PIPESTATUS, history: the two screens are the same, cell for cell;
- time: a line takes at most twice as long as in the bare shell.
"""

import os
import random
import shutil
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.kit.marked_shell import MarkedShell
from tests.kit.workbench import environment, open_terminals, temporary_places

from fourhands.workbench.terminals.screen import LiveScreen
from fourhands.workbench.terminals.shell.integration import encode_input

PASTE_ON = b"\x1b[?2004h"

LINES = [
    ("echo one", b"one\r\n", 0, (0,)),
    ("(exit 3)", b"", 3, (3,)),
    ("false | (exit 4)", b"", 4, (1, 4)),
    ("printf x", b"x", 0, (0,)),
    ("! true", b"", 1, (0,)),
    ("cd /usr", b"", 0, (0,)),
    ("true | false | true", b"", 0, (0, 1, 0)),
    ("sh -c 'exit 9'", b"", 9, (9,)),
]
GENTLE = [line for line in LINES if line[2] == 0]  # for shells that end with the first error


@dataclass(frozen=True)
class Habit:
    """One thing that people have. Where `sure` is False the answer must say that it is not, where it is None it may."""

    rc: str
    sure: bool | None = True
    lines: list[tuple[str, bytes, int, tuple[int, ...]]] = field(default_factory=lambda: LINES)
    files: dict[str, str] = field(default_factory=dict)
    needs: str = ""
    prints: bytes = b""  # what the habit itself prints before a simple command, as part of its output


# A preexec hook that wants to be first, with all that such hooks do: it moves itself to the front at each prompt, sets
# the prompt from there, and takes every command behind itself that it does not find in PROMPT_COMMAND for the user's.
PREEXEC = r"""
on=
before() {
  [[ $on ]] || return
  local each
  while IFS= read -r each; do
    each=${each#"${each%%[! ]*}"}
    if [[ $each == "$BASH_COMMAND" ]]; then return; fi
  done <<< "${PROMPT_COMMAND//;/$'\n'}"
  on=
  seen="$BASH_COMMAND"
}
prompt() {
  PS1="[$? $seen] "
  [[ $PROMPT_COMMAND == prompt$'\n'* ]] || PROMPT_COMMAND="prompt"$'\n'"${PROMPT_COMMAND//prompt$'\n'/}"
}
ready() { on=1; }
trap before DEBUG
PROMPT_COMMAND=$'prompt\nready'
"""
FIRST = r"""PS1='$ '
first() {
  local code=$?
  [[ $PROMPT_COMMAND == first\;* ]] || PROMPT_COMMAND="first;${PROMPT_COMMAND//first;/}"
  echo "first saw $code"
}
PROMPT_COMMAND='first;echo "then $?"'
"""
TIMER = r"""PS1='[$spent $((count))] '
start() { timer=${timer:-$SECONDS}; count=count+1; }
stop() { spent=$((SECONDS / 1000 - timer / 1000)); unset timer; count=0; }
trap start DEBUG
PROMPT_COMMAND=stop
"""

BASH = {
    "plain": Habit("PS1='$ '"),
    "status in the prompt": Habit("PS1='[$?] '"),
    "numbers in the prompt": Habit(r"PS1='\! \# \$ '"),
    "status by a prompt command": Habit("""PS1='$ '; PROMPT_COMMAND='echo "last=$? ${PIPESTATUS[*]} $_"'"""),
    "prompt set by a command": Habit("""PROMPT_COMMAND='PS1="<$? ${PIPESTATUS[*]}> "'"""),
    "array": Habit("""PROMPT_COMMAND=('echo "a=$?"' 'echo "b=$? ${PIPESTATUS[*]}"' 'PS1="[$?] "')"""),
    "many elements": Habit("""PS1='$ '; for i in {0..40}; do PROMPT_COMMAND[i]="v$i=\\$?"; done
        PROMPT_COMMAND+=('echo "$v0 $v20 $v40"')"""),
    "wants to be first": Habit(FIRST),
    "preexec": Habit(PREEXEC, sure=None),
    "debug trap": Habit("""PS1='$ '; trap 'echo "<$BASH_COMMAND>"' DEBUG""", prints=b"<"),
    "debug trap and prompt command": Habit("""PS1='$ '; trap 'n=$((n+1))' DEBUG; PROMPT_COMMAND='echo "$?"'"""),
    "timer": Habit(TIMER),
    "error trap": Habit("""PS1='$ '; set -E; trap 'echo "ERR $?"' ERR; PROMPT_COMMAND='echo "p $?"'""", prints=b"ERR"),
    "PS0": Habit("PS0='begin\\n'; PS1='$ '"),
    "strict": Habit("PS1='$ '; PROMPT_COMMAND='echo \"p $?\"'; set -eu", lines=GENTLE),
    "readonly": Habit("PS1='$ '; PROMPT_COMMAND=:; readonly PROMPT_COMMAND", sure=False),
    "prompt that calls programs": Habit(r"""PS1='$(basename "$PWD"; false) \$(echo $?)> '"""),
    "history kept at each prompt": Habit("PS1='$ '; PROMPT_COMMAND='history -a; history -c; history -r'"),
    "keys of vi with their mode": Habit("PS1='$ '; set -o vi", files={".inputrc": "set show-mode-in-prompt on\n"}),
    "own printf": Habit("PS1='$ '; printf() { echo mine; command printf \"$@\"; }", lines=LINES[:3]),
    "own builtin": Habit("PS1='$ '; builtin() { echo mine; command builtin \"$@\"; }", sure=False),
    "transient": Habit("""PS0='\\e[2K\\r'; PS1='$ '; PROMPT_COMMAND='PS1="long $? > "'""", sure=True),
    "bash-completion": Habit(
        "PS1='$ '; . /usr/share/bash-completion/bash_completion", needs="/usr/share/bash-completion/bash_completion"
    ),
    "direnv": Habit("""PS1='$ '; eval "$(direnv hook bash)" """, needs="direnv"),
    "fzf": Habit(
        "PS1='$ '; . /usr/share/bash-completion/completions/fzf", needs="/usr/share/bash-completion/completions/fzf"
    ),
    "liquidprompt": Habit(
        "LP_ENABLE_TIME=0 LP_ENABLE_LOAD=0 LP_ENABLE_BATT=0 LP_ENABLE_TEMP=0\n. /usr/share/liquidprompt/liquidprompt",
        needs="/usr/share/liquidprompt/liquidprompt",
    ),
}
ZSH = {
    "plain": Habit("PS1='$ '"),
    "status in the prompt": Habit("PS1='[%?] %# '"),
    "numbers in the prompt": Habit("PS1='%h %# '"),
    "status by precmd": Habit('PS1="$ "; precmd() { print "last=$? ${pipestatus[*]}" }'),
    "preexec": Habit("PS1='$ '; preexec() { seen=$1 }; precmd() { PS1=\"[$? $seen] \" }"),
    "hooks assigned": Habit('PS1="$ "; a() { print "a $?" }; b() { print "b $?" }; precmd_functions=(a b)'),
    "prompt that calls programs": Habit("setopt prompt_subst; PS1='$(basename $PWD; false)> '"),
    "right prompt": Habit("PS1='$ '; RPROMPT='<%?>'"),
    "transient": Habit(
        "zle-line-finish() { PS1='> '; zle .reset-prompt }; zle -N zle-line-finish; precmd() { PS1='%~ %? > ' }"
    ),
    "keys of vi": Habit("PS1='$ '; bindkey -v"),
    "debug trap": Habit("PS1='$ '; n=0; TRAPDEBUG() { n=1 }"),
    "strict": Habit("PS1='$ '; precmd() { print \"p $?\" }; setopt nounset", lines=GENTLE),
    "autosuggestions": Habit(
        "PS1='$ '; . /usr/share/zsh-autosuggestions/zsh-autosuggestions.zsh",
        needs="/usr/share/zsh-autosuggestions/zsh-autosuggestions.zsh",
    ),
    "syntax-highlighting": Habit(
        "PS1='$ '; . /usr/share/zsh-syntax-highlighting/zsh-syntax-highlighting.zsh",
        needs="/usr/share/zsh-syntax-highlighting/zsh-syntax-highlighting.zsh",
    ),
    "direnv": Habit("""PS1='$ '; eval "$(direnv hook zsh)" """, needs="direnv"),
    "liquidprompt": Habit(
        "LP_ENABLE_TIME=0 LP_ENABLE_LOAD=0 LP_ENABLE_BATT=0 LP_ENABLE_TEMP=0\n. /usr/share/liquidprompt/liquidprompt",
        needs="/usr/share/liquidprompt/liquidprompt",
    ),
}
TABLE = [(shell, name, habit) for shell, habits in (("bash", BASH), ("zsh", ZSH)) for name, habit in habits.items()]


class Pair:
    """The same start-up file in a bare shell and in one of ours."""

    def __init__(self, shell: str, habit: Habit, root: Path) -> None:
        self.shell = shell
        self.ours, self.bare = (self._start(habit, root / name, name == "bare") for name in ("ours", "bare"))

    def _start(self, habit: Habit, home: Path, bare: bool) -> MarkedShell:
        home.mkdir()
        for file in (".bash_profile", ".zshrc"):
            (home / file).write_text(f"HISTFILE=~/.past HISTSIZE=100 SAVEHIST=100\n{habit.rc}\n")
        for file, text in habit.files.items():
            (home / file).write_text(text)
        return MarkedShell(self.shell, home, cwd=Path("/"), bare=("--login",) if bare else None)

    def enter(self, which: MarkedShell, text: str) -> None:
        """Type a line into a shell and wait until its line editor is there again."""
        seen = which.output.count(PASTE_ON)
        which.send(encode_input(text, True))
        self.edits(which, seen)

    def edits(self, which: MarkedShell, seen: int) -> None:
        while which.output.count(PASTE_ON) == seen:
            assert which.read(), bytes(which.output[-500:])

    def close(self) -> None:
        self.ours.close()
        self.bare.close()


@pytest.fixture
def pairs(tmp_path: Path) -> Iterator[list[Pair]]:
    made: list[Pair] = []
    yield made
    for pair in made:
        pair.close()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MarkedShell]:
    """Our bash of somebody who has nothing of their own: the measure of time."""
    shell = MarkedShell("bash", tmp_path_factory.mktemp("plain"))
    yield shell.start()
    shell.close()


def rows(shell: MarkedShell) -> list[str]:
    """What the person sees."""
    screen = LiveScreen(120, 200)
    screen.feed(bytes(shell.output).replace(b"/ours", b"/bare"))
    return [row.rstrip() for row in screen.snapshot().rows if row.strip()]


@pytest.mark.parametrize(("shell", "name", "habit"), TABLE, ids=[f"{shell}: {name}" for shell, name, _ in TABLE])
def test_promises_hold_whatever_people_have(
    pairs: list[Pair], plain: MarkedShell, tmp_path: Path, shell: str, name: str, habit: Habit
) -> None:
    need(shell)
    need(habit.needs)
    pair = Pair(shell, habit, tmp_path)
    pairs.append(pair)
    ours = pair.ours.start()
    pair.edits(pair.bare, 0)
    for line, output, code, statuses in habit.lines:
        records = ours.run(line)
        record = records[-1]
        assert (record.exit_code, record.statuses) == (code, statuses), (line, record)
        if habit.sure is not None:
            assert record.sure is habit.sure, (line, record)
        if record.sure:
            seen = ours.seen(records)
            assert seen.endswith(output), (line, seen)
            assert seen == output or (habit.prints and seen.startswith(habit.prints)), (line, seen)
        pair.enter(pair.bare, line)
    for which in (ours, pair.bare):
        pair.enter(which, "fc -l")  # their history
        pair.enter(which, "")
        which.send(b": last")  # behind the prompt, so that is all there
        while ": last" not in rows(which)[-1]:
            assert which.read()
    assert rows(ours) == rows(pair.bare)
    for which in (ours, pair.bare):
        pair.enter(which, "")
    swift(pair, plain)


def swift(pair: Pair, plain: MarkedShell) -> None:
    """A line takes at most twice as long as in our plain bash, or in the bare shell; a busy machine gets more tries."""
    for _ in range(8):
        spent: dict[MarkedShell, list[float]] = {pair.ours: [], pair.bare: [], plain: []}
        for _ in range(7):
            for which, times in spent.items():
                begun = time.monotonic()
                pair.enter(which, "true")
                times.append(time.monotonic() - begun)
        ours, bare, ordinary = (statistics.median(times) for times in spent.values())
        if ours <= 2 * max(bare, ordinary):
            return
    pytest.fail(
        f"a line takes {ours * 1e3:.1f} ms, in a bare shell {bare * 1e3:.1f}, in plain bash {ordinary * 1e3:.1f}"
    )


def need(tool: str) -> None:
    if tool and not (os.path.exists(tool) or shutil.which(tool)):
        if os.environ.get("CI") == "true":
            pytest.fail(f"{tool} is missing")
        pytest.skip(f"{tool} is not there")


@pytest.mark.parametrize(("shell", "prompt"), [("fish", "[3] "), ("dash", "[3] "), ("ash", "[3] ")])
def test_other_shells_keep_the_persons_status_too(tmp_path: Path, shell: str, prompt: str) -> None:
    need("busybox" if shell == "ash" else shell)
    (tmp_path / ".config/fish").mkdir(parents=True)
    (tmp_path / ".config/fish/config.fish").write_text(
        'function fish_greeting; end; function fish_prompt; echo -n "[$status] "; end\n'
    )
    (tmp_path / "mine.sh").write_text("PS1='[$?] '\n")
    env = {"ENV": str(tmp_path / "mine.sh")}
    if shell == "ash":
        (tmp_path / "ash").symlink_to(shutil.which("busybox") or "")
        env["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    started = MarkedShell(str(tmp_path / "ash") if shell == "ash" else shell, tmp_path, env=env)
    try:
        started.start()
        for line, code in (("echo one", 0), ("sh -c 'exit 3'", 3), ("true", 0)):
            (record,) = started.run(line)
            assert (record.exit_code, record.sure) == (code, shell == "fish")
            assert record.bounded
        assert prompt.encode() in started.output
    finally:
        started.close()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
async def test_a_run_takes_no_longer_than_the_shell(shell: str) -> None:
    need(shell)
    async with open_terminals() as terminals:
        terminal = await terminals.create(shell=shell)
        await terminal.run("true", timeout_s=40)
        for _ in range(3):
            times = []
            for _ in range(7):
                begun = time.monotonic()
                assert (await terminal.run("true", timeout_s=40)).exit_code == 0
                times.append(time.monotonic() - begun)
            if statistics.median(times) < 0.2:  # waiting for a mark that never comes took a quarter of a second
                return
        pytest.fail(f"a line takes {statistics.median(times) * 1e3:.0f} ms")


def entry(chance: random.Random, number: int) -> tuple[str, str, int]:
    """A line whose output and exit code are known beforehand."""
    token, code = f"t{number}_{chance.randrange(10**6)}", chance.randrange(256)
    return chance.choice(
        [
            (f"echo {token}", f"{token}\n", 0),
            (f"printf %s {token}; (exit {code})", token, code),
            (f"(exit {code})", "", code),
            (f"echo {token} >&2; true | (exit {code})", f"{token}\n", code),
            (f"cat <<'END'\n{token} $x\n  `y`\nEND", f"{token} $x\n  `y`\n", 0),
            (f"for i in 1 2 3; do\n  echo {token} $i\ndone", "".join(f"{token} {i}\n" for i in (1, 2, 3)), 0),
            (f"f() {{ echo {token}; return {code}; }}; f", f"{token}\n", code),
            ("", "", -1),
            ("# nothing", "", -1),
            ("! true", "", 1),
            (f"sleep 0.0{chance.randrange(10)}; echo {token}", f"{token}\n", 0),
            ("head -c 100000 /dev/zero | tr '\\0' x", "x" * 100_000, 0),
            (f"sh -c 'exit {code}'", "", code),
            (f"echo äöü漢字👍 {token}", f"äöü漢字👍 {token}\n", 0),
            (f"eval 'echo {token}; (exit {code})'", f"{token}\n", code),
        ]
    )


async def many_lines(shell: str, count: int, seed: int) -> None:
    """Lines through `run`, in a shell whose user has hooks, each with exactly its output and exit code."""
    chance = random.Random(seed)
    with temporary_places() as places:
        home = Path(environment(places)["HOME"])
        (home / ".bash_profile").write_text(FIRST)
        (home / ".zshrc").write_text("setopt interactivecomments\n" + ZSH["status by precmd"].rc + "\n")
        async with open_terminals(places=places) as terminals:
            terminal = await terminals.create(shell=shell)
            last = 0
            for number in range(count):
                line, output, code = entry(chance, number)
                done = await terminal.run(line, timeout_s=120)
                last = last if code == -1 else code
                got = (done.output if code != -1 else "", done.exit_code, done.reason, done.sure or code == -1)
                assert got == (output, last, "finished", True), (number, line, done)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_some_lines_in_a_shell_with_hooks(shell: str) -> None:
    need(shell)
    await many_lines(shell, 60, 1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_ten_thousand_lines_in_a_shell_with_hooks(shell: str) -> None:
    need(shell)
    await many_lines(shell, 10_000, 2)
