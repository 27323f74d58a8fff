"""Finding files by name and by text: complete, confined, and never longer than it may take."""

import os
import stat
import sys
import threading
import time

import msgspec
import pytest

from fourhands.core.errors import BadArgument, Unavailable
from fourhands.providers.own_programs import path_outside
from fourhands.safety.paths.errors import BadPath, DeniedPath, NotRegular, OutsideWorkspace
from fourhands.workbench.files.ranking import rank
from fourhands.workbench.files.ripgrep import Deadline, Ripgrep, find_program
from fourhands.workbench.files.search import FileSearchResult
from fourhands.workbench.files.workspace import FileSettings, Workspace

FILES = {
    "README.md": "# Title\nneedle in the readme\n",
    "src/main.py": "import os\n\ndef main():\n    return 'needle'\n",
    "src/needle.py": "nothing here\n",
    "src/deep/er/other.ts": "const Needle = 'ü needle';\n",
    "build/out.js": "needle\n",
    "logs/a.log": "needle\n",
    "keep.log": "needle\n",
    ".github/ci.yml": "needle: yes\n",
    ".env": "needle=1\n",
    "deploy/key.pem": "needle\n",
    ".git/config": "needle\n",
    "mod/.git": "needle\n",
    "node_modules/p/index.js": "needle\n",
    "node_modules/p/node_modules/q/index.js": "needle\n",
    "-dash.txt": "needle\n",
    "with space/ü.txt": "needle\n",
    ".gitignore": "build/\n*.log\n!keep.log\n",
}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "ws"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/needle.txt").write_text("needle CANARY\n")
    (folder / "link_dir").symlink_to("../outside")
    (folder / "link_file").symlink_to("../outside/needle.txt")
    (folder / "link_in").symlink_to("README.md")
    (folder / "src/loop").symlink_to("..")
    os.mkfifo(folder / "needle_pipe")
    return folder


@pytest.fixture
def workspace(root):
    return Workspace(root)


OPEN = {
    "README.md",
    "src/main.py",
    "src/deep/er/other.ts",
    "keep.log",
    ".github/ci.yml",
    "-dash.txt",
    "with space/ü.txt",
}


def test_names_come_first_and_then_files_whose_text_has_it(workspace):
    found = workspace.search("needle")
    assert found.results[0] == "src/needle.py"
    assert set(found.results[1:]) == OPEN
    assert {match.path for match in found.matches} == OPEN
    assert (found.truncated, found.reason) == (False, "")


def test_a_match_tells_line_column_and_text(workspace):
    found = workspace.search("needle", include="*.ts")
    (match,) = found.matches
    assert (match.path, match.line, match.column, match.text) == (
        "src/deep/er/other.ts",
        1,
        7,
        "const Needle = 'ü needle';",
    )
    (match,) = workspace.search("= 'ü", include="*.ts").matches
    assert match.column == 14
    (match,) = workspace.search("main()").matches
    assert (match.line, match.column) == (3, 5)


def test_columns_count_characters(workspace, root):
    (root / "u.txt").write_text("üüü€𝄞x marker\n")
    (match,) = workspace.search("marker").matches
    assert match.column == 8


def test_capital_letters_count_if_the_query_has_some(workspace):
    assert {match.path for match in workspace.search("Needle").matches} == {"src/deep/er/other.ts"}


def test_the_query_is_plain_text_unless_said(workspace, root):
    (root / "code.c").write_text("a.c(x) [y]\nabc\n")
    assert [match.line for match in workspace.search("a.c").matches] == [1]
    assert [match.line for match in workspace.search("(x) [").matches] == [1]
    assert [match.line for match in workspace.search("a.c", regex=True).matches] == [1, 2]


@pytest.mark.parametrize(
    "query", ["--files", "-e", "--pre=/bin/sh", "-", "--", "$(id)", "`id`", ";id", "'", '"', "%s", "\\"]
)
def test_a_query_is_never_an_option_or_a_command(workspace, root, query):
    (root / "odd.txt").write_text(f"x {query} y\n")
    assert [match.path for match in workspace.search(query).matches if match.path == "odd.txt"] == ["odd.txt"]


def test_gitignore_is_honoured_without_a_repository(workspace, root):
    for query in ("needle", "out.js", "a.log"):
        found = workspace.search(query)
        assert not {"build/out.js", "logs/a.log"} & {*found.results, *(match.path for match in found.matches)}


def test_an_include_pattern_does_not_bring_back_what_is_ignored(workspace):
    assert workspace.search("needle", include="*.log").results == ["keep.log"]
    assert workspace.search("needle", include="build/**").results == []


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("*.py", {"src/needle.py", "src/main.py"}),
        ("src", {"src/needle.py", "src/main.py", "src/deep/er/other.ts"}),
        ("src/", {"src/needle.py", "src/main.py", "src/deep/er/other.ts"}),
        ("./src/*.py", {"src/needle.py", "src/main.py"}),
        ("src/**/*.ts", {"src/deep/er/other.ts"}),
        ("er", {"src/deep/er/other.ts"}),
        (["*.md", "*.ts"], {"README.md", "src/deep/er/other.ts"}),
        ("*.{md,ts}", {"README.md", "src/deep/er/other.ts"}),
        ("*.nothing", set()),
        (".env", set()),
        (".git/**", set()),
        ("node_modules/**", set()),
        ("*.pem", set()),
        ("link_dir/**", set()),
    ],
)
def test_include_patterns(workspace, include, expected):
    assert set(workspace.search("needle", include=include).results) == expected


@pytest.mark.parametrize("exclude", ["src", "src/", "src/**", ["*.py", "*.ts"]])
def test_exclude_patterns(workspace, exclude):
    assert not [path for path in workspace.search("needle", exclude=exclude).results if path.startswith("src/")]


def test_exclude_is_stronger_than_include(workspace):
    assert workspace.search("needle", include="src", exclude="*.py").results == ["src/deep/er/other.ts"]


@pytest.mark.parametrize("pattern", ["!x", "", " ", 7, ["a", 3], "a\0", "x" * 2000, "\ud800"])
@pytest.mark.parametrize("which", ["include", "exclude"])
def test_a_wrong_pattern_is_named(workspace, which, pattern):
    if pattern == "":
        assert workspace.search("needle", **{which: ""}).results
        return
    with pytest.raises(BadArgument, match=which):
        workspace.search("needle", **{which: pattern})


def test_what_ripgrep_does_not_understand_is_told(workspace):
    with pytest.raises(BadArgument, match="ripgrep"):
        workspace.search("needle", include="[")
    with pytest.raises(BadArgument, match="ripgrep"):
        workspace.search("(", regex=True)


@pytest.mark.parametrize("query", ["", "a\nb", "a\0", "\x1b", "x" * 1001, 7, None, "\ud800"])
def test_a_wrong_query_is_named(workspace, query):
    with pytest.raises(BadArgument, match="query"):
        workspace.search(query)


@pytest.mark.parametrize("limit", [0, -1, 10**6, "5", True, 1.5])
def test_a_wrong_limit_is_named(workspace, limit):
    with pytest.raises(BadArgument, match="limit"):
        workspace.search("needle", limit=limit)


def test_an_include_pattern_alone_lists_files(workspace):
    assert workspace.search("", include="*.py").results == ["src/main.py", "src/needle.py"]


@pytest.mark.parametrize(
    ("query", "expected"), [("*.py", ["src/main.py", "src/needle.py"]), ("src/*.ts", ["src/deep/er/other.ts"])]
)
def test_a_pattern_as_query_matches_names(workspace, query, expected):
    assert workspace.search(query).results == expected


def test_results_are_limited_and_say_so(workspace, root):
    for number in range(30):
        (root / f"many{number:02}.txt").write_text("crowd\n" * 3)
    found = workspace.search("crowd", limit=10)
    assert (len(found.matches), found.truncated, found.reason) == (10, True, "limit")
    assert found == workspace.search("crowd", limit=10)
    assert [(match.path, match.line) for match in found.matches[:4]] == [
        ("many00.txt", 1),
        ("many00.txt", 2),
        ("many00.txt", 3),
        ("many01.txt", 1),
    ]
    found = workspace.search("many", limit=10)
    assert (len(found.results), found.truncated) == (10, True)
    assert not workspace.search("crowd", limit=90).truncated


def test_one_file_does_not_fill_the_answer(workspace, root):
    (root / "flood.txt").write_text("flood\n" * 5000)
    (root / "last.txt").write_text("flood\n")
    found = workspace.search("flood")
    assert found.truncated
    assert {match.path for match in found.matches} == {"flood.txt", "last.txt"}


def test_more_files_than_one_batch_are_all_looked_into(workspace, root):
    (root / "lots").mkdir()
    for number in range(700):
        (root / f"lots/f{number}.txt").write_text(f"value {number}\n" + ("rare\n" if number % 100 == 0 else ""))
    assert len(workspace.search("rare").matches) == 7


def test_binary_huge_and_empty_files_are_left_out(root):
    (root / "bin").write_bytes(b"needle\0needle\n")
    (root / "late.bin").write_bytes(b"needle\n" + b"x" * 100 + b"\0")
    (root / "huge.txt").write_bytes(b"needle\n" * 1000)
    (root / "empty.txt").touch()
    found = Workspace(root, settings=FileSettings(search_limit_bytes=5000)).search("needle")
    assert not {"bin", "late.bin", "huge.txt", "empty.txt"} & {match.path for match in found.matches}
    assert Workspace(root, settings=FileSettings(search_limit_bytes=5000)).search("huge").results == ["huge.txt"]


@pytest.mark.parametrize(
    "data", [b"gr\xfcn needle\n", "\ufeffneedle\n".encode(), "x\nneedle ü\n".encode("utf-16"), b"needle\r\n"]
)
def test_other_encodings_are_searched(workspace, root, data):
    (root / "enc.txt").write_bytes(data)
    (match,) = [match for match in workspace.search("needle").matches if match.path == "enc.txt"]
    assert "needle" in match.text
    assert match.text[match.column - 1 :].startswith("needle")


def test_a_long_line_is_cut_around_its_match(workspace, root):
    (root / "min.js").write_text("x" * 100_000 + "needle" + "y" * 100_000)
    (match,) = [match for match in workspace.search("needle").matches if match.path == "min.js"]
    assert "needle" in match.text
    assert len(match.text) <= 400
    assert match.column == 100_001


def test_secrets_git_and_links_are_skipped_for_agents(workspace, root):
    found = workspace.search("needle")
    everything = {*found.results, *(match.path for match in found.matches)}
    assert not {".env", "deploy/key.pem", ".git/config", "mod/.git", "link_file", "link_in", "needle_pipe"} & everything
    assert not [path for path in everything if path.startswith(("link_dir", "node_modules", "src/loop"))]
    assert "CANARY" not in str(found)
    assert workspace.search(".env").results == []


def test_a_person_finds_secrets_and_never_git(root):
    found = Workspace(root, person=True).search("needle")
    assert {".env", "deploy/key.pem"} <= set(found.results)
    assert not [path for path in found.results if ".git/" in path or path == "mod/.git"]
    assert "CANARY" not in str(found)


def test_search_below_a_path(workspace):
    assert set(workspace.search("needle", path="src").results) == {
        "src/needle.py",
        "src/main.py",
        "src/deep/er/other.ts",
    }
    assert workspace.search("needle", path="src/deep", include="*.ts").results == ["src/deep/er/other.ts"]
    assert workspace.search("needle", path="logs").results == []


def test_packages_are_searched_when_asked_for(workspace):
    found = workspace.search("needle", path="node_modules/p")
    assert set(found.results) == {"node_modules/p/index.js", "node_modules/p/node_modules/q/index.js"}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("..", OutsideWorkspace),
        ("link_dir", OutsideWorkspace),
        (".git", DeniedPath),
        ("README.md", NotRegular),
        ("", BadPath),
    ],
)
def test_search_stays_inside(workspace, path, error):
    with pytest.raises(error):
        workspace.search("needle", path=path)


def test_ignore_files_above_the_workspace_do_not_count(workspace, tmp_path):
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / ".ignore").write_text("*\n")
    assert set(workspace.search("needle").results[1:]) == OPEN


def test_a_users_configuration_does_not_count(workspace, tmp_path, monkeypatch):
    (tmp_path / "rc").write_text("--follow\n--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert set(workspace.search("needle").results[1:]) == OPEN


def program(tmp_path, script, **more):
    """Another program in ripgrep's place."""
    path = tmp_path / "rg"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Ripgrep(lambda root: str(path), **more)


def test_a_search_ends_in_time_and_says_so(root, tmp_path):
    printed = tmp_path / "printed"
    (root / "readme").write_text("a file whose name is the half of another's")

    class Due(Deadline):
        def left(self):
            while not printed.exists():  # sooner, and it would be a race with the start of the program
                time.sleep(0.01)
            return 0.0

    rg = program(
        tmp_path,
        "import signal\nprint('README.md', end='\\0', flush=True)\nprint('readme', end='', flush=True)\n"
        f"open({str(printed)!r}, 'w').close()\nsignal.pause()",
        deadline=Due,
    )
    found = Workspace(root, settings=FileSettings(search_timeout_seconds=0.3), ripgrep=rg).search("readme")
    assert (found.results, found.truncated, found.reason) == (["README.md"], True, "time")


def test_nothing_is_believed_that_cannot_be_read_inside(root, tmp_path):
    (root / "needle_link").symlink_to("README.md")
    # As if ripgrep had been led outside by a swapped directory.
    lie = (
        '{"type":"match","data":{"path":{"text":"./%s"},"lines":{"text":"needle CANARY\\\\n"},"line_number":1,'
        '"absolute_offset":0,"submatches":[{"match":{"text":"needle"},"start":0,"end":6}]}}'
    )
    rg = program(
        tmp_path,
        "import sys\n"
        "names = ['link_dir/needle.txt', 'link_file', '../outside/needle.txt', 'README.md', 'needle_link', '.env']\n"
        "if '--files' in sys.argv: print(*names, sep='\\0', end='\\0')\n"
        f"else: print(*('{lie}' % name for name in names), sep='\\n')\n",
    )
    found = Workspace(root, ripgrep=rg).search("needle")
    assert (found.results, found.matches) == ([], [])


def test_lines_beyond_all_measure_are_left_out(root):
    (root / "long.txt").write_text(f"needle {'x' * 3000}\nneedle short\n")
    found = Workspace(root, ripgrep=Ripgrep(longest_line=2000)).search("needle", include="long.txt")
    assert [match.text for match in found.matches] == ["needle short"]


def test_a_missing_ripgrep_is_said_so(root, tmp_path):
    assert find_program(str(root), str(tmp_path / "python"), str(tmp_path)) is None
    with pytest.raises(Unavailable, match="needs ripgrep"):
        Workspace(root, ripgrep=Ripgrep(lambda root: None)).search("needle")
    with pytest.raises(Unavailable, match="cannot start"):
        Workspace(root, ripgrep=Ripgrep(lambda root: str(tmp_path / "nothing"))).search("needle")


def test_ripgrep_is_looked_for_once_beside_python_first(root, tmp_path):
    beside, other = tmp_path / "bin" / "rg", tmp_path / "other" / "rg"
    for path in (beside, other):
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    assert find_program(str(root), str(tmp_path / "bin" / "python"), str(other.parent)) == str(beside)
    assert find_program(str(root), str(tmp_path / "python"), str(other.parent)) == str(other)
    looked = []

    def find(workspace):
        looked.append(1)
        return find_program(workspace, sys.executable)

    files = Workspace(root, ripgrep=Ripgrep(find))
    assert files.search("needle").results == files.search("needle").results != []
    assert looked == [1]


def test_names_that_are_not_utf8_can_be_sent(workspace, root):
    try:
        with open(os.fsencode(root) + b"/needle\xff.txt", "wb") as file:
            file.write(b"needle\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = workspace.search("needle")
    assert msgspec.json.decode(msgspec.json.encode(found), type=FileSearchResult) == found


def test_a_swapped_directory_leads_no_search_outside(root, tmp_path):
    workspace = Workspace(root)
    (root / "d").mkdir()
    (root / "d/needle.txt").write_text("needle inside\n")
    (root / "d.link").symlink_to(tmp_path / "outside")
    enough = threading.Event()

    def swap():
        while not enough.is_set():
            os.rename(root / "d", root / "d.real")
            os.rename(root / "d.link", root / "d")
            os.rename(root / "d", root / "d.link")
            os.rename(root / "d.real", root / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(40):
            assert "CANARY" not in str(workspace.search("needle"))
    finally:
        enough.set()
        swapper.join()


PATHS = [
    "src/editor/file.py", "src/editor/pane.py", "src/EditorFile.ts", "docs/file.md", "file", "a/b/c.txt",
    "src/workbench/profile.py", "src/workbench/state_machine.py", "tests/test_file.py",
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("file", ["file", "docs/file.md", "src/editor/file.py", "tests/test_file.py", "src/EditorFile.ts"]),
        ("file.py", ["src/editor/file.py", "tests/test_file.py", "src/workbench/profile.py"]),
        ("editor file", ["src/editor/file.py", "src/EditorFile.ts"]),
        ("editor/pa", ["src/editor/pane.py"]),
        ("ef", ["src/EditorFile.ts", "src/editor/file.py"]),
        ("stmach", ["src/workbench/state_machine.py"]),
        ("prfle", ["src/workbench/profile.py"]),
        ("PANE", ["src/editor/pane.py"]),
        ("zzz", []),
        ("/", []),
        ("[", []),
        ("^", []),
    ],
)  # fmt: skip
def test_ranking(query, expected):
    assert rank(query, PATHS)[: len(expected) or 1] == expected


def test_ranking_stays_quick_on_hostile_names():
    assert rank("a" * 40 + "b", ["a" * 200 + "/" + "a" * 200] * 50) == []
    assert rank("ss", ["straße", "ß" * 5]) == ["ß" * 5, "straße"]


def test_a_ripgrep_that_lies_in_the_workspace_is_never_run(root, tmp_path):
    inside, link, outside = root / "bin" / "rg", tmp_path / "link" / "rg", tmp_path / "other" / "rg"
    for path in (inside, outside):
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    link.parent.mkdir()
    link.symlink_to(inside)
    (tmp_path / "into").symlink_to(root)
    python = str(tmp_path / "python")
    given = [str(inside.parent), str(tmp_path / "into" / "bin"), str(link.parent), ".", "", "bin"]
    assert find_program(str(root), python, ":".join(given)) is None
    assert find_program(str(root), python, ":".join([*given, str(outside.parent)])) == str(outside)
    assert path_outside(str(root), ":".join([*given, str(outside.parent)])) == f"{link.parent}:{outside.parent}"
