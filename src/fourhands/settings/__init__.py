"""Settings: defaults, the user's file, the environment, flags; each of them over the one before.

The user's file is `$XDG_CONFIG_HOME/fourhands/settings.toml`. A workspace's own `.fourhands/settings.toml` comes with
code of others: it may make policy stricter and choose sizes, never loosen anything.
"""

import logging
import os
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from fourhands.core.ask_by import AskBy
from fourhands.core.call import Scope
from fourhands.core.errors import BadArgument
from fourhands.host.archive import KEEP_BYTES, KEEP_DAYS
from fourhands.host.log import BUDGET, CAPACITY, LEAST
from fourhands.settings.explanation import explained
from fourhands.settings.models import ModelSettings

log = logging.getLogger(__name__)

MOST_TERMINALS = 10_000
_MOST = 2**53  # what every JSON reader holds exactly
_YEAR_S = 366 * 86_400

Count = Annotated[int, Meta(ge=0, le=_MOST)]
Duration = Annotated[float, Meta(ge=0, le=_YEAR_S)]
SomeTime = Annotated[float, Meta(gt=0, le=86_400)]
Interval = Annotated[float, Meta(ge=0, le=3_600)]
NonEmpty = Annotated[str, Meta(min_length=1)]
AbsoluteDirectory = Annotated[str, Meta(pattern="^(/|$)", description="an absolute path, or empty")]
AbsolutePath = Annotated[str, Meta(pattern="^/", description="an absolute path")]
DevicePath = Annotated[str, Meta(pattern="^/dev/[^/]", description="a path below /dev")]
HttpAddress = Annotated[str, Meta(pattern="^https?://[^/]", description="an address with http:// or https://")]


_P = TypeVar("_P", bound="SettingsGroup")


class SettingsGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A group of settings: unknown names are errors, names in files are camelCase."""


class TerminalSettings(SettingsGroup, frozen=True, kw_only=True):
    """Terminals; where no size is set, an agent's are larger than others."""

    max_terminals: Annotated[int, Meta(ge=1, le=MOST_TERMINALS)] = 100
    cols: Annotated[int, Meta(ge=2, le=1000)] | None = None
    rows: Annotated[int, Meta(ge=1, le=1000)] | None = None
    shells: tuple[NonEmpty, ...] = ()
    capacity: Annotated[int, Meta(ge=LEAST, le=_MOST)] = CAPACITY
    log_budget: Annotated[int, Meta(ge=LEAST, le=_MOST)] = BUDGET
    keep_days: Annotated[float, Meta(ge=0, le=36_500)] = KEEP_DAYS
    keep_bytes: Count = KEEP_BYTES
    spare_shell: bool = True
    linger_s: Duration = msgspec.field(default=10.0, name="lingerSeconds")
    allowed_root: AbsoluteDirectory = ""


class BashSettings(SettingsGroup, frozen=True, kw_only=True):
    """The `bash` tool."""

    crop_output: Annotated[int, Meta(ge=0, le=10_000_000)] = 10_000
    timeout_s: SomeTime = msgspec.field(default=60.0, name="timeoutSeconds")


class PersistentSettings(SettingsGroup, frozen=True, kw_only=True):
    """The time for which `terminal_start` and `terminal_continue` collect output, in seconds."""

    min_interval: Interval = 1.0
    settle_interval: Interval = 2.0
    max_interval: Interval = 30.0


class AgentDefaults(SettingsGroup, frozen=True, kw_only=True):
    """The settings an agent starts with; its own state is merged over them."""

    provider: NonEmpty = "auto"
    bash: BashSettings = BashSettings()
    persistent: PersistentSettings = PersistentSettings()
    variables: tuple[NonEmpty, ...] = ()


class AgentBash(SettingsGroup, frozen=True, kw_only=True):
    """The `bash` tool of one agent; a setting left out is as in the defaults."""

    crop_output: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    timeout_s: SomeTime | None = msgspec.field(default=None, name="timeoutSeconds")


class AgentPersistent(SettingsGroup, frozen=True, kw_only=True):
    """The time for which one agent's terminals collect output; a setting left out is as in the defaults."""

    min_interval: Interval | None = None
    settle_interval: Interval | None = None
    max_interval: Interval | None = None


class AgentSettings(ModelSettings, SettingsGroup, frozen=True, kw_only=True):
    """The settings that one agent, or all of one kind, start with instead of the defaults.

    In a sandbox the agent's own process gets `processVariables` of your environment, and reaches `allowedHosts`.
    `allow`, `askBy` and `tools` hold for what comes by `fourhands mcp --name NAME`, and for no kind of agent.
    `acpVersion` is the newest version of ACP to offer to an agent that speaks it; 2 is a draft.
    `additionalDirectories` are shown to it besides the workspace, read-only, and named to one that speaks ACP.
    """

    provider: NonEmpty | None = None
    cwd: NonEmpty | None = None
    process_variables: tuple[NonEmpty, ...] = ()
    allowed_hosts: tuple[NonEmpty, ...] = ()
    allow: tuple[Scope, ...] = ()
    ask_by: AskBy | None = None
    tools: tuple[NonEmpty, ...] = ()
    acp_version: Literal[1, 2] | None = None
    additional_directories: tuple[AbsolutePath, ...] = ()
    bash: AgentBash = AgentBash()
    persistent: AgentPersistent = AgentPersistent()

    def over(self, defaults: AgentDefaults) -> AgentDefaults:
        """Return these settings merged over the defaults."""
        own = {} if self.provider is None else {"provider": self.provider}
        bash, persistent = _merged(self.bash, defaults.bash), _merged(self.persistent, defaults.persistent)
        return msgspec.structs.replace(defaults, **own, bash=bash, persistent=persistent)


def _merged(own: SettingsGroup, defaults: _P) -> _P:
    changes = {name: value for name in own.__struct_fields__ if (value := getattr(own, name)) is not None}
    return msgspec.structs.replace(defaults, **changes)


class LocalSettings(SettingsGroup, frozen=True, kw_only=True, tag="local"):
    """No isolation."""


class BubblewrapSettings(SettingsGroup, frozen=True, kw_only=True, tag="bubblewrap"):
    """A sandbox: see docs/isolation.md. A limit of 0 is none."""

    network: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    max_processes: Count = 512
    max_memory: Count = 4 * 1024 * 1024 * 1024
    require_limits: bool = True


class LandlockSettings(SettingsGroup, frozen=True, kw_only=True, tag="landlock"):
    """The weaker sandbox, by rules of the kernel: see docs/isolation.md."""


class AutoSettings(SettingsGroup, frozen=True, kw_only=True, tag="auto"):
    """The strongest sandbox that this machine can build."""


class ContainerSettings(SettingsGroup, frozen=True, kw_only=True, tag="container"):
    """A container: see docs/isolation.md. A limit of 0 is none."""

    image: str = ""
    engine: Literal["", "podman", "docker"] = ""
    network: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    max_processes: Count = 512
    max_memory: Count = 4 * 1024 * 1024 * 1024
    max_cpus: Annotated[float, Meta(ge=0, le=10_000)] = 0.0


ProviderSettings = LocalSettings | BubblewrapSettings | LandlockSettings | AutoSettings | ContainerSettings
"""The settings of one provider; the `type` in the file says which."""


class SandboxSettings(SettingsGroup, frozen=True, kw_only=True):
    """The network of every sandbox, and the paths that it shows in addition to those of the provider itself."""

    hide_secrets: bool = False
    per_workspace: bool = False
    readable: tuple[AbsolutePath, ...] = ()
    writable: tuple[AbsolutePath, ...] = ()
    devices: tuple[DevicePath, ...] = ()
    network: Literal["ask", "off", "on"] = "ask"
    allowed_hosts: tuple[NonEmpty, ...] = ()


class SafetySettings(SettingsGroup, frozen=True, kw_only=True):
    """Approvals, classification and secrets."""

    safe_commands: tuple[NonEmpty, ...] = ()
    dangerous_commands: tuple[NonEmpty, ...] = ()
    secret_names: tuple[NonEmpty, ...] = ()
    not_secret_names: tuple[NonEmpty, ...] = ()
    redact: bool = True
    unknown_answer_s: Annotated[float, Meta(ge=0, le=86_400)] = msgspec.field(default=10.0, name="unknownAnswerSeconds")
    ask: Literal["dangerous", "irreversible"] = "dangerous"
    wait_for_somebody: bool = False


class JournalSettings(SettingsGroup, frozen=True, kw_only=True):
    """Limits of the journal: days on which it was in use, bytes of calls, bytes of files from before a change."""

    keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    keep_bytes: Annotated[int, Meta(ge=1 << 20, le=_MOST)] = 256 << 20
    undo_bytes: Count = 256 << 20


class CheckpointSettings(SettingsGroup, frozen=True, kw_only=True):
    """Checkpoints of the workspace: whether, how long one may take, and the room and days for which they are kept."""

    enabled: bool = True
    budget_s: SomeTime = msgspec.field(default=5.0, name="budgetSeconds")
    keep_bytes: Annotated[int, Meta(ge=1 << 20, le=_MOST)] = 2 << 30
    keep_days: Annotated[float, Meta(gt=0, le=36_500)] = 14.0
    large_bytes: Count = 20 << 20


class ProjectSettings(SettingsGroup, frozen=True, kw_only=True):
    """The workspace's own files that agents are told of: AGENTS.md or CLAUDE.md, and skills."""

    instructions: bool = True
    skills: bool = True


class NoticeSettings(SettingsGroup, frozen=True, kw_only=True):
    """Toasts: errors always, infos never."""

    warnings: bool = True


class ServerSettings(SettingsGroup, frozen=True, kw_only=True):
    """The server's address, the number of agents' sessions, and their time to come back after a crash."""

    host: NonEmpty = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 4404
    allowed_hosts: tuple[NonEmpty, ...] = ()
    max_sessions: Annotated[int, Meta(ge=1, le=10_000)] = 100
    return_s: Duration = msgspec.field(default=60.0, name="returnSeconds")


class UpstreamSettings(SettingsGroup, frozen=True, kw_only=True):
    """A model endpoint that the proxy forwards to; the key is read from the named environment variable."""

    url: HttpAddress
    key_variable: str = ""
    key_header: str = ""  # empty: the one of the interface, e.g. Authorization or x-api-key
    connect_s: SomeTime = msgspec.field(default=10.0, name="connectSeconds")
    silence_s: SomeTime = msgspec.field(default=600.0, name="silenceSeconds")


class Settings(SettingsGroup, frozen=True, kw_only=True):
    """All settings."""

    terminal: TerminalSettings = TerminalSettings()
    agent_defaults: AgentDefaults = AgentDefaults()
    agents: dict[str, AgentSettings] = {}
    providers: dict[str, ProviderSettings] = {}
    sandbox: SandboxSettings = SandboxSettings()
    safety: SafetySettings = SafetySettings()
    journal: JournalSettings = JournalSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    project: ProjectSettings = ProjectSettings()
    notices: NoticeSettings = NoticeSettings()
    server: ServerSettings = ServerSettings()
    upstreams: dict[str, UpstreamSettings] = {}
    plugins: tuple[NonEmpty, ...] = ()

    def for_agent(self, name: str, kind: str) -> AgentDefaults:
        """Return what an agent starts with: the defaults, over them those of its kind, over these of its name."""
        chosen = self.agent_defaults
        for key in dict.fromkeys((kind, name)):
            if key in self.agents:
                chosen = self.agents[key].over(chosen)
        return chosen

    def of_agent(self, name: str, kind: str) -> tuple[AgentSettings, ...]:
        """Return the settings of an agent's kind and of its name, as far as there are any."""
        return tuple(self.agents[key] for key in dict.fromkeys((kind, name)) if key in self.agents)

    def cwd_for_agent(self, name: str, kind: str) -> str | None:
        """Return the directory in which a new agent's programs start, if one is set: for its name, else its kind."""
        chosen = (self.agents[key].cwd for key in (name, kind) if key in self.agents)
        return next((cwd for cwd in chosen if cwd is not None), None)


_ALIASES = {
    ("terminal", "agentDefaults"): ("agentDefaults",),
    ("terminal", "providers"): ("providers",),
    ("terminal", "safeCommands"): ("safety", "safeCommands"),
    ("terminal", "dangerousCommands"): ("safety", "dangerousCommands"),
}
"""Other places with the same meaning: those of the terminal package whose tools these are."""

_GONE = {
    ("safety", "unaskedInSandbox"): "in a sandbox unknown commands run unasked; safety.ask says what is asked about",
}
"""Settings of earlier versions, and what holds now."""

_LISTS_THAT_A_WORKSPACE_MAY_EXTEND = {("safety", "dangerousCommands"), ("safety", "secretNames")}
_FREE_FOR_A_WORKSPACE = {("terminal", "cols"), ("terminal", "rows")}


def user_file(env: Mapping[str, str]) -> str:
    """Return the path of the user's settings."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "fourhands", "settings.toml")


def load(
    workspace: str | None = None, *, env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Read all places and merge them. Raises `BadArgument` with the file, the key and the value that is wrong."""
    env = os.environ if env is None else env
    mine = user_file(env)
    merged = _read(mine)
    settings = _convert(merged, mine)
    if workspace is not None:
        path = os.path.join(workspace, ".fourhands", "settings.toml")
        _tighten(merged, _read(path), path)
        settings = _convert(merged, path)
    for key, value in (flags or {}).items():
        _set(merged, key.split("."), value)
        settings = _convert(merged, "the command line")
    return settings


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        raw = tomllib.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadArgument(
            f"the settings in {path} are not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}",
            hint="save the file as UTF-8",
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadArgument(f"cannot read the settings in {path}: {error}", hint="mend or remove the file") from error
    for alias, place in _ALIASES.items():
        _move(raw, alias, place, path)
    _drop_old(raw, path)
    for name in list(raw["agents"]) if isinstance(raw.get("agents"), dict) else ():
        _move(raw, ("agents", name, "terminal"), ("agents", name), path)
    return raw


def _drop_old(raw: dict[str, Any], path: str) -> None:
    """Take out settings of earlier versions, with a warning that says what holds now."""
    for (group, name), now in _GONE.items():
        values = raw.get(group)
        if isinstance(values, dict) and values.pop(name, None) is not None:
            log.warning("%s sets %s.%s, which is no setting any more: %s", path, group, name, now)


def _move(raw: dict[str, Any], alias: tuple[str, ...], place: tuple[str, ...], path: str) -> None:
    """Move a value from its other place to its own. A value in both places is an error."""
    source: Any = raw
    for name in alias[:-1]:
        source = source.get(name) if isinstance(source, dict) else None
    if not isinstance(source, dict) or alias[-1] not in source:
        return
    value = source.pop(alias[-1])
    target = raw
    for name in place[:-1]:
        target = target.setdefault(name, {})
    there = target.get(place[-1]) if isinstance(target, dict) else None
    if there not in (None, {}) or not isinstance(target, dict):
        raise BadArgument(
            f"{path} sets both {'.'.join(alias)} and {'.'.join(place)}, which is the same setting",
            hint=f"keep {'.'.join(place)}",
        )
    target[place[-1]] = value


def _convert(raw: dict[str, Any], where: str) -> Settings:
    try:
        settings = msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise explained(raw, where, str(error), Settings) from error
    chosen = {"agentDefaults": settings.agent_defaults}
    chosen |= {f"agents.{name}": settings.for_agent(name, name) for name in settings.agents}
    for name, one in chosen.items():
        intervals = one.persistent
        if intervals.min_interval > intervals.max_interval:
            raise BadArgument(
                f"{name}.persistent.minInterval = {intervals.min_interval!r} in {where} is more than "
                f"maxInterval = {intervals.max_interval!r}",
                hint="see docs/settings.md",
            )
    return settings


def _tighten(merged: dict[str, Any], raw: dict[str, Any], path: str) -> None:
    """Merge from a workspace's file what cannot loosen policy; anything else is an error."""
    for group, values in raw.items():
        for name, value in values.items() if isinstance(values, dict) else ():
            key = (group, name)
            if key in _LISTS_THAT_A_WORKSPACE_MAY_EXTEND and isinstance(value, list):
                there = merged.setdefault(group, {})
                there[name] = [*there.get(name, []), *value]
            elif key in _FREE_FOR_A_WORKSPACE:
                merged.setdefault(group, {})[name] = value
            else:
                raise BadArgument(
                    f"{path} may not set {group}.{name}: a workspace's own file cannot loosen policy",
                    hint="put it into your own settings file",
                )
        if not isinstance(values, dict):
            raise BadArgument(f"{path} may not set {group}", hint="put it into your own settings file")


def _set(target: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        target = target.setdefault(name, {})
    target[path[-1]] = value
