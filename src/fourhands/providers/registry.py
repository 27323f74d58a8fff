"""All providers by name: built in, configured by the settings, brought by plugins, registered while all runs.

A plugin is an entry point of the group `fourhands`; one that names a provider (a class, a function that makes one, or a
ready object) is called by its entry point's name. `settings.plugins` says which are loaded: none unless named.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.providers.auto import Auto
from fourhands.providers.base import Provider, StreamProvider
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.providers.container import Container
from fourhands.providers.landlock import Landlock
from fourhands.providers.local import Local
from fourhands.providers.stream import Streamed
from fourhands.settings import (
    AutoSettings,
    BubblewrapSettings,
    ContainerSettings,
    LandlockSettings,
    LocalSettings,
    ProviderSettings,
    Settings,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "fourhands"

_NEEDED = ("isolation", "shells", "probe", "prepare", "wrap", "end", "explain", "clean_up")
_NEEDED_OF_STREAMS = ("isolation", "shells", "shares_files", "probe", "prepare", "open", "clean_up")


class Providers(dict[str, Provider]):
    """The providers by name. A registered one can be used at once."""

    def register(self, name: str, provider: Provider | StreamProvider) -> Provider:
        """Add a provider under a name that is free; an agent gets it by `openspace.agent.configure`."""
        _check_name(name)
        if name in self:
            raise Conflict(
                f"provider {name!r} exists already", hint=f"choose another name than {', '.join(sorted(self))}"
            )
        self[name] = _complete(name, provider, f"what was given as {name!r}")
        return self[name]

    def require(self, name: str) -> Provider:
        """Return the provider of that name, which need not be ready."""
        if name not in self:
            raise NotFound.of("provider", name, self)
        return self[name]


def build(
    settings: Settings | None = None,
    *,
    env: Mapping[str, str] | None = None,
    plugins: "Iterable[EntryPoint] | None" = None,
) -> Providers:
    """Build the providers that the settings ask for; nothing is probed or started yet."""
    settings = settings or Settings()
    configured: dict[str, ProviderSettings] = {
        "auto": AutoSettings(),
        "local": LocalSettings(),
        "bubblewrap": BubblewrapSettings(),
        "landlock": LandlockSettings(),
        "container": ContainerSettings(),
    }
    chosen = configured | settings.providers
    found = Providers({name: make(name, one, env, settings) for name, one in chosen.items()})
    for entry in _chosen(settings.plugins, plugins):
        provider = _load(entry)
        if provider is None:
            continue  # another kind of plugin
        if entry.name in found:
            raise Conflict(
                f"the plugin {entry.value!r} brings a provider {entry.name!r}, and there is one of that name",
                hint="leave one of them out of the settings",
            )
        found[entry.name] = provider
    return found


def make(
    name: str, chosen: ProviderSettings, env: Mapping[str, str] | None = None, settings: Settings | None = None
) -> Provider:
    """One provider from its own settings; those of all sandboxes are in `settings`."""
    _check_name(name)
    settings = settings or Settings()
    sandbox = settings.sandbox
    match chosen:
        case BubblewrapSettings():
            return Bubblewrap(chosen, name=name, env=env, sandbox=sandbox)
        case LandlockSettings():
            return Landlock(name=name, env=env, sandbox=sandbox)
        case ContainerSettings():
            return Container(chosen, name=name, env=env)
        case AutoSettings():
            # A sandbox without limits is more than the next rung, or none; the probe says NOT LIMITED.
            lenient = BubblewrapSettings(require_limits=False)
            mine = settings.providers.get("bubblewrap")
            first = mine if isinstance(mine, BubblewrapSettings) else lenient
            return Auto(
                {
                    "bubblewrap": Bubblewrap(first, env=env, sandbox=sandbox),
                    "landlock": Landlock(env=env, sandbox=sandbox),
                },
                name=name,
            )
        case LocalSettings():
            return Local(name=name)


def _chosen(names: tuple[str, ...], there: "Iterable[EntryPoint] | None") -> "list[EntryPoint]":
    if not names:
        return []
    if there is None:
        from importlib.metadata import entry_points  # late: looking through all that is installed takes time

        there = entry_points(group=GROUP)
    known = {entry.name: entry for entry in there}
    for name in names:
        if name not in known:
            raise NotFound.of("plugin", name, known)
    return [known[name] for name in names]


def _load(entry: "EntryPoint") -> Provider | None:
    """Load the provider that an entry point names; None when it names something else."""
    loaded = entry.load()
    streams = hasattr(loaded, "open") and hasattr(loaded, "shares_files")
    if not hasattr(loaded, "wrap") and not streams and not _promises_provider(loaded):
        return None
    return _complete(entry.name, loaded() if callable(loaded) else loaded, f"the plugin {entry.value!r}")


def _complete(name: str, provider: Any, what: str) -> Provider:
    """Name a provider and check that it has all members; one of streams is wrapped as one of launches."""
    streams = hasattr(provider, "open") and not hasattr(provider, "wrap")
    needed, kind = (_NEEDED_OF_STREAMS, "StreamProvider") if streams else (_NEEDED, "Provider")
    if isinstance(provider, type) or (missing := [one for one in needed if not hasattr(provider, one)]):
        lacks = (
            "it is a class, and not yet an object" if isinstance(provider, type) else f"it lacks {', '.join(missing)}"
        )
        raise BadArgument(f"{what} is not a complete provider: {lacks}", hint=f"see fourhands.{kind}")
    if streams:
        return Streamed(provider, name=name)
    provider.name = name
    return provider  # type: ignore[no-any-return]  # checked by name above


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
        raise BadArgument(f"a provider's name has letters, digits, - and _ only, not {name!r}")


def _promises_provider(loaded: object) -> bool:
    """Return True if it is a function annotated to return a provider."""
    annotations = getattr(loaded, "__annotations__", {})
    return getattr(annotations.get("return"), "__name__", annotations.get("return")) in ("Provider", "StreamProvider")
