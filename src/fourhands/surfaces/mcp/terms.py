"""The terms of one client: its options over what the person's settings say of its name, as far as they may count.

Options come from the owner of the client's configuration. Where they start the workbench themselves, they decide. Where
the client joins one that runs already, its options come with a token that any program of the same user can read. So
there they may not loosen what the person has chosen, and no agent gets more by a second door than it has at its first:

- an agent's own token brings no options but tools;
- a provider must isolate as much as the one that the settings give, or that the client chose which started it all;
- scopes are allowed only as far as every agent whose programs run without a sandbox here has them itself;
- what a person has revoked from a name stays revoked for it.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fourhands.commands.toolset import tools_of
from fourhands.core.ask_by import AskBy
from fourhands.core.call import Actor, Call, Decision, Result, Scope
from fourhands.core.consent import SCOPES, SPEAKS, Arrival
from fourhands.core.errors import Denied
from fourhands.core.tasks import Tasks
from fourhands.providers.base import Isolation, Provider
from fourhands.settings import AgentSettings
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.workbench.events import AgentNoted
from fourhands.workbench.sandbox import decide
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

KIND = "mcp"

CONFIGURED = "openspace.agent.consent"
"""The command under which the journal tells of what a configuration allowed, like of what a person did."""

OWN = "the client's configuration"
FILE = "your settings file"


class Terms(Struct, frozen=True, kw_only=True):
    """The terms that hold for one client."""

    name: str = ""
    allow: tuple[Scope, ...] = ()
    provider: str = ""
    ask_by: AskBy | None = None
    tools: tuple[str, ...] = ()
    keep: bool = False
    words: str = ""  # where the allowed scopes come from
    withheld: str = ""  # why scopes that it asks for are not simply allowed


async def settle(bench: Workbench, options: ClientOptions, *, own: bool, agent: bool = False) -> Terms:
    """Return the terms of a client; `own`: it started this workbench, `agent`: it shows an agent's own token.

    Raises `Denied` for options that may not count here, `NotFound` and `Unavailable` for what is not there.
    """
    options.check()
    tools_of(bench.registry, options.tools or ())
    if agent:
        if options.personal:
            raise Denied(
                "an agent's own session takes no options but --tools: what it may do was decided when it was begun",
                hint="leave out --name, --allow, --provider, --ask-by and --keep, or let the person change the session",
            )
        return Terms(tools=options.tools or ())
    mine = bench.settings.agents.get(options.name) if options.name else None
    mine = mine or AgentSettings()
    tools_of(bench.registry, mine.tools)
    if options.provider:
        await bench.terminals.provider(options.provider)
        if own:
            bench.founder = options.provider
        else:
            await _keeps_in(bench, options)
    asked = options.allow if options.allow is not None else mine.allow
    source = OWN if options.allow is not None else FILE
    flag = "--allow" if options.allow is not None else f"agents.{options.name}.allow"
    allow, withheld = (asked, "") if own else await _within(bench, asked)
    if asked and bench.gate.consent.revoked(options.name):
        allow, withheld = (), "a person has revoked what was allowed to this name"
    return Terms(
        name=options.name,
        allow=_ordered(allow),
        provider=options.provider,
        ask_by=options.ask_by or mine.ask_by,
        tools=options.tools or mine.tools,
        keep=options.keep,
        words=f"allowed by {source} ({flag} {','.join(_ordered(allow))})" if allow else "",
        withheld=f"{source} asks for {flag} {','.join(_ordered(asked))}, but {withheld}" if withheld else "",
    )


def welcome(bench: Workbench, tasks: Tasks, terms: Terms, client: str, came: str = "by MCP") -> Session:
    """Begin the session of a client that calls itself `client`, on these terms, and tell of what they allow."""

    def prepare(session: Session) -> None:
        if terms.name:
            session.client, session.kept = client, terms.keep
            # Of an earlier session of this name nothing is taken over but its terminals.
            session.state = replace(session.state, provider=None)
        if terms.provider:
            session.state = replace(session.state, provider=terms.provider)
        session.arrival = Arrival(words=_arrival(terms, client, came))
        bench.questions.ask_only(session.id, terms.ask_by)
        bench.gate.consent.configure(session.id, session.name, terms.allow, terms.words)
        bench.sessions.save()

    session = bench.begin_session(terms.name or client, KIND, named=bool(terms.name), prepare=prepare)
    if terms.allow or terms.withheld:
        tasks.start(_record(bench, session, terms), f"the record of what {session.name} may do")
        said = terms.words or terms.withheld
        bench.events.emit(AgentNoted(session=session.id, text=f"{said[:1].upper()}{said[1:]}."))
    return session


async def _record(bench: Workbench, session: Session, terms: Terms) -> None:
    args: dict[str, object] = {"sessionId": session.id, "allow": bool(terms.allow)}
    if terms.allow:
        args["scopes"] = list(terms.allow)
    call = Call(command=CONFIGURED, args=args, actor=Actor.system(), origin="mcp")
    data: dict[str, object] = {"agent": session.name, "client": session.client}
    decision = Decision(choice="configured" if terms.allow else "", by=terms.words, reason=terms.withheld)
    await bench.gate.record(call, Result(success=True, data=data), decision)


def _arrival(terms: Terms, client: str, came: str) -> str:
    if not terms.name:
        return f"A client came {came} and calls itself {client}. {SPEAKS}"
    told = f"A client came {came}, configured as {terms.name}; it calls itself {client}."
    if terms.ask_by is None or terms.ask_by == "forms":
        told += f" {SPEAKS}"
    return f"{told} {terms.withheld[:1].upper()}{terms.withheld[1:]}." if terms.withheld else told


async def _keeps_in(bench: Workbench, options: ClientOptions) -> None:
    """Refuse a provider that isolates less than the one that the person's settings give to this name."""
    providers, standard = bench.terminals.providers, bench.settings.for_agent(options.name, KIND).provider
    there = [name for name in (standard, bench.founder) if name]
    for name in there:
        await decide(name, providers)
    if _strength(providers.require(options.provider)) < min(_strength(providers.require(name)) for name in there):
        where = f"agents.{options.name}.provider" if options.name else f"agents.{KIND}.provider"
        raise Denied(
            f"--provider {options.provider} isolates less than {standard!r}, which agents have in the workbench that "
            "runs here already",
            hint=f"only the person can choose less: set {where} in your settings file, or let no workbench run here",
        )


def _strength(provider: Provider) -> int:
    if provider.isolation is Isolation.NONE:
        return 0
    return 1 if getattr(provider, "weaker", False) or getattr(provider, "shares_network", False) else 2


async def _within(bench: Workbench, asked: Iterable[Scope]) -> tuple[tuple[Scope, ...], str]:
    """Return the scopes that give no agent here more than it has, and why others are left out.

    An agent whose programs run as the person can read the token and come as a client with options of its own.
    """
    allowed, names = frozenset(asked), []
    for session in bench.sessions:
        if await _is_loose(bench, session):
            has = frozenset(bench.gate.consent.scopes(session.id, session.name))
            names += [] if allowed <= has else [session.name]
            allowed &= has
    if not names:
        return _ordered(allowed), ""
    who = ", ".join(dict.fromkeys(names))
    return _ordered(allowed), f"{who} may not do all of that, runs programs here without a sandbox, and could be it"


async def _is_loose(bench: Workbench, session: Session) -> bool:
    if session.place is not None and session.place.isolation == Isolation.NONE:
        return True
    name = bench.agent_settings(session).provider
    await decide(name, bench.terminals.providers)
    provider = bench.terminals.providers.get(name)
    return provider is None or provider.isolation is Isolation.NONE


def _ordered(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    return tuple(scope for scope in SCOPES if scope in frozenset(scopes))
