"""Settings: defaults, the user's file, the environment, flags; each of them over the one before.

The user's file is `$XDG_CONFIG_HOME/fourhands/settings.toml`. A workspace's own `.fourhands/settings.toml` comes with
code that somebody else may have written: it may make policy stricter and choose looks, never loosen anything.
"""

import os
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from fourhands.core.errors import BadArgument
from fourhands.host.log import CAPACITY
from fourhands.host.process import BUDGET
from fourhands.host.shelf import KEEP_BYTES, KEEP_DAYS

Limit = Annotated[int, msgspec.Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A group of settings: unknown names are errors, names in files are camelCase."""


class TerminalSettings(Part, frozen=True, kw_only=True):
    """How terminals are made and kept."""

    max_terminals: int = 100
    cols: int = 120
    rows: int = 40
    shells: tuple[str, ...] = ()
    capacity: int = CAPACITY
    log_budget: int = BUDGET
    keep_days: float = KEEP_DAYS
    keep_bytes: int = KEEP_BYTES
    spare_shell: bool = True
    linger_s: float = msgspec.field(default=10.0, name="lingerSeconds")
    allowed_root: str = ""


class BashSettings(Part, frozen=True, kw_only=True):
    """The `bash` tool."""

    crop_output: int = 10_000
    timeout_s: float = msgspec.field(default=60.0, name="timeoutSeconds")


class PersistentSettings(Part, frozen=True, kw_only=True):
    """How long `terminal_start` and `terminal_continue` collect output, in seconds."""

    min_interval: float = 1.0
    settle_interval: float = 2.0
    max_interval: float = 30.0


class AgentDefaults(Part, frozen=True, kw_only=True):
    """What an agent starts with; its own state is merged over this."""

    provider: str = "local"
    bash: BashSettings = BashSettings()
    persistent: PersistentSettings = PersistentSettings()
    variables: tuple[str, ...] = ()


class LocalSettings(Part, frozen=True, kw_only=True, tag="local"):
    """No isolation."""


class BubblewrapSettings(Part, frozen=True, kw_only=True, tag="bubblewrap"):
    """A sandbox: see docs/isolation.md. A limit of 0 is none."""

    network: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    max_processes: Limit = 512
    max_memory: Limit = 4 * 1024 * 1024 * 1024
    require_limits: bool = True


class ContainerSettings(Part, frozen=True, kw_only=True, tag="container"):
    """A container: see docs/isolation.md. A limit of 0 is none."""

    image: str = ""
    engine: Literal["", "podman", "docker"] = ""
    network: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    max_processes: Limit = 512
    max_memory: Limit = 4 * 1024 * 1024 * 1024
    max_cpus: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class SafetySettings(Part, frozen=True, kw_only=True):
    """What is asked about and what is hidden."""

    safe_commands: tuple[str, ...] = ()
    dangerous_commands: tuple[str, ...] = ()
    secret_names: tuple[str, ...] = ()
    not_secret_names: tuple[str, ...] = ()
    redact: bool = True
    unknown_answer_s: float = msgspec.field(default=10.0, name="unknownAnswerSeconds")
    unasked_in_sandbox: bool = False
    wait_for_somebody: bool = False


class NoticeSettings(Part, frozen=True, kw_only=True):
    """Toasts: errors always, infos never."""

    warnings: bool = True


class ServerSettings(Part, frozen=True, kw_only=True):
    """The door, how many agents' sessions there may be, and how long they may take to come back after a crash."""

    host: str = "127.0.0.1"
    port: int = 4404
    allowed_hosts: tuple[str, ...] = ()
    max_sessions: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    return_s: Annotated[float, msgspec.Meta(ge=0)] = msgspec.field(default=60.0, name="returnSeconds")


class Upstream(Part, frozen=True, kw_only=True):
    """A model endpoint that the proxy forwards to; the key is read from the named environment variable."""

    url: str
    key_variable: str = ""
    key_header: str = ""  # empty: the one of the interface, e.g. Authorization or x-api-key
    connect_s: float = msgspec.field(default=10.0, name="connectSeconds")
    silence_s: float = msgspec.field(default=600.0, name="silenceSeconds")


class Settings(Part, frozen=True, kw_only=True):
    """Everything that can be set."""

    terminal: TerminalSettings = TerminalSettings()
    agent_defaults: AgentDefaults = AgentDefaults()
    providers: dict[str, LocalSettings | BubblewrapSettings | ContainerSettings] = {}
    safety: SafetySettings = SafetySettings()
    notices: NoticeSettings = NoticeSettings()
    server: ServerSettings = ServerSettings()
    upstreams: dict[str, Upstream] = {}
    plugins: tuple[str, ...] = ()


_LISTS_THAT_A_WORKSPACE_MAY_EXTEND = {("safety", "dangerousCommands"), ("safety", "secretNames")}
_FREE_FOR_A_WORKSPACE = {("terminal", "cols"), ("terminal", "rows")}


def user_file(env: Mapping[str, str]) -> str:
    """Where the user's settings lie."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "fourhands", "settings.toml")


def load(
    workspace: str | None = None, *, env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Read all places and merge them; the first thing that is wrong is named with its file."""
    env = os.environ if env is None else env
    merged = _read(user_file(env))
    _convert(merged, user_file(env))
    if workspace is not None:
        path = os.path.join(workspace, ".fourhands", "settings.toml")
        _tighten(merged, _read(path), path)
    for key, value in (flags or {}).items():
        _set(merged, key.split("."), value)
    return _convert(merged, "the command line")


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadArgument(f"the settings in {path} cannot be read: {error}") from error


def _convert(raw: dict[str, Any], where: str) -> Settings:
    try:
        return msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise BadArgument(f"a setting from {where} is wrong: {error}", hint="see docs/settings.md") from error


def _tighten(merged: dict[str, Any], raw: dict[str, Any], path: str) -> None:
    """Take from a workspace's file what cannot loosen policy; anything else is an error that says so."""
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
