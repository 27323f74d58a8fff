"""Providers: the interface, the levels of isolation, one of a third party, and which one an agent has."""

import pytest
from tests.sources.doors import Doors, like
from tests.sources.source_002 import DOCUMENT

from fourhands import FourhandsError, Isolation, Launch, Provider
from fourhands.providers.local import Local
from fourhands.providers.registry import build
from fourhands.settings import Settings


@DOCUMENT.works(
    "provider executeCommand, provider runScript",
    "executeCommand(command, args, options) · runScript(script, options)",
    "Python: `terminals.execute` and `run_script` with provider=NAME.",
)
async def one_shot(doors: Doors) -> None:
    for provider in ("local", "bubblewrap"):
        done = await doors.app.terminals.execute("printf", ["%s", "a b"], provider=provider)
        assert (done.ok, done.output) == (True, "a b")
        assert (await doors.app.terminals.run_script("echo $((6*7))", provider=provider)).output == "42\n"


@DOCUMENT.works(
    "provider startInteractiveSession, provider sendInput, provider collectOutput",
    "startInteractiveSession(options) · sendInput(id, input) · collectOutput(id, fromPosition, waitOptions)",
    "Python: `terminals.create(provider=NAME)`, `terminal.type`, `terminal.wait` and `terminal.since(position)`.",
)
async def interactive(doors: Doors) -> None:
    for provider in ("local", "bubblewrap"):
        terminal = await doors.app.terminals.create(argv=["cat"], provider=provider)
        position = await terminal.type("hello\n")
        await terminal.wait(pattern="hello\nhello", position=0, quiet_s=2, min_s=1, deadline_s=30)
        assert terminal.since(position).text.count("hello") >= 1
        await terminal.close()


@DOCUMENT.works(
    "provider terminateSession",
    "terminateSession(sessionId)",
    "Python: `await terminal.close()`, or kill, which keeps the output.",
)
async def terminate(doors: Doors) -> None:
    terminal = await doors.app.terminals.create(argv=["sleep", "60"])
    await terminal.close()
    assert terminal.exited


@DOCUMENT.works(
    "provider getSessionStatus",
    "getSessionStatus(sessionId): SessionStatus | null",
    "Python: `terminals.get(id)` has exit, uptime, size and owner; HTTP: openspace.terminal.list.",
)
async def status(doors: Doors) -> None:
    terminal = await doors.app.terminals.create(argv=["sh", "-c", "exit 3"])
    await terminal.wait(exit=True)
    found = doors.app.terminals.get(terminal.id)
    assert found.exit is not None
    assert found.exit.code == 3
    await terminal.close()


@DOCUMENT.differs(
    "provider getSessionStatus",
    "getSessionStatus('no such id') → null",
    because="A wrong id is a mistake, and is reported as one.",
    answer="the error not-found, which lists the terminals that are there.",
)
async def no_status(doors: Doors) -> None:
    with pytest.raises(FourhandsError, match="no terminal 'nobody'") as refused:
        doors.app.terminals.get("nobody")
    assert str(refused.value.hint).startswith("terminals here:")


@DOCUMENT.works(
    "provider getIsolationLevel, features 6, R5",
    "getIsolationLevel(): 'none' | 'sandbox' | 'container'",
    "Python: `provider.isolation`; of each terminal in every list.",
)
async def level(doors: Doors) -> None:
    assert [str(one) for one in Isolation] == ["none", "sandbox", "container"]
    found = {name: str(one.isolation) for name, one in doors.app.terminals.providers.items()}
    like(found, {"local": "none", "bubblewrap": "sandbox", "container": "container"})


@DOCUMENT.works("isolation none", "'none'", "HTTP: the command runs on this machine; what others see says so.")
async def isolation_none(doors: Doors) -> None:
    made = await doors.agent("openspace.terminal.create", {"title": "plain"})
    listed = await doors.agent("openspace.terminal.list", {})
    assert {one["id"]: one["isolation"] for one in listed["terminals"]}[made["terminalId"]] == "none"
    await doors.agent("openspace.terminal.close", {"terminalId": made["terminalId"]})


@DOCUMENT.works(
    "isolation sandbox", "'sandbox' (bubblewrap)", "Python: provider bubblewrap; the rest of the machine is not there."
)
async def isolation_sandbox(doors: Doors) -> None:
    doors.write("seen.txt", "seen\n")
    (doors.root.parent / "unseen.txt").write_text("unseen\n")
    done = await doors.app.terminals.run_script("cat seen.txt ../unseen.txt", provider="bubblewrap", agent=True)
    assert done.stdout == "seen\n"
    assert done.isolation == "sandbox"


@DOCUMENT.works(
    "isolation container",
    "'container' (Docker or Podman)",
    "Python: provider container, with the image that the settings name; without one it refuses, never runs with less.",
)
async def isolation_container(doors: Doors) -> None:
    with pytest.raises(FourhandsError) as refused:
        await doors.app.terminals.run_script("id", provider="container")
    assert refused.value.code in ("unsupported", "unavailable")  # no image is named; or no engine answers at all
    assert "image" in str(refused.value) + str(refused.value.hint)


# -- which one an agent has ------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "service requireActiveTerminal",
    "requireActiveTerminal(agent): TerminalProvider",
    "HTTP: openspace.agent.configure shows it as `effective.provider`; there always is one.",
)
async def active(doors: Doors) -> None:
    assert (await doors.agent("openspace.agent.configure", {}))["effective"]["provider"] == "local"


@DOCUMENT.works(
    "service setActiveTerminal",
    "setActiveTerminal('bubblewrap', agent)",
    "HTTP: openspace.agent.configure by the person; the agent's next command runs there.",
)
async def set_active(doors: Doors) -> None:
    newcomer = doors.another("boxed")
    await doors.person("openspace.agent.configure", {"sessionId": newcomer.session, "provider": "bubblewrap"})
    done = await newcomer.agent("openspace.tool.bash", {"command": "ls ../../.. ; echo $$"})
    assert done["ok"]
    started = await newcomer.agent("openspace.terminal.create", {"title": "boxed"})
    assert doors.app.terminals.get(started["terminalId"]).isolation == "sandbox"
    await newcomer.agent("openspace.terminal.close", {"terminalId": started["terminalId"]})


@DOCUMENT.works(
    "service setActiveTerminal", "setActiveTerminal('no-such', agent) throws", "HTTP: not-found, with those there are."
)
async def set_unknown(doors: Doors) -> None:
    args = {"sessionId": doors.session, "provider": "no-such"}
    refused = await doors.refusal("openspace.agent.configure", args)
    assert refused["code"] == "not-found"
    assert "bubblewrap" in refused["hint"]


@DOCUMENT.differs(
    "service setActiveTerminal",
    "setActiveTerminal(…) called by the agent itself",
    because="The provider decides how far an agent is kept from the machine.",
    answer="an error that says that only the person may change it.",
)
async def set_by_agent(doors: Doors) -> None:
    refused = await doors.refusal("openspace.agent.configure", {"provider": "bubblewrap"}, agent=True)
    assert "only the person may change it" in refused["error"]


@DOCUMENT.works(
    "service requireTerminalProviderByName",
    "requireTerminalProviderByName(name)",
    "Python: `app.providers.require(name)`; not-found, with those there are, for one that there is not.",
)
async def by_name(doors: Doors) -> None:
    assert doors.app.providers.require("local").name == "local"
    with pytest.raises(FourhandsError, match="no provider 'no-such'"):
        doors.app.providers.require("no-such")


# -- one of a third party --------------------------------------------------------------------------------------------


class MyTerminalProvider(Local):
    """Runs programs on this machine, and says in their environment that it was this one."""

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        return launch.replace(env={**launch.env, "MINE": "yes"})


@DOCUMENT.works(
    "service registerTerminalProvider, example provider",
    "registerTerminalProvider('my-provider', …) · setActiveTerminal('my-provider', agent)",
    "Python: `app.providers.register(name, provider)` on a running workbench; the agent's next command runs there.",
)
async def register(doors: Doors) -> None:
    mine: Provider = MyTerminalProvider()
    doors.app.providers.register("my-provider", mine)
    newcomer = doors.another("guest")
    await doors.person("openspace.agent.configure", {"sessionId": newcomer.session, "provider": "my-provider"})
    done = await newcomer.agent("openspace.tool.bash", {"command": "echo $MINE"})
    assert done["output"] == "yes\n"
    with pytest.raises(FourhandsError, match="provider 'my-provider' exists already"):
        doors.app.providers.register("my-provider", mine)


class Literal:
    """A provider with the document's methods and none of ours."""

    async def executeCommand(self, command: str, args: list[str], options: object) -> None: ...

    async def runScript(self, script: str, options: object) -> None: ...


@DOCUMENT.differs(
    "example provider",
    "class MyTerminalProvider { executeCommand(…); runScript(…) }",
    because="A provider changes how a program is started, or gives a stream of bytes; log, waits, positions and status "
    "are the workbench's, the same for all.",
    answer="an error at registration that lists what it lacks and names fourhands.Provider; fourhands.StreamProvider "
    "is for what is no program of this machine.",
)
async def literal_provider(doors: Doors) -> None:
    with pytest.raises(FourhandsError, match="not a complete provider: it lacks isolation, shells, probe") as refused:
        doors.app.providers.register("literal", Literal())  # type: ignore[arg-type]  # that is the question
    assert refused.value.hint == "see fourhands.Provider"


@DOCUMENT.differs(
    "plugin",
    "{ name, version, description, install(app, config), config }",
    because="A plugin is a Python package: its metadata has name, version and description.",
    answer="an entry point of the group fourhands that names a Contribution (commands) or a provider, loaded by the "
    "setting plugins; one that is not there is not-found, with those there are.",
)
async def plugin(doors: Doors) -> None:
    with pytest.raises(FourhandsError, match="no plugin '@tokenring-ai/terminal'"):
        build(Settings(plugins=("@tokenring-ai/terminal",)))
    assert "nice" not in build(Settings())
