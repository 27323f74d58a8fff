"""The profile of an agent: what its own process needs of the person's environment, files and network in a sandbox.

Profiles are data (`agents/acp/catalogue`). What is not named in one stays in the sandbox: the agent makes it anew in a
home that is kept for the workspace. So an agent that keeps a program, a hook or a setting that runs later, outside,
keeps it where only the sandbox finds it. Shared with the person are credentials, chats and the like.
"""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from fourhands.providers.base import AgentNeeds, ShownPath
from fourhands.providers.egress.agents import WORKBENCH, inner_url
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern
from fourhands.providers.egress.rules import AgentHosts
from fourhands.providers.visibility import SYSTEM, within
from fourhands.safety.environment import for_agent
from fourhands.safety.redaction.file_names import BUILT_IN

TRUST = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Variables that every agent gets: a company's own authority for certificates."""

_URL_ENDS = ("_BASE_URL", "_API_BASE")
_MOST_SHEBANG = 256


class AgentDirectory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A directory below home in which an agent keeps what it has; `variable` names another place, or what is above it.

    `state` are directories that it writes, made where they are missing; `files` are files that it writes, where they
    exist; `configuration` is only read, where it exists; `copied` too, as a copy that the sandbox has for itself.
    """

    path: str
    variable: str = ""
    below: str = ""
    state: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()

    def outside(self, home: str, env: Mapping[str, str]) -> str:
        """Return the place of the person's own; `home` is that inside of a sandbox."""
        named = env.get(self.variable, "") if self.variable else ""
        return os.path.join(named, self.below) if os.path.isabs(named) else _joined(env.get("HOME") or home, self.path)


class AgentProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The needs of one agent. `variables` are further names of the person's environment, secrets included.

    `hosts` are its model's, `refused` are refused without a question, `env` switches off what it would do there;
    `listens`: it cannot work where no program can listen.
    """

    variables: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    directories: tuple[AgentDirectory, ...] = ()
    listens: bool = False


def variables_of(profile: AgentProfile, env: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables of an agent's process in a sandbox: the chosen ones, and those named by the profile."""
    named = {*profile.variables, *TRUST, *more}
    placed = {directory.variable for directory in profile.directories}  # the sandbox has its own place for each
    chosen = {**for_agent(env), **{name: env[name] for name in named if name in env}}
    return {name: value for name, value in chosen.items() if name not in placed and not name.startswith("FOURHANDS_")}


def hosts_of(
    profile: AgentProfile, variables: dict[str, str], configured: Iterable[str], own_ports: Container[int]
) -> AgentHosts:
    """Return the hosts of an agent, and rewrite the base URLs in `variables` to what they are in a sandbox.

    `configured` are hosts of the settings; one of our own ports becomes the part of this server that is for agents.
    """
    named = [HostPattern.parse(host) for host in configured]
    addresses: dict[str, str] = {}
    for name, value in variables.items():
        inner = inner_url(value) if name.endswith(_URL_ENDS) else None
        if inner is None:
            continue
        if inner.host.name == THIS_MACHINE and inner.host.port in own_ports:
            variables[name] = f"http://{WORKBENCH}{urlsplit(value).path}"
            continue
        variables[name] = inner.url
        named.append(inner.host)
        if inner.address:
            addresses[inner.host.name] = inner.address
    return AgentHosts(
        allowed=tuple(map(HostPattern.parse, profile.hosts)),
        configured=tuple(named),
        refused=tuple(map(HostPattern.parse, profile.refused)),
        addresses=addresses,
    )


def needs_of(
    profile: AgentProfile,
    program: str,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    home: str,
    env: Mapping[str, str],
    port: int = 0,
    directories: tuple[str, ...] = (),
) -> AgentNeeds:
    """Return what the sandbox has to show for an agent; makes the directories that it would make. Blocking."""
    readable: dict[str, str] = {}
    writable: dict[str, str] = {}
    copied: dict[str, str] = {}
    for directory in profile.directories:
        place, inside = directory.outside(home, env), _joined(home, directory.path)
        for name in directory.state:
            os.makedirs(os.path.join(place, name), mode=0o700, exist_ok=True)
            writable[_joined(inside, name)] = _joined(place, name)
        for names, target in ((directory.files, writable), (directory.copied, copied)):
            target |= {
                _joined(inside, one): _joined(place, one) for one in names if os.path.isfile(_joined(place, one))
            }
        for name in directory.configuration:
            if os.path.exists(path := _joined(place, name)):
                readable[_joined(inside, name)] = path
    readable |= {path: path for path in shown_for(program)}
    named = [value for name, value in variables.items() if name in {*profile.variables, *TRUST}]
    for value in named:
        if os.path.isabs(value) and os.path.exists(value) and not _is_everything(value, home) and value not in writable:
            readable[value] = value
    for value in arguments:
        if os.path.isabs(value) and os.path.isfile(value) and not BUILT_IN.match(value):
            readable |= {path: path for path in shown_for(value) if path not in writable}
    places = tuple(_joined(home, directory.path) for directory in profile.directories)
    return AgentNeeds(_paths(readable), _paths(writable), _paths(copied), places, port, directories)


def _joined(place: str, name: str) -> str:
    return os.path.normpath(os.path.join(place, name))


def _paths(paths: Mapping[str, str]) -> tuple[ShownPath, ...]:
    return tuple(ShownPath(inside, os.path.realpath(outside)) for inside, outside in sorted(paths.items()))


def _is_everything(path: str, home: str) -> bool:
    """Return True for what shows far more than a program: home, or what home is in."""
    return within(home, os.path.realpath(path))


def _is_system(path: str) -> bool:
    return any(within(path, f"/{name}") for name in SYSTEM)


def shown_for(program: str, depth: int = 2) -> list[str]:
    """Return the paths that have to be visible for a program: its package, and those of what interprets it."""
    real = os.path.realpath(program)
    if _is_system(real):
        return []
    modules, found, _ = real.partition("/node_modules/")
    environment = os.path.dirname(os.path.dirname(real))
    # The program by its own name as well: a virtual environment's python is a link that leads out of it.
    above = os.path.dirname(os.path.dirname(os.path.abspath(program)))
    if found:
        shown = [f"{modules}/node_modules"]
    elif os.path.isfile(f"{environment}/pyvenv.cfg"):
        shown = [environment]
    elif os.path.isfile(f"{above}/pyvenv.cfg"):
        library = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
        shown = [above, real, *([library] if os.path.isdir(library) and not _is_system(library) else [])]
    else:
        shown = [real]
    interpreter = _interpreter(real)
    if interpreter and depth:
        shown += shown_for(interpreter, depth - 1)
    return shown


def _interpreter(path: str) -> str:
    """Return the program that a script names in its first line, if it is one that the system does not have."""
    try:
        with open(path, "rb") as file:
            first = file.read(_MOST_SHEBANG).split(b"\n", 1)[0]
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if words and os.path.isabs(words[0]) else ""


def inner_program(program: str, needs: AgentNeeds, visible: Iterable[str]) -> str:
    """Return the path by which a program is found inside: as it was found here, or where its package has it."""
    shown = [*(one.inside for one in needs.readable), *visible]
    spelled = os.path.abspath(program)
    if _is_system(spelled) or any(within(spelled, path) for path in shown):
        return spelled
    return os.path.realpath(program)
