"""The sandbox of agents' programs as people are told of it: one line, and why it is not a stronger one."""

from collections.abc import Mapping

from msgspec import Struct

from fourhands.core.errors import NotFound
from fourhands.core.event import EventBus, EventData
from fourhands.providers.auto import LINES, NO_RUNG, Auto, Ladder
from fourhands.providers.base import Isolation, Provider
from fourhands.settings import Settings

CHOSEN_NONE = "No sandbox: agents' programs run as you, as your settings say. Unknown commands are asked about."
CONTAINER = "Agents run in a container"


class SandboxRung(Struct, frozen=True, kw_only=True, rename="camel"):
    """One kind of sandbox on this machine: whether it works, and otherwise why not and the line that mends it."""

    name: str
    works: bool
    detail: str
    reason: str = ""
    remedy: str = ""


class SandboxInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """The sandbox in force for agents by default: the provider, the kind of sandbox, and the line for people."""

    provider: str
    rung: str
    isolation: str
    line: str
    reason: str = ""  # why it is not a stronger one
    remedy: str = ""
    rungs: tuple[SandboxRung, ...] = ()


class SandboxChanged(EventData, frozen=True, kw_only=True):
    """It was found out which sandbox agents' programs run in."""

    event = "sandbox.changed"
    sandbox: SandboxInfo


def current(settings: Settings, providers: Mapping[str, Provider]) -> SandboxInfo | None:
    """Return the sandbox of agents without settings of their own; None while it is not decided yet."""
    name = settings.agent_defaults.provider
    provider = providers.get(name)
    if isinstance(provider, Auto):
        return _of_ladder(name, provider.ladder) if provider.ladder is not None else None
    level = provider.isolation if provider is not None else Isolation.NONE
    rung = {Isolation.NONE: NO_RUNG, Isolation.CONTAINER: "container"}.get(level, getattr(provider, "name", name))
    lines = {Isolation.NONE: CHOSEN_NONE, Isolation.CONTAINER: CONTAINER}
    line = lines.get(level) or LINES["landlock" if getattr(provider, "weaker", False) else "bubblewrap"]
    return SandboxInfo(provider=name, rung=rung, isolation=str(level), line=line)


async def decide(name: str, providers: Mapping[str, Provider]) -> None:
    """Decide now what a provider stands for, if it is not decided yet."""
    provider = providers.get(name)
    if isinstance(provider, Auto):
        await provider.climb()


async def decided(settings: Settings, providers: Mapping[str, Provider]) -> SandboxInfo:
    """Return the same, decided now if it is not yet."""
    await decide(settings.agent_defaults.provider, providers)
    info = current(settings, providers)
    if info is None:
        raise NotFound.of("provider", settings.agent_defaults.provider, providers)
    return info


async def announce(settings: Settings, providers: Mapping[str, Provider], events: EventBus) -> None:
    """Decide at the start, before an agent needs it, and tell everyone."""
    if isinstance(providers.get(settings.agent_defaults.provider), Auto):
        events.emit(SandboxChanged(sandbox=await decided(settings, providers)))


def _of_ladder(name: str, ladder: Ladder) -> SandboxInfo:
    failed = ladder.failed
    return SandboxInfo(
        provider=name,
        rung=ladder.rung,
        isolation=str(Isolation.NONE if ladder.rung == NO_RUNG else Isolation.SANDBOX),
        line=ladder.line,
        reason=failed.reason if failed is not None else "",
        remedy=failed.remedy if failed is not None else "",
        rungs=tuple(
            SandboxRung(name=one.name, works=one.works, detail=one.detail, reason=one.reason, remedy=one.remedy)
            for one in ladder.rungs
        ),
    )
