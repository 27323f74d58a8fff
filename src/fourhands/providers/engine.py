"""The command line of a container engine, docker or podman: which one there is, and how it is called."""

import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass

from fourhands.core import child
from fourhands.core.errors import Unavailable
from fourhands.providers import entrypoint

ENGINES = ("podman", "docker")

CALL_S = 60.0
"""Seconds that one call of an engine may take; starting a container on a busy machine takes some."""

NOWHERE = "/proc" if os.path.isdir("/proc") else "/"
"""The directory an engine is called in: podman's monitor stays there, and leaves a file `oom` if it can."""

# podman gives itself, and so all that it starts, 32768 processes: more could not be given.
_MOST = {"nofile": 1 << 20, "nproc": 1 << 15}

# What an engine needs of our environment to find its server, its storage and its settings; nothing of it gets inside.
_NAMES = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS"}
_BEGINNINGS = ("XDG_", "DOCKER_", "CONTAINER_", "CONTAINERS_", "PODMAN_", "STORAGE_", "SSL_CERT_", "LC_")


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The exit code and output of one call of an engine."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line of its complaint: the first ones are often progress."""
        lines = self.err.strip().splitlines()
        return lines[-1][:400] if lines else f"exit code {self.code}"


class Engine:
    """One engine's command line, as found on this machine."""

    def __init__(self, name: str, program: str, env: Mapping[str, str]) -> None:
        self.name = name
        self.program = program
        self.env = {n: v for n, v in env.items() if n in _NAMES or n.startswith(_BEGINNINGS)}
        self.env.setdefault("PATH", entrypoint.SAFE_PATH)
        self._rootless = name == "podman" and os.getuid() != 0

    @classmethod
    def find(cls, wanted: str, env: Mapping[str, str], search_path: str = entrypoint.SAFE_PATH) -> list["Engine"]:
        """Return the installed engines; only the wanted one, if one is named."""
        found = []
        for name in (wanted,) if wanted else ENGINES:
            program = entrypoint.find_builder(name, env, search_path)
            if program is not None:
                found.append(cls(name, program, env))
        return found

    async def call(self, *arguments: str, timeout_s: float = CALL_S) -> EngineResult:
        """Run one of its commands to the end."""
        try:
            ended = await child.run([self.program, *arguments], cwd=NOWHERE, env=self.env, timeout_s=timeout_s)
        except TimeoutError:
            return EngineResult(-1, "", f"no answer within {timeout_s:g} s")
        return EngineResult(ended.code, ended.out, ended.err)

    async def check(self) -> None:
        """Find out whether it answers, and docker whether it runs without root; raises when it does not answer."""
        if self.name == "podman":
            answer = await self.call("version", "--format", "{{.Client.Version}}")
        else:
            answer = await self.call("info", "--format", "{{.SecurityOptions}}")
            self._rootless = "name=rootless" in answer.out
        if answer.code != 0:
            raise Unavailable(
                f"{self.name} is installed and does not work: {answer.complaint}",
                hint=f"see what `{self.name} info` says",
            )

    async def has(self, image: str) -> bool:
        """Return True if an image is here. podman counts as having it unless it answers that it has not."""
        if self.name == "podman":
            return (await self.call("image", "exists", image)).code != 1
        return (await self.call("image", "inspect", "--format", "{{.Id}}", image)).code == 0

    def identity(self) -> list[str]:
        """Options that make what is written in the workspace belong to the user who runs us."""
        uid, gid = os.getuid(), os.getgid()
        if not self._rootless:
            return ["--user", f"{uid}:{gid}"]
        if self.name == "podman":
            return ["--userns", "keep-id", "--user", f"{uid}:{gid}"]
        return ["--user", "0:0"]  # a rootless docker's root is the user

    def details(self) -> list[str]:
        """Options in which the engines differ."""
        # podman would hand over the proxies of our environment, passwords included.
        return ["--http-proxy=false", "--image-volume", "tmpfs"] if self.name == "podman" else []

    def scratch(self, path: str) -> list[str]:
        """Return the option for an empty directory in memory, in which programs may be stored and run."""
        return ["--tmpfs", f"{path}:rw,exec,nosuid,nodev,mode=1777{self._empty()}"]

    def cover(self, path: str) -> list[str]:
        """Something empty over a path that must not be seen."""
        if not os.path.isdir(path):
            return mount("bind", path, "/dev/null", readonly=True)
        option, value = mount("tmpfs", path)
        return [option, value + self._empty()]

    def _empty(self) -> str:
        # podman fills a new file system with what was there before: here, with what is to be hidden.
        return ",notmpcopyup" if self.name == "podman" else ""

    def size_wait(self) -> list[str]:
        """Return the shell lines that run first on a terminal, so that the program finds the terminal's size."""
        # docker (before 23) tells the size only after the start; where it never comes, half a second is lost.
        once = 'n=0; while [ $n -lt 25 ] && [ "$(stty size 2>/dev/null)" = "0 0" ]; do n=$((n + 1)); sleep 0.02; done'
        return [once] if self.name == "docker" else []

    def detach_keys(self) -> list[str]:
        """No key sequence shall detach: Ctrl-P belongs to the program."""
        # docker has no way to switch it off: four NULs in a row are hard to type by accident.
        keys = "" if self.name == "podman" else "ctrl-@,ctrl-@,ctrl-@,ctrl-@"
        return ["--detach-keys", keys]


def own_limits() -> list[str]:
    """Limits of descriptors and processes, stated because an engine's defaults may be above what we may give."""
    options = []
    for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        hard = resource.getrlimit(number)[1]
        value = _MOST[name] if hard == resource.RLIM_INFINITY else min(hard, _MOST[name])
        options += ["--ulimit", f"{name}={value}:{value}"]
    return options


def mount(kind: str, target: str, source: str = "", *, readonly: bool = False) -> list[str]:
    """Return a `--mount` option. Its value is one line of CSV: a path may hold commas and quotes, but no line end."""
    fields = [f"type={kind}", f"destination={target}", *([f"source={source}"] if source else [])]
    if readonly:
        fields.append("readonly")
    return ["--mount", ",".join(_quoted(field) for field in fields)]


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if any(c in field for c in ',"') else field
