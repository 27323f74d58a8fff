"""Everyday tools in an agent's hands, in the sandbox of a plain user: a real server, one agent, line by line."""

import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from tests.kit.isolation import refuse
from tests.kit.packages import add_wheels, registries
from tests.kit.plain_user import PlainUser, plain_user
from tests.kit.real_server import RealAgent, RealServer, real_server
from tests.kit.server import Caller, Message

from fourhands.core.tasks import Tasks
from fourhands.providers.egress.hosts import THIS_MACHINE

pytestmark = [pytest.mark.timeout(240), pytest.mark.xdist_group("plain user")]

WORDS = "/usr/local/bin:/usr/bin:/bin"
PIP = f".venv/bin/pip install -q --disable-pip-version-check --trusted-host {THIS_MACHINE} --index-url URL/simple"

# A line and what it prints; each must succeed. URL is the registries' address, as the sandbox has it.
PYTHON = (
    ("mkdir -p py/tests && cd py && python3 -m venv .venv && .venv/bin/python --version", "Python 3"),
    (f"cd py && {PIP} frob pytest && .venv/bin/pip list | grep frob", "frob"),
    ("cd py && .venv/bin/python -c 'import frob; print(frob.answer)'", "42"),
    ("cd py && echo 'from frob import answer' > app.py && printf 'import app\\ndef test_it():\\n    assert app.answer == 42\\n' > tests/test_app.py", ""),  # noqa: E501 - one line, as agents write it
    ("cd py && .venv/bin/python -m pytest -q", "1 passed"),
    ("cd py && .venv/bin/python -m pytest -q --co 2>&1 | tail -1", "1 test collected"),
    ("python3 -c 'import tempfile, os; f = tempfile.NamedTemporaryFile(); print(os.path.exists(f.name))'", "True"),
)  # fmt: skip

NODE = (
    ("mkdir -p js && cd js && npm init -y >/dev/null && npm pkg set scripts.test='node --test' && cat package.json", "node --test"),  # noqa: E501 - one line
    ("cd js && npm install --no-audit --no-fund --registry URL/npm/ frob && ls node_modules", "frob"),
    ("cd js && node -p 'require(\"frob\")'", "42"),
    ("cd js && echo 'require(\"node:test\")(\"frob\", () => { if (require(\"frob\") !== 42) throw 1 })' > a.test.js && npm test", "pass 1"),  # noqa: E501 - one line
    ("cd js && rm -rf node_modules && npm ci --no-audit --no-fund --registry URL/npm/ && ls node_modules", "frob"),
)  # fmt: skip

CARGO = (
    ("cargo new -q --vcs none rs && cd rs && cargo run -q", "Hello, world!"),
    ("cd rs && printf 'frob = { version = \"1\", registry = \"here\" }\\n' >> Cargo.toml && mkdir -p .cargo && printf '[registries.here]\\nindex = \"URL/crates-index/.git\"\\n[net]\\ngit-fetch-with-cli = true\\n' > .cargo/config.toml && cargo fetch -q && ls ~/.cargo/registry/cache/*/", "frob-1.0.0.crate"),  # noqa: E501 - one line
    ("cd rs && echo 'fn main() { println!(\"{}\", frob::answer()) } #[test] fn it() { assert_eq!(frob::answer(), 42) }' > src/main.rs && cargo build -q && ./target/debug/rs", "42"),  # noqa: E501 - one line
    ("cd rs && cargo test -q 2>&1", "1 passed"),
)  # fmt: skip

GO = (
    ("mkdir -p go && cd go && go mod init example.org/tool 2>&1", "example.org/tool"),
    ("cd go && printf 'package main\\n\\nimport (\\n\\t\"fmt\"\\n\\t\"frob.example/frob\"\\n)\\n\\nfunc main() { fmt.Println(frob.Answer()) }\\n' > main.go && gofmt -l . && GOPROXY=URL/go GONOSUMDB='*' GONOSUMCHECK=1 GOFLAGS=-mod=mod GOSUMDB=off go get frob.example/frob@v1.0.0 2>&1", "frob.example/frob v1.0.0"),  # noqa: E501 - one line
    ("cd go && go build -o tool . && ./tool", "42"),
    ("cd go && printf 'package main\\n\\nimport \"testing\"\\n\\nfunc TestIt(t *testing.T) {}\\n' > main_test.go && go vet ./... && go test ./...", "ok"),  # noqa: E501 - one line
)  # fmt: skip

GIT = (
    ("git init -q repo && cd repo && echo 1 > a && git add a && git commit -qm first && git status --short --branch", "main"),  # noqa: E501 - one line
    ("cd repo && git checkout -q -b side && echo 2 > a && git commit -qam second && git log --oneline", "second"),
    ("cd repo && git checkout -q main && echo b > b && git add . && git commit -qm third && git merge -q --no-edit side && cat a b", "2\nb"),  # noqa: E501 - one line
    ("cd repo && echo 3 > a && git diff --stat && git stash -q && git stash list && git stash pop -q && cat a", "3"),
    ("cd repo && git commit -qam fourth && git tag -a v1 -m v1 && git tag", "v1"),
    ("cd repo && git branch other HEAD~1 && git switch -q other && echo c > c && git add c && git commit -qm c && git rebase -q main && git log --oneline | wc -l", "6"),  # noqa: E501 - one line
    ("cd repo && git worktree add -q ../tree side && ls ../tree && git worktree list", "tree"),
    ("cd repo && git worktree remove ../tree && git reset -q --hard main && git gc -q && git fsck && git status --short", ""),  # noqa: E501 - one line
    ("cd repo && git switch -q main && git branch -D other 2>&1 && git branch", "main"),
    ("cd repo && git restore --source v1~1 a && git checkout -q -- a && git blame a && git show --stat HEAD", "fourth"),
)  # fmt: skip

# In a repository that was there before: what protects its configuration, and what git says of it.
PROTECTED = (
    ("cd mine && echo 2 > a && git add -A && git commit -qm second && git log --oneline | wc -l", "2"),
    ("cd mine && git checkout -q -b side && git stash list && git merge -q main && git tag t && git reset -q --hard t", ""),  # noqa: E501 - one line
    ("cd mine && git gc -q && git worktree add -q ../linked t && git worktree remove ../linked && git switch -q main && git branch -D side 2>&1", ""),  # noqa: E501 - one line
)  # fmt: skip


SETTINGS = ("config user.name evil", "remote add origin x", "config core.fsmonitor evil")


@pytest.fixture(scope="module")
def user() -> Iterator[PlainUser]:
    with plain_user("fhe") as made:
        yield made


@pytest.fixture(scope="module")
def server(user: PlainUser) -> Iterator[RealServer]:
    user.write(".gitconfig", "[user]\n\tname = me\n\temail = me@example.org\n[init]\n\tdefaultBranch = main\n")
    user.run("mkdir -p work/mine && cd work/mine && git init -q && echo 1 > a && git add a && git commit -qm first")
    with real_server(user, "work", "[agentDefaults.bash]\ntimeoutSeconds = 200\n") as running:
        yield running


async def answering(person: Caller, asked: list[Message]) -> None:
    while True:
        question = (await person.event("question.asked"))["data"]
        asked.append(question)
        few = {"consent": "session", "network": "session"}
        await person.reply(question, few.get(question["kind"], "once"))


@contextlib.asynccontextmanager
async def at_work(server: RealServer) -> AsyncIterator[tuple[RealAgent, list[Message]]]:
    """An agent, and what its person was asked; they allow everything."""
    asked: list[Message] = []
    async with Tasks() as tasks, server.person() as person, server.agent("Ada") as ada:
        clerk = tasks.start(answering(person, asked), "a person who answers")
        try:
            yield ada, asked
        finally:
            clerk.cancel()


async def run(server: RealServer, lines: tuple[tuple[str, str], ...], url: str = "") -> list[Message]:
    """Run the lines one after the other; returns what was asked besides consent."""
    async with at_work(server) as (ada, asked):
        for line, expected in lines:
            done = await ada.call("tool.bash", command=line.replace("URL", url))
            assert done["success"], (line, done)
            assert done["ok"], (line, done)
            assert expected in done["output"], (line, done)
    return [question for question in asked if question["kind"] != "consent"]


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path=WORDS) is None:
            refuse(f"{program} is not installed (make tools)")


async def test_python(server: RealServer, tmp_path: Path) -> None:
    with registries(tmp_path, THIS_MACHINE) as url:
        add_wheels(tmp_path, "pytest")
        asked = await run(server, PYTHON, url)
    assert [question["kind"] for question in asked if question["level"] == "unknown"] == ["network"]


async def test_node(server: RealServer, tmp_path: Path) -> None:
    need("node", "npm")
    with registries(tmp_path, THIS_MACHINE) as url:
        asked = await run(server, NODE, url)
    assert [question["kind"] for question in asked if question["kind"] == "network"] == ["network"]


async def test_cargo(server: RealServer, tmp_path: Path) -> None:
    need("cargo")
    with registries(tmp_path, THIS_MACHINE) as url:
        await run(server, CARGO, url)


async def test_go(server: RealServer, tmp_path: Path) -> None:
    need("go")
    with registries(tmp_path, THIS_MACHINE) as url:
        await run(server, GO, url)


async def test_git(server: RealServer) -> None:
    await run(server, GIT)
    await run(server, PROTECTED)


async def test_git_settings_are_changed_outside_only_and_stay_protected_after_that(server: RealServer) -> None:
    inside = "conf:\n" + "".join(f"\t-git {line}\n" for line in SETTINGS)
    async with at_work(server) as (ada, asked):
        await ada.do("file.write", path="mine/Makefile", content=inside)
        for name in ("before", "after"):
            made = await ada.do("tool.bash", command="cd mine && make conf 2>&1")
            assert made["output"].count("Error") == len(SETTINGS), (name, made)
            assert server.user.run("cd work/mine && git config user.name; git remote") == (
                "me\n" if name == "before" else "other\n"
            )
            if name == "before":  # the person allows it: it runs outside, and replaces the file
                await ada.do("tool.bash", command="cd mine && git config user.name other")
    assert [question["shown"] for question in asked if question["shown"]] == ["cd mine && git config user.name other"]


async def test_a_server_that_an_agent_starts_is_reachable_while_it_runs(server: RealServer) -> None:
    need("node")
    line = 'node -e \'require("http").createServer((q, s) => s.end("hello")).listen(0, function () { console.log(this.address().port) })\''  # noqa: E501 - one line
    async with at_work(server) as (ada, _), server.person() as person:
        begun = time.monotonic()
        made = await ada.do("terminal.exec", command=line)
        opened = (await person.event("port.opened"))["data"]
        took = time.monotonic() - begun
        async with httpx.AsyncClient(trust_env=False) as outside:
            assert (await outside.get(f"http://127.0.0.1:{opened['outside']}/")).text == "hello"
        inside = await ada.do("tool.bash", command=f"curl -s http://localhost:{opened['port']}/")
        assert inside["output"].strip() == "hello"
        assert [one["port"] for one in (await ada.do("network.ports"))["ports"]] == [opened["port"]]
        await ada.do("terminal.kill", terminalId=made["terminalId"])
        closed = (await person.event("port.closed"))["data"]
        assert closed == opened
        with pytest.raises(httpx.ConnectError):
            async with httpx.AsyncClient(trust_env=False) as outside:
                await outside.get(f"http://127.0.0.1:{opened['outside']}/")
    print(f"open after {took:.2f} s")
