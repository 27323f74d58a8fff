"""Commands on agents: sessions, pausing, stopping, consent and rules. Most of them are for people only."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args, Nothing
from fourhands.core.call import Call, Scope
from fourhands.core.consent import SCOPES
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.settings.models import ToolMode
from fourhands.workbench.agent_options import ListedModel
from fourhands.workbench.events import AgentChanged, AgentStopping
from fourhands.workbench.sessions import AttachedTerminal, SessionInfo, SessionSettings
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.agent", scope="see")

SessionId = Annotated[str, Meta(description="Id or name of an agent's session; of several with one name the newest.")]


class AgentList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agents that are here."""

    agents: tuple[SessionInfo, ...]


@commands.add("list", label="List agents", read_only=True, example={})
async def list_agents(bench: Workbench) -> AgentList:
    """List the agents at work here: name, status, settings, how many commands wait."""
    return AgentList(agents=tuple(bench.describe_session(session) for session in bench.sessions))


class SessionRef(Args, frozen=True, kw_only=True):
    """A session."""

    session_id: SessionId


class AgentStarted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent's session."""

    session_id: str


@commands.add("start", label="Connect agent", actors=("person",), example={"agent": "tour"})
async def start(
    bench: Workbench,
    *,
    agent: Annotated[str, Meta(min_length=1, max_length=1000, description="tour, opencode, URL#MODEL …")],
    cwd: Annotated[
        str | None, Meta(description="Directory in the workspace where its programs start; default: its root.")
    ] = None,
) -> AgentStarted:
    """Start an agent: the tour, a coding agent by its name, or a model as URL#MODEL."""
    return AgentStarted(session_id=(await bench.connect(agent, cwd=cwd)).id)


class ModelList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The models of an endpoint, in its own order."""

    models: tuple[ListedModel, ...]


@commands.add("models", label="List models", actors=("person",), read_only=True)
async def models(
    bench: Workbench,
    *,
    endpoint: Annotated[
        str, Meta(min_length=1, max_length=1000, description="Its address, as for start: URL, anthropic:URL.")
    ],
) -> ModelList:
    """List the models that an endpoint has, to name one of them as URL#MODEL."""
    return ModelList(models=await bench.models_at(endpoint))


@commands.add("pause", label="Pause agent", actors=("person",))
async def pause(bench: Workbench, args: SessionRef) -> Nothing:
    """Hold an agent's next commands and its next turn; running programs continue and nothing is lost."""
    bench.gate.pause(bench.sessions.get(args.session_id).id)
    return Nothing()


@commands.add("resume", label="Resume agent", actors=("person",), hand=True)
async def resume(bench: Workbench, args: SessionRef) -> Nothing:
    """Resume a paused agent."""
    bench.gate.resume(bench.sessions.get(args.session_id).id)
    return Nothing()


class AgentStopped(Struct, frozen=True, kw_only=True, rename="camel"):
    """The number of commands that were dropped or cancelled."""

    count: int


@commands.add("stop", label="Stop agent", actors=("person",), key="Ctrl Shift .")
async def stop(
    bench: Workbench,
    *,
    session_id: SessionId,
    kill: Annotated[bool, Meta(description="Also end its terminals' programs and take back consent.")] = False,
) -> AgentStopped:
    """Stop an agent at once: drop what waits, interrupt what runs in its terminals, give the keyboard back.

    With kill, its terminals' programs are ended and it must ask for consent again.
    """
    session = bench.sessions.get(session_id)
    count = bench.gate.stop(session.id)
    for terminal in bench.terminals.list():
        if terminal.exited:
            continue
        seat = bench.agent_seat(session.actor, terminal)
        if seat.holds_keyboard:
            await terminal.interrupt()
            seat.release()
        if kill and terminal.owner == session.id:
            await terminal.kill()
    bench.events.emit(AgentStopping(session=session.id, kill=kill))
    if kill:
        await bench.gate.consent.revoke_agent(session.id, session.name)
    return AgentStopped(count=count)


@commands.add("end", label="End agent session", actors=("person",))
async def end(bench: Workbench, args: SessionRef) -> Nothing:
    """End an agent's session and clean up what it made: terminals, highlights, panes that are not pinned."""
    await bench.end_session(args.session_id)
    return Nothing()


@commands.add("reset", label="Start new chat", actors=("person",))
async def reset(bench: Workbench, args: SessionRef) -> Nothing:
    """Forget the chat and clean up what the agent made; its settings stay."""
    await bench.reset_session(args.session_id)
    return Nothing()


@commands.add("consent", label="Change permissions", actors=("person",), hand=True)
async def consent(
    bench: Workbench,
    *,
    session_id: SessionId,
    allow: Annotated[bool, Meta(description="False revokes the consent, also a remembered one.")],
    scopes: Annotated[
        Annotated[tuple[Scope, ...], Meta(min_length=1)] | None,
        Meta(description="What it may do: see, arrange, write, run. Default: all of them."),
    ] = None,
) -> Nothing:
    """Allow an agent to act here without being asked first, in all ways or in some, or revoke that."""
    session = bench.sessions.get(session_id)
    if allow:
        await bench.gate.consent.grant_agent(session.id, session.name, scopes or SCOPES)
    else:
        await bench.gate.consent.revoke_agent(session.id, session.name)
    return Nothing()


class AllowRule(Struct, frozen=True, kw_only=True, rename="camel"):
    """A narrow permission for the rest of a session."""

    key: str
    text: str


class AllowRuleList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of a session's rules."""

    rules: tuple[AllowRule, ...]


@commands.add("rules", label="Show allow rules", actors=("person",), read_only=True)
async def rules(bench: Workbench, args: SessionRef) -> AllowRuleList:
    """List the narrow rules that you allowed for this session."""
    found = bench.gate.rules.list(bench.sessions.get(args.session_id).id)
    return AllowRuleList(rules=tuple(AllowRule(key=key, text=text) for key, text in found.items()))


@commands.add("drop_rule", label="Remove allow rule", actors=("person",), hand=True)
async def drop_rule(
    bench: Workbench,
    *,
    session_id: SessionId,
    key: str,
) -> Nothing:
    """Ask again before a command that you had allowed for the session."""
    bench.gate.rules.remove(bench.sessions.get(session_id).id, key)
    return Nothing()


class ConfigureAgent(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.agent.configure`: what is left out stays as it is."""

    session_id: Annotated[str | None, Meta(description="Default: the calling agent's own session.")] = None
    provider: str | None = None
    crop_output: int | None = None
    timeout_s: float | None = msgspec.field(default=None, name="timeoutSeconds")
    min_interval: float | None = None
    settle_interval: float | None = None
    max_interval: float | None = None
    reset: Annotated[bool, Meta(description="Go back to the defaults first; what else is given is set then.")] = False
    cwd: Annotated[
        str | None, Meta(description='Directory where its programs start; "." is the workspace. The person\'s choice.')
    ] = None
    mode: Annotated[
        ToolMode | None,
        Meta(description="By what a chat model acts: tools (calls of its endpoint), blocks, auto (tools if it can)."),
    ] = None


class AgentConfigured(Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings now, and what they come to over the defaults."""

    state: SessionSettings
    effective: dict[str, object]


@commands.add(
    "configure",
    label="Change agent settings",
    hand=("provider", "cwd", "reset"),
    example={"timeoutSeconds": 120},
)
async def configure(bench: Workbench, args: ConfigureAgent, call: Call) -> AgentConfigured:
    """Show or change a session's settings: timeout, crop limit, intervals, mode; provider and cwd are the person's.

    The `state` of an answer can be kept, and given back later together with reset: it is then as it was.
    """
    name = args.session_id or call.session
    if name is None:
        raise BadArgument("no session is named", hint="pass sessionId")
    if call.session is not None and bench.sessions.get(name, call.session).id != call.session:
        raise BadArgument("an agent can only change its own settings", hint="leave sessionId out")
    session = bench.sessions.get(name, call.session)
    if args.provider is not None:
        if call.session is not None and args.provider != bench.agent_settings(session).provider:
            raise BadArgument("the provider decides about isolation: only the person may change it")
        await bench.terminals.provider(args.provider)
    if args.cwd is not None and call.session is not None:
        raise BadArgument("the directory where your programs start is the person's choice", hint="give cwd with a call")
    names = ("provider", "crop_output", "timeout_s", "min_interval", "settle_interval", "max_interval", "mode")
    changes = {field: getattr(args, field) for field in names if getattr(args, field) is not None}
    before = session.state
    if args.reset:
        chosen = before if call.session is not None else SessionSettings()  # what only the person may change stays
        before = SessionSettings(provider=chosen.provider, cwd=chosen.cwd)
    state = msgspec.structs.replace(before, **changes)
    state.check()
    if args.cwd is not None:
        bench.choose_cwd(session, args.cwd)
        state = msgspec.structs.replace(state, cwd=session.state.cwd)
    session.state = state
    bench.sessions.save()
    bench.events.emit(AgentChanged(session=session.id, status=session.status, state=state))
    return AgentConfigured(state=state, effective=msgspec.to_builtins(bench.agent_settings(session)))


class AttachTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.agent.attach` and `openspace.agent.detach`."""

    session_id: SessionId
    terminal_id: Annotated[str, Meta(description="Id or title of a terminal.")]


class AttachedList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All terminals that are attached to the chat now."""

    attached: tuple[AttachedTerminal, ...]


@commands.add("attach", label="Attach terminal to chat", actors=("person",))
async def attach(bench: Workbench, args: AttachTerminal, call: Call) -> AttachedList:
    """Send an agent the new output of a terminal with each turn, until you detach it or it ends."""
    session = bench.sessions.get(args.session_id)
    bench.attached.attach(session, bench.terminal(args.terminal_id, call))
    return AttachedList(attached=bench.attached.describe(session))


@commands.add("detach", label="Detach terminal from chat", actors=("person",))
async def detach(bench: Workbench, args: AttachTerminal, call: Call) -> AttachedList:
    """Stop sending an agent the new output of a terminal; it can still read it."""
    session = bench.sessions.get(args.session_id)
    named = [one for one in bench.terminals.named(args.terminal_id) if one.id in session.attached]
    bench.attached.detach(session, named[-1] if named else bench.terminal(args.terminal_id, call))
    return AttachedList(attached=bench.attached.describe(session))


@commands.add("prompt", label="Message agent", actors=("person",))
async def prompt(
    bench: Workbench,
    *,
    session_id: SessionId,
    text: Annotated[str, Meta(min_length=1, description="What you say to the agent.")],
) -> Nothing:
    """Send a message to an agent; its answer arrives as it is written."""
    await bench.prompt(bench.sessions.get(session_id), text)
    return Nothing()
