"""Input is judged by what reads it: tables of cases, everyday input, pieces of lines, and hostile text."""

import json
import shlex
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.table import table
from tests.safety.input import cases
from tests.safety.input.everyday import KEYS, LINES

from fourhands.core.errors import BadArgument
from fourhands.safety.input import (
    KEYED,
    PromptSeen,
    Reader,
    ReaderKind,
    TypedInput,
    classify_input,
    goes_on_behind,
    leaves,
    prompt_of,
    reader_of,
)
from fourhands.safety.input.tables.languages import LANGUAGES
from fourhands.safety.shell import ClassifierRules, classify
from fourhands.safety.shell.kinds import RiskKind
from fourhands.workbench.terminals.shell.input_line import unsubmitted

RANKS = {"safe": 0, "unknown": 1, "dangerous": 2}


def reader(command: str) -> Reader:
    """What reads for a program that is started like this."""
    words = shlex.split(command)
    return reader_of(words[0].rpartition("/")[2], words)


def rows(cases: dict[str, str]) -> Iterator[tuple[str, str]]:
    for command, text in cases.items():
        for line in text.strip("\n").split("\n"):
            yield command, f"{line}\n"


def level(command: str, text: str, prompt: PromptSeen = "ready", **more: object) -> str:
    return classify_input(TypedInput(text, prompt=prompt, **more), reader(command)).level  # type: ignore[arg-type]


@table(("command", "text"), rows(cases.DANGEROUS))
def test_what_is_dangerous_is_so_wherever_the_prompt_is(command: str, text: str) -> None:
    assert [level(command, text, prompt) for prompt in ("ready", "")] == ["dangerous", "dangerous"]


@table(("command", "text"), rows(cases.SAFE))
def test_what_only_reads_is_safe_at_the_prompt_and_nowhere_else(command: str, text: str) -> None:
    assert level(command, text) == "safe"
    promptless = reader(command).rules.promptless
    assert level(command, text, "") == ("safe" if promptless else "unknown")
    assert level(command, text, ended=True) == "unknown"


@table(("command", "text"), rows(cases.UNKNOWN))
def test_everything_else_is_unknown(command: str, text: str) -> None:
    assert level(command, text) == "unknown"


@table(
    ("command", "text", "reason"),
    [
        ("python3", 'os.system("x")\n', "Python code: calls os.system"),
        ("python3", "import subprocess\n", "Python code: imports subprocess: subprocess starts programs"),
        ("python3", "import json\n", "Python code: imports json"),
        ("python3", "User()\n", "Python code: calls User"),
        ("python3", 'open(".env")\n', "Python code: names the secret file .env"),
        ("python3", 'os.environ["API_KEY"]\n', "Python code: reads the secret variable API_KEY"),
        ("python3", "6*7\n", "Python code: only reads and computes"),
        ("python3 ask.py", "y\n", "input for python3"),
        ("psql app", "DROP TABLE users;\n", "SQL: deletes data: DROP"),
        ("psql app", "UPDATE users SET a = 1;\n", "SQL: rewrites every row: UPDATE without WHERE"),
        ("psql app", "SELECT 1;\n", "SQL: SELECT"),
        ("vim x", ":!ls\n", "the editor runs a command: ls"),
        ("less x", "!ls\n", "a pager's key that starts a program: !ls"),
        ("cat", "rm -rf x\n", "a shell behind cat may read it: deletes files: rm with 1 operand"),
        ("cat", "x\n", "input for cat"),
        ("ipython", "!rm x\n", "starts a shell's line: deletes files: rm with 1 operand"),
    ],
)
def test_a_reason_says_what_reads_it_and_what_it_does(command: str, text: str, reason: str) -> None:
    assert classify_input(text, reader(command)).reason == reason


def everyday() -> Iterator[tuple[str, str]]:
    yield from rows(LINES)
    yield from ((command, keys) for command, every in KEYS.items() for keys in every)


def test_everyday_input_is_never_dangerous_and_half_of_it_is_not_asked_about() -> None:
    """The share that a person is asked about; the lists were written before any of it was classified as input."""
    found = [(command, level(command, text, "ready")) for command, text in everyday()]
    assert len(found) == 159
    asked = [command for command, one in found if one != "safe"]
    print(f"{len(asked) / len(found):.1%} of {len(found)} without a sandbox; {len(set(asked))} with rules")
    assert [command for command, one in found if one == "dangerous"] == []
    assert len(asked) / len(found) < 0.5
    assert len(set(asked)) <= 15


@table(
    ("program", "words", "expected"),
    [
        ("python3", "python3", (ReaderKind.CODE, "python", True)),
        ("python3.11", "/usr/bin/python3.11 -q -X dev", (ReaderKind.CODE, "python", True)),
        ("python3", "python3 -", (ReaderKind.CODE, "python", True)),
        ("python3", "python3 -i", (ReaderKind.CODE, "python", True)),
        ("python3", "python3 ask.py", (ReaderKind.CODE, "python", False)),
        ("python3", "python3 -c 'x'", (ReaderKind.CODE, "python", False)),
        ("python3", "python3 -i ask.py", (ReaderKind.CODE, "python", False)),
        ("python3", "python3 -W ignore", (ReaderKind.CODE, "python", True)),
        ("python3", "python3 -m asyncio", (ReaderKind.CODE, "python", True)),
        ("python3", "python3 -m IPython", (ReaderKind.CODE, "ipython", True)),
        ("python3", "python3 -m pdb x.py", (ReaderKind.DEBUGGER, "python debugger", True)),
        ("python3", "python3 -m http.server", (ReaderKind.CODE, "python", False)),
        ("python3", "", (ReaderKind.CODE, "python", False)),
        ("python3", "bash /shims/python3", (ReaderKind.CODE, "python", False)),
        ("ipython", "/usr/bin/python3 /usr/bin/ipython", (ReaderKind.CODE, "ipython", True)),
        ("ipython", "/usr/bin/python3 /usr/bin/ipython x.py", (ReaderKind.CODE, "ipython", False)),
        ("pip", "/usr/bin/python3 /usr/bin/pip uninstall x", (ReaderKind.CODE, "python", False)),
        ("irb", "ruby /usr/bin/irb", (ReaderKind.CODE, "ruby", True)),
        ("node", "node", (ReaderKind.CODE, "node", True)),
        ("node", "node app.js", (ReaderKind.CODE, "node", False)),
        ("node", "node -e x", (ReaderKind.CODE, "node", False)),
        ("node", "node inspect x.js", (ReaderKind.DEBUGGER, "node debugger", True)),
        ("npm init", "npm init", (ReaderKind.PROGRAM, "", False)),
        ("bun", "bun repl", (ReaderKind.CODE, "bun", True)),
        ("bun", "bun x.ts", (ReaderKind.CODE, "bun", False)),
        ("php", "php -a", (ReaderKind.CODE, "php", True)),
        ("php", "php x.php", (ReaderKind.CODE, "php", False)),
        ("perl", "perl -de1", (ReaderKind.DEBUGGER, "perl debugger", True)),
        ("perl", "perl x.pl", (ReaderKind.CODE, "perl", False)),
        ("psql", "/usr/lib/postgresql/15/bin/psql app", (ReaderKind.STATEMENTS, "psql", True)),
        ("sqlite3", "sqlite3 x.db", (ReaderKind.STATEMENTS, "sqlite", True)),
        ("clickhouse-clie", "clickhouse-client", (ReaderKind.STATEMENTS, "sql", True)),
        ("gdb", "gdb ./x", (ReaderKind.DEBUGGER, "gdb", True)),
        ("less", "less x", (ReaderKind.PAGER, "", False)),
        ("vim.basic", "vi x", (ReaderKind.EDITOR, "vim", False)),
        ("htop", "htop", (ReaderKind.MONITOR, "", False)),
        ("cat", "cat", (ReaderKind.PROGRAM, "", False)),
        ("", "", (ReaderKind.PROGRAM, "", False)),
        ("-", "- -- -", (ReaderKind.PROGRAM, "", False)),
    ],
)
def test_a_reader_is_known_by_its_name_and_its_words(program: str, words: str, expected: tuple[object, ...]) -> None:
    found = reader_of(program, shlex.split(words))
    assert (found.kind, found.language, found.repl) == expected


@table(
    ("command", "row", "line", "expected"),
    [
        ("python3", ">>>", "", "ready"),
        ("python3", ">>> 6*", "6*", "ready"),
        ("python3", ">>> 6*", "", ""),
        ("python3", ">>> 6*", "7", ""),
        ("python3", "...", "", "more"),
        ("python3", "... x", "x", "more"),
        ("python3", "ready >>>", "", ""),
        ("python3", "", "", ""),
        ("ipython", "In [12]:", "", "ready"),
        ("ipython", "   ...:", "", "more"),
        ("node", ">", "", "ready"),
        ("node", "...", "", "more"),
        ("node", "|", "", "more"),
        ("sqlite3 x", "sqlite>", "", "ready"),
        ("sqlite3 x", "   ...>", "", "more"),
        ("psql x", "app=#", "", "ready"),
        ("psql x", "app=>", "", "ready"),
        ("psql x", "app-#", "", "more"),
        ("psql x", "app'#", "", "more"),
        ("mysql", "MariaDB [(none)]>", "", "ready"),
        ("mysql", "    ->", "", "more"),
        ("redis-cli", "127.0.0.1:6379>", "", "ready"),
        ("irb", "irb(main):001:0>", "", "ready"),
        ("irb", "irb(main):002:1*", "", "more"),
        ("gdb x", "(gdb)", "", "ready"),
        ("python3 -m pdb x", "(Pdb)", "", "ready"),
        ("perl -de1", "  DB<1>", "", "ready"),
        ("cat", ">>>", "", ""),
    ],
)
def test_a_prompt_counts_only_with_what_was_typed_behind_it(command: str, row: str, line: str, expected: str) -> None:
    assert prompt_of(reader(command), row, line) == expected


@table(
    ("command", "text", "expected"),
    [
        ("python3", "exit()\n", True),
        ("python3", "x = 1; quit()\n", True),
        ("python3", "\x04", True),
        ("python3", "help(str)\n", True),  # a pager reads on
        ("python3", "6*7\n", False),
        ("sqlite3 x", ".quit\n", True),
        ("sqlite3 x", ".q\n", True),
        ("psql x", "\\q\n", True),
        ("psql x", "SELECT 1;\n", False),
        ("less x", "q", True),
        ("less x", " ", False),
        ("vim x", ":q\n", True),
        ("vim x", "ZZ", True),
        ("vim x", ":w\n", False),
        ("nano x", "\x18", True),
        ("cat", "hello\n", False),
        ("cat", "\x03", True),
        ("cat", "quit\n", True),
        ("cat", "can you help and stop\n", False),
    ],
)
def test_what_may_end_a_program_is_known(command: str, text: str, expected: bool) -> None:
    assert leaves(reader(command), text) is expected


def test_behind_what_ends_a_program_a_shell_reads() -> None:
    python = reader("python3")
    for text, expected in (
        ("exit()\nls\n", "unknown"),
        ("exit()\n$(cat x)\n", "dangerous"),
        ("exit()\nrm -rf x\n", "dangerous"),
        ("x = 1\nexit()\nrm -rf x\n", "dangerous"),
        ("\x04rm -rf x\n", "dangerous"),
    ):
        assert classify_input(text, python).level == expected
        assert goes_on_behind(TypedInput(text), python)
    assert not goes_on_behind(TypedInput("exit()\n"), python)
    assert (level("node", "`cat x`\n"), level("node", "`cat x`\n", ended=True)) == ("unknown", "dangerous")
    assert goes_on_behind(TypedInput("\x03make deploy\n"), reader("cat"))
    for command, keys, behind in (
        ("vim x", ":wq\nmake deploy\n", True),
        ("vim x", "ZZmake deploy\r", True),
        ("vim x", ":wq\n", False),
        ("vim x", "ihello\nworld\x1b:w\n", False),
        ("less x", "qmake deploy\n", True),
        ("less x", "q", False),
        ("less x", "/x\n", False),
        ("nano x", "\x18nmake deploy\n", True),
    ):
        assert goes_on_behind(TypedInput(keys), reader(command)) is behind, keys
    # what was left unread before counts together with what comes now
    assert classify_input(TypedInput("-rf x\n", prompt="", unread=("rm \\",)), reader("cat")).level == "dangerous"


@table(
    ("before", "text", "expected"),
    [
        (("f = (os",), ".system)\n", "dangerous"),
        (("f = (x",), ".y)\n", "safe"),
        (("foo(", "glob"), ".os.remove('x'))\n", "dangerous"),
        (("x = [",), "1, 2]\n", "safe"),
        (("def f():",), "    return 1\n", "safe"),
        (("def f():",), "    os.system('x')\n", "dangerous"),
        (("def f():", "    os.system('x')"), "    return 1\n", "safe"),  # it was judged with its own input
        (("try:", "    x = 1"), "except ValueError:\n", "safe"),
        (("if x:", "    y = 1"), "else:\n", "safe"),
        (("'''rm",), "-rf x'''\n", "safe"),
        (("'''",), "''' + open('x', 'w')\n", "dangerous"),
    ],
)
def test_the_rest_of_a_statement_is_judged_with_its_beginning(
    before: tuple[str, ...], text: str, expected: str
) -> None:
    assert level("python3", text, "more", before=before) == expected


@table(
    ("text", "expected"),
    [
        ("%%bash\nrm -rf x\n", "dangerous"),
        ("%%bash\nls\n", "safe"),
        ("!ls\n", "safe"),
        ("pass\n", "safe"),  # it is the name of a program, too
        ("%%writefile x.py\nprint(1)\n", "unknown"),
        ("%%timeit\nos.system('x')\n", "dangerous"),
        ("x = 1\n!rm x\n", "dangerous"),
        ("%alias x rm -rf %s\n", "unknown"),
        ("rm = 5\n", "safe"),
    ],
)
def test_cells_and_magics_of_ipython(text: str, expected: str) -> None:
    assert level("ipython", text) == expected


CALLS = {
    "node": [
        "require('child_process').exec('x')",
        "fs.unlinkSync('x')",
        "eval('1')",
        "new Function('x')",
        "fetch('x')",
    ],
    "irb": ["system('x')", "exec 'x'", "`x`", "File.delete 'x'", "FileUtils.rm_rf 'x'", "IO.popen 'x'", "eval '1'"],
    "perl -de1": ["system('x')", "exec 'x'", "`x`", "unlink 'x'", "eval '1'", "qx(x)"],
    "php -a": ["system('x');", "exec('x');", "unlink('x');", "eval('1');", "passthru('x');", "shell_exec('x');"],
    "lua": ["os.execute('x')", "io.popen('x')", "os.remove('x')", "loadstring('x')"],
    "R": ["system('x')", "unlink('x')", "eval(parse(text='x'))"],
    "python3": [
        "os.system('x')",
        "__import__('os')",
        "import subprocess",
        "open('x', 'w')",
        "eval('1')",
        "import socket",
    ],
}


def test_what_is_dangerous_as_inline_code_is_dangerous_as_input() -> None:
    inline = {"node": "node -e", "irb": "ruby -e", "perl -de1": "perl -e", "php -a": "php -r", "lua": "lua -e"}
    inline |= {"R": "R -e", "python3": "python3 -c"}
    for command, calls in CALLS.items():
        for text in calls:
            assert classify(f"{inline[command]} {shlex.quote(text)}").level == "dangerous", text
            assert level(command, f"{text}\n") == "dangerous", (command, text)


def test_in_the_middle_of_a_text_no_quote_hides_code() -> None:
    """Where it is not known which quote opens a text, each text counts as code."""
    line = "'; fs.rmSync(1); '\n"
    assert level("node", line) == "unknown"
    assert level("node", line, "more", before=("x = `",)) == level("node", line, "") == "dangerous"


def test_settings_of_the_person_count() -> None:
    python = reader("python3")
    rules = ClassifierRules(dangerous_commands=(r"deploy\(",), own_directories=("/srv/own",))
    assert classify_input("deploy(1)\n", python).level == "unknown"
    assert classify_input("deploy(1)\n", python, rules).reason == "matches your list of dangerous commands"
    assert classify_input("open('/srv/own/token')\n", python, rules).level == "dangerous"
    assert classify_input("x\n", python, rules).level == "safe"


def test_kinds_follow_what_a_program_does_by_itself() -> None:
    assert classify_input("os.remove('x')\n", reader("python3")).effects.kinds == {"exposes"}
    dropped = classify_input("DROP TABLE x;\n", reader("sqlite3 x")).effects
    assert (set(dropped.kinds), dropped.irreversible) == ({RiskKind.DESTROYS}, "works in a database")
    # where it would be done is not known
    for command, text in (("python3", "os.remove('x')\nexit()\nrm -rf x\n"), ("python3 x.py", "os.remove('x')\n")):
        found = classify_input(text, reader(command))
        assert (found.level, found.effects.kinds) == ("dangerous", frozenset())
    for command, text in (
        ("cat", "rm x\n"),
        ("python3", "rm -rf x\n"),
        ("vim x", ":!rm x\n"),
        ("gdb x", "shell rm x\n"),
    ):
        assert classify_input(text, reader(command)).effects.kinds == frozenset(), command


@table(
    "text",
    [
        ')(\nPath("x").open("w")\n',
        'x = 1\n)(\n(Path("x")\n.open)("w")\n',
        "def f(:\n    os.remove('x')\n",
        "what is this\nimport subprocess\n",
        "x = 1\n" * 3_000 + "eval('1')\n",
    ],
)
def test_a_line_that_is_no_code_hides_no_other_line(text: str) -> None:
    assert level("python3", text) == "dangerous"


def test_what_is_no_text_or_too_much_of_it() -> None:
    with pytest.raises(BadArgument, match="int"):
        classify_input(1, reader("python3"))  # type: ignore[arg-type]
    assert classify_input("", reader("python3")).level == "safe"
    assert classify_input("\n\n", reader("python3")).level == "safe"
    assert classify_input("x\n" * 600_000, reader("python3")).level == "dangerous"
    assert classify_input("j" * 200_000, reader("less x")).reason == "input of more than 100,000 characters"
    assert classify_input(TypedInput("1\n", hidden="control key U+0012"), reader("python3")).level == "dangerous"


HUGE = [
    *("(" * 9_000, "-" * 9_999 + "1", "a" + ".b" * 4_990, "a" + "()" * 4_990, "lambda:" * 1_400 + "1", "[" * 50_000),
    *("'" * 50_000, '"' * 49_999, "f'{" * 3_000, "x = 1\n" * 15_000, ":" * 50_000, "/" * 50_000, "!" * 9_999 + "\n"),
    *(
        "SELECT '" * 9_000,
        "\\" * 50_000,
        "update x " * 9_000 + ";",
        "9" * 9_000,
        "a;" * 20_000,
        "`" * 49_999,
        "$(" * 900,
    ),
    *(
        "%%bash\n" * 9_000,
        "\x1b" * 50_000,
        ":s/" * 20_000,
        "i" * 50_000,
        "\ud800" * 100,
        "x=" * 4_000 + "1",
        "@" * 50_000,
    ),
]
COMMANDS = [*{*cases.DANGEROUS, *cases.SAFE, *cases.UNKNOWN, *LINES, *KEYS}]
LIMIT_S = 3.0  # of the processor's time, on a machine that others use too; a tenth of it is usual


@pytest.mark.parametrize("command", ["python3", "node", "psql app", "gdb x", "vim x"])
def test_hostile_text_is_judged_in_time(command: str) -> None:
    """Text of up to 100 kB that is made to be slow."""
    program = reader(command)
    for text in HUGE:
        began = time.process_time()
        found = classify_input(TypedInput(text, before=(text[:5_000],)), program)
        assert found.level in RANKS
        assert time.process_time() - began < LIMIT_S, text[:20]


_PIECES = st.sampled_from(
    [line for _, line in (*rows(cases.DANGEROUS), *rows(cases.SAFE))]
    + ["exit()\n", "\x04", "\x03", "\x1b", "!", ":", "(", ")", "'", '"', "os", ".system", "\n", "%", "\\", "rm -rf x\n"]
)
_TEXTS = st.one_of(st.text(max_size=80), st.lists(_PIECES, max_size=5).map("".join))


@given(command=st.sampled_from(COMMANDS), text=_TEXTS, prompt=st.sampled_from(["", "ready", "more"]))
@settings(max_examples=200, deadline=None)
def test_any_text_gets_a_verdict_that_does_not_depend_on_the_prompt_for_danger(
    command: str, text: str, prompt: PromptSeen
) -> None:
    program = reader(command)
    found = classify_input(TypedInput(text, prompt=prompt), program)
    assert found.level in RANKS
    assert found.reason
    json.dumps([found.reason, found.rule, found.effects.irreversible])
    if found.level == "safe":  # never where it is not certain what reads it
        assert (prompt and program.repl) or program.rules.promptless or program.kind in KEYED


_HOSTILE = [text for command, text in rows(cases.DANGEROUS) if command == "python3"]
# Without texts that look like a shell's lines: what is neither code nor a line is dangerous for these, only at once.
_FINE = [text for command, text in rows(cases.SAFE) if command == "python3" and "rm " not in text]


@given(
    lines=st.lists(st.sampled_from(_HOSTILE), max_size=2),
    fine=st.lists(st.sampled_from(_FINE), max_size=3),
    data=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_code_that_is_dangerous_at_once_is_so_in_two_pieces(
    lines: list[str], fine: list[str], data: st.DataObject
) -> None:
    """However code is cut: one of the pieces is dangerous, judged with what stood there before it."""
    python = reader("python3")
    text = "".join(data.draw(st.permutations([*lines, *fine])))
    at = data.draw(st.integers(min_value=0, max_value=len(text)))
    first, second = text[:at], text[at:]
    *before, keys = first.split("\n")
    assert keys == unsubmitted("", first)
    prompt: PromptSeen = "more" if before else "ready"
    later = TypedInput(keys + second, before=tuple(before), prompt=prompt, ended=leaves(python, first))
    if classify_input(text, python).level == "dangerous":
        assert "dangerous" in (classify_input(first, python).level, classify_input(later, python).level)


@given(text=st.text(alphabet="ab!:q\x1b\n\r\x03\x04", max_size=30), at=st.integers(min_value=0, max_value=30))
@settings(deadline=None)
def test_what_stands_behind_the_last_enter_is_the_same_however_it_was_typed(text: str, at: int) -> None:
    assert unsubmitted(unsubmitted("", text[:at]), text[at:]) == unsubmitted("", text)


def test_every_language_of_a_program_has_a_name_and_expressions_that_compile() -> None:
    for key, language in LANGUAGES.items():
        assert language.label, key
        for row in ("", ">>>", "x" * 1_000):
            prompt_of(Reader("x", ReaderKind.CODE, key, repl=True), row, "")
