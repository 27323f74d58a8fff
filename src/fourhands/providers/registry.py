"""All providers by name: the built-in ones, those that the settings configure, those that plugins bring.

A plugin is an entry point of the group `fourhands`; one that names a provider (a class, a function that makes one, or a
ready object) is called by its entry point's name. `settings.plugins` says which are loaded: none unless named.
"""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.providers.base import Provider
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.providers.container import Container
from fourhands.providers.local import Local
from fourhands.settings import BubblewrapSettings, ContainerSettings, LocalSettings, Settings

GROUP = "fourhands"

_NEEDED = ("isolation", "probe", "prepare", "wrap", "end", "explain", "clean_up")


def build(
    settings: Settings | None = None,
    *,
    env: Mapping[str, str] | None = None,
    plugins: Iterable[EntryPoint] | None = None,
) -> dict[str, Provider]:
    """The providers that these settings ask for; nothing is probed or started yet."""
    settings = settings or Settings()
    configured: dict[str, LocalSettings | BubblewrapSettings | ContainerSettings] = {
        "local": LocalSettings(),
        "bubblewrap": BubblewrapSettings(),
        "container": ContainerSettings(),
    }
    found = {name: make(name, chosen, env) for name, chosen in (configured | settings.providers).items()}
    for entry in _chosen(settings.plugins, entry_points(group=GROUP) if plugins is None else plugins):
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
    name: str, settings: LocalSettings | BubblewrapSettings | ContainerSettings, env: Mapping[str, str] | None = None
) -> Provider:
    """One provider from its settings."""
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise BadArgument(f"a provider's name has letters, digits, - and _ only, not {name!r}")
    match settings:
        case BubblewrapSettings():
            return Bubblewrap(settings, name=name, env=env)
        case ContainerSettings():
            return Container(settings, name=name, env=env)
        case LocalSettings():
            return Local(name=name)


def _chosen(names: tuple[str, ...], there: Iterable[EntryPoint]) -> list[EntryPoint]:
    known = {entry.name: entry for entry in there}
    for name in names:
        if name not in known:
            raise NotFound.of("plugin", name, known)
    return [known[name] for name in names]


def _load(entry: EntryPoint) -> Provider | None:
    """The provider that an entry point names; None when it names something else."""
    loaded = entry.load()
    if not hasattr(loaded, "wrap") and not _promises_provider(loaded):
        return None
    provider = loaded() if callable(loaded) else loaded
    missing = [name for name in (*_NEEDED, "shells") if not hasattr(provider, name)]
    if missing:
        raise BadArgument(
            f"the plugin {entry.value!r} is no complete provider: it lacks {', '.join(missing)}",
            hint="see fourhands.providers.base.Provider",
        )
    provider.name = entry.name
    return provider  # type: ignore[no-any-return]  # checked by name above


def _promises_provider(loaded: object) -> bool:
    """Whether it is a function that says that it returns a provider."""
    annotations = getattr(loaded, "__annotations__", {})
    return getattr(annotations.get("return"), "__name__", annotations.get("return")) == "Provider"
