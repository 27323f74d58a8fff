"""What a sandbox shows: protected files, the person's tools and start-up files, git and build tools on both rungs."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.cells import in_cell
from tests.kit.isolation import Yard, new_yard, refuse
from tests.kit.table import table

from fourhands.core.errors import Unsupported
from fourhands.providers import autorun
from fourhands.providers.base import Launch
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.providers.landlock import Landlock
from fourhands.providers.view import Access, SandboxView, build_view, cell_name
from fourhands.settings import BubblewrapSettings, SandboxSettings

pytestmark = pytest.mark.timeout(120)
RUNGS = pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
IDENTITY = "[user]\nname = Ada\nemail = ada@example.test\n[init]\ndefaultBranch = main\n"


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


class Inside:
    """Runs lines behind a provider, on a yard's workspace."""

    def __init__(self, provider: Bubblewrap | Landlock, yard: Yard) -> None:
        self.provider = provider
        self.yard = yard

    async def run(
        self, script: str, shell: tuple[str, ...] = ("/bin/bash", "bash", "-c"), **env: str
    ) -> tuple[int, str]:
        variables = {**self.yard.env, **env}
        launch = Launch(shell[0], (*shell[1:], script), str(self.yard.workspace), variables)
        wrapped = in_cell(self.provider, launch, self.yard.root)
        done = await asyncio.to_thread(
            subprocess.run, wrapped.argv, executable=wrapped.program, env=dict(wrapped.env), cwd=wrapped.cwd,
            capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr


async def behind(rung: str, yard: Yard, **sandbox: object) -> Inside:
    chosen = SandboxSettings(**sandbox)  # type: ignore[arg-type]  # checked by msgspec
    lax = BubblewrapSettings(require_limits=False, max_memory=0)
    provider: Bubblewrap | Landlock = (
        Landlock(env=yard.env, sandbox=chosen) if rung == "landlock" else Bubblewrap(lax, env=yard.env, sandbox=chosen)
    )
    probe = await provider.probe()
    if not probe.works:
        refuse(probe.detail)
    await provider.prepare(str(yard.workspace), ())
    return Inside(provider, yard)


def view_of(yard: Yard, **sandbox: object) -> SandboxView:
    return build_view(str(yard.workspace), yard.env, SandboxSettings(**sandbox), own=())  # type: ignore[arg-type]


def git(place: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_COUNT": "1"}
    env |= {"GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.test", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *words], cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(yard: Yard, view: SandboxView) -> set[str]:
    return {os.path.relpath(path, yard.workspace) for path in view.protected}


# -- protected files -------------------------------------------------------------------------------------------------


async def test_what_runs_by_itself_is_protected_in_nested_repositories_too(yard: Yard) -> None:
    work = yard.workspace
    for place in (work, work / "deep/er/nested", work / "node_modules/x"):
        place.mkdir(parents=True, exist_ok=True)
        git(place, "init", "-q")
    for name in (".vscode/tasks.json", "deep/er/nested/.envrc", "deep/.envrc", ".fourhands/settings.toml"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x")
    found = names(yard, view_of(yard))
    inner = {f"deep/er/nested/.git/{name}" for name in ("config", "hooks", "info")}
    outer = {f".git/{name}" for name in ("config", "hooks", "info")}
    assert found == {*inner, *outer, ".vscode", ".fourhands", "deep/er/nested/.envrc"}
    entries = {entry.path: entry.access for entry in view_of(yard).entries}
    for above in (".git", "deep", "deep/er", "deep/er/nested", "deep/er/nested/.git"):
        assert entries[str(work / above)] is Access.WRITE, f"{above} is no mount of its own"
    assert not (work / ".mcp.json").exists()


async def test_git_directories_elsewhere_are_found(yard: Yard) -> None:
    """A submodule's lies in that of its repository, a linked work tree's in another place that names it too."""
    work, other = yard.workspace, yard.root / "other"
    for place in (other, work):
        place.mkdir(exist_ok=True)
        git(place, "init", "-q")
        git(place, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "submodule", "--quiet", "add", str(other), "lib/sub")
    found = names(yard, view_of(yard))
    assert {".git/modules/lib/sub/config", ".git/modules/lib/sub/hooks", "lib/sub/.git", ".gitmodules"} <= found
    linked = yard.root / "linked"
    git(other, "worktree", "add", "-q", str(linked))
    view = build_view(str(linked), yard.env, SandboxSettings(), own=())
    assert {str(linked / ".git"), str(other / ".git/config"), str(other / ".git/hooks")} <= set(view.protected)
    assert any(entry.path == str(other / ".git") and entry.access is Access.WRITE for entry in view.entries)
    # A file of the same form that the other repository does not know opens nothing.
    forged = yard.root / "forged"
    forged.mkdir()
    (forged / ".git").write_text((linked / ".git").read_text())
    view = build_view(str(forged), yard.env, SandboxSettings(), own=())
    assert not any("other" in entry.path for entry in view.entries)


async def test_what_is_new_or_changed_and_runs_by_itself_is_named(yard: Yard) -> None:
    work = yard.workspace
    git(work, "init", "-q")
    before = autorun.snapshot(str(work))
    assert autorun.runs_by_itself(str(work), before) == []
    (work / ".git/hooks/post-checkout").write_text("echo x")
    (work / ".git/commondir").write_text("../evil")
    (work / ".envrc").write_text("x")
    git(work, "init", "-q", "--bare", "planted")
    found = {os.path.relpath(one.path, work): one.reason for one in autorun.runs_by_itself(str(work), before)}
    assert set(found) == {".git/hooks", ".git/commondir", ".envrc", "planted"}
    assert "direnv" in found[".envrc"]


@table(
    ("path", "known"),
    [
        (".envrc", True),
        ("a/.vscode/tasks.json", True),
        (".git/hooks/x", True),
        ("a/.git/config", True),
        ("a/.git", True),
        (".git/modules/x/hooks/y", True),
        (".git/objects/aa", False),
        ("src/hooks/a.py", False),
        ("Makefile", False),
    ],
)
def test_a_changed_path_says_whether_it_runs_by_itself(path: str, known: bool) -> None:
    assert (autorun.reason_of(path) is not None) is known


async def test_a_search_ends_with_its_budget_and_says_so(yard: Yard) -> None:
    for number in range(20):
        (yard.workspace / f"d{number}").mkdir()
    git(yard.workspace / "d19", "init", "-q")
    small = autorun.SearchBudget(directories=5)
    view = build_view(str(yard.workspace), yard.env, SandboxSettings(), own=(), budget=small)
    assert view.protected == ()
    assert any("too large" in note for note in view.notes)
    times = iter([0.0, 0.1, 9.0])
    hasty = autorun.SearchBudget(clock=lambda: next(times))
    assert not autorun.search(str(yard.workspace), budget=hasty).complete


# -- git -------------------------------------------------------------------------------------------------------------

EVERYDAY = [
    "git status", "echo a >a && git add a", "git commit -qm one", "git checkout -qb side", "echo b >b && git add .",
    "git commit -qm two", "git checkout -q main", "git merge -q --no-edit side", "echo c >a && git stash -q",
    "git stash pop -q", "git commit -qam three", "git tag v1", "git branch more", "git branch -d more",
    "git log --oneline", "git diff HEAD~1", "git checkout -qb base HEAD~1",
    "echo d >d && git add d && git commit -qm four", "git rebase -q main",
    "git worktree add -q tree -b tree", "git worktree remove tree", "git reset -q --hard HEAD~1", "git mv a e",
    "git rm -q --cached e", "git gc -q", "git reflog -1", "git show --stat", "git clean -fdq",
]  # fmt: skip
REFUSED = ["git config a.b c", "git remote add origin /x", "git branch -m other"]


@RUNGS
async def test_gits_everyday_commands_work(yard: Yard, rung: str) -> None:
    (yard.root / "home/.gitconfig").write_text(
        f"{IDENTITY}[commit]\ngpgsign = true\n[credential]\nhelper = /no/such\n[gpg]\nprogram = /no/gpg\n"
    )
    git(yard.workspace, "init", "-q", ".")
    inside = await behind(rung, yard)
    # In one cell, as in a session: a work tree that was there when a cell began is protected in it.
    lines = [f"{{ {line}; }} >~/said 2>&1 || {{ echo {shlex.quote(line)}; cat ~/said; }}" for line in EVERYDAY]
    assert await inside.run("\n".join(lines)) == (0, "")
    refused = {line: await inside.run(line) for line in REFUSED}
    if rung == "bubblewrap":
        assert all(code != 0 and "config" in out for code, out in refused.values()), refused
        code, out = await inside.run("mv .git elsewhere")
        assert (code != 0, "busy" in out) == (True, True)
        code, out = await inside.run("echo x >.git/hooks/pre-commit")
        assert "Read-only" in out


# -- the person's home -----------------------------------------------------------------------------------------------


@RUNGS
async def test_start_up_files_that_miss_things_do_not_fail_the_shell(yard: Yard, rung: str) -> None:
    home = yard.root / "home"
    (home / ".bashrc").write_text(
        "source ~/.secrets\neval $(ssh-agent -k)\ncat ~/.netrc\nexport SEEN=yes\nnvm use 99\n"
    )
    (home / ".zshrc").write_text("source ~/.secrets\nexport SEEN=yes\n")
    inside = await behind(rung, yard)
    for path, name in (("/bin/bash", "bash"), ("/usr/bin/zsh", "zsh")):
        if os.path.exists(path):
            code, out = await inside.run("echo seen=$SEEN; exit 3", (path, name, "-ic"))
            assert (code, "seen=yes" in out) == (3, True), out
    _, out = await inside.run("echo x >>~/.bashrc")
    assert "denied" in out or "Read-only" in out
    assert "echo x" not in (home / ".bashrc").read_text()


async def test_configuration_with_a_secret_in_it_is_not_shown(yard: Yard) -> None:
    home = yard.root / "home"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text("[global]\nindex-url = https://me:hunter2@index.test/simple\n")
    (home / ".bashrc").write_text("export GITHUB_TOKEN=ghp_" + "a1B2" * 9 + "\n")
    (home / ".profile").write_text("export EDITOR=vi\n")
    (home / ".local/share/uv/credentials").mkdir(parents=True)
    view = view_of(yard)
    shown = {entry.path: entry.access for entry in view.entries}
    assert str(home / ".profile") in shown
    assert str(home / ".bashrc") not in shown
    assert str(home / ".config/pip") not in shown
    assert shown[str(home / ".local/share/uv/credentials")] is Access.HIDDEN
    assert len([note for note in view.notes if "secret" in note]) == 2


async def test_a_home_that_is_the_workspace_has_protected_start_up_files(yard: Yard) -> None:
    home = yard.root / "home"
    (home / ".bashrc").write_text("x")
    view = build_view(str(home), yard.env, SandboxSettings(), own=())
    assert str(home / ".bashrc") in view.protected
    with pytest.raises(Unsupported, match="cannot hide"):
        await Landlock(env=yard.env).prepare(str(home), ())


async def test_landlock_refuses_a_workspace_that_has_fourhands_itself_in_it(yard: Yard) -> None:
    own = yard.workspace / "src/fourhands"
    own.mkdir(parents=True)
    with pytest.raises(Unsupported, match="Fourhands itself"):
        await Landlock(env=yard.env, own=(str(own),)).prepare(str(yard.workspace), ())


# -- settings --------------------------------------------------------------------------------------------------------


async def test_the_sandbox_shows_what_the_settings_say(yard: Yard) -> None:
    more, tools = yard.root / "more", yard.root / "tools"
    for place in (more, tools):
        place.mkdir()
        (place / "f").write_text("text")
    (yard.workspace / ".env").write_text("A=1")
    (yard.workspace / "config").mkdir()
    (yard.workspace / "config/key.pem").write_text("A=1")
    plain = await behind("bubblewrap", yard)
    assert await plain.run("cat .env config/key.pem") == (0, "A=1A=1")
    hiding = await behind(
        "bubblewrap", yard, hide_secrets=True, readable=(str(tools),), writable=(str(more),), devices=("/dev/fuse",)
    )
    _, out = await hiding.run("cat .env config/key.pem")
    assert "A=1" not in out
    _, out = await hiding.run(f"cat {tools}/f; echo x >{more}/g; echo x >{tools}/g; test -e /dev/fuse && echo fuse")
    assert out.startswith("text")
    assert (more / "g").exists()
    assert "Read-only" in out
    assert ("fuse" in out) is os.path.exists("/dev/fuse")
    with pytest.raises(Unsupported, match="cannot hide"):
        await behind("landlock", yard, hide_secrets=True)
    own, shared = SandboxSettings(), SandboxSettings(per_workspace=True)
    assert (cell_name(own, "a"), cell_name(own, "b")) == ("a", "b")
    assert cell_name(shared, "a") == cell_name(shared, "b")


# -- tools -----------------------------------------------------------------------------------------------------------


@RUNGS
async def test_build_tools_work(yard: Yard, rung: str) -> None:
    """Tools of the real home, read-only, with state and secrets of the yard."""
    home = os.environ.get("HOME", "/")
    real = Yard(yard.root, yard.places, {**yard.env, "HOME": home, "PATH": os.environ["PATH"]})
    inside = await behind(rung, real)
    lines = {
        "python3": "python3 -m venv v && v/bin/python -c 'import ssl, sqlite3, ctypes' && v/bin/pip --version",
        "make": "printf 'all:\\n\\techo made\\n' >Makefile && make -s",
        "node": "node -e \"const fs=require('fs'); fs.writeFileSync('o', require('os').cpus().length + '')\"",
        "npm": 'printf \'{"scripts":{"test":"node -e 1"}}\' >package.json && npm test --silent',
        "cargo": "cargo init -q --vcs none --name one . && cargo build -q --offline && ./target/debug/one",
        "pyenv": "pyenv version && $(pyenv which python) -c 1",
    }
    failed = {}
    for tool, line in lines.items():
        if shutil.which(tool) is not None:
            code, out = await inside.run(line)
            if code != 0:
                failed[tool] = out[-600:]
    assert failed == {}
