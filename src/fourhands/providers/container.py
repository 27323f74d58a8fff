"""The container: one for each workspace, made by podman or docker; each program is one `exec` in it.

The container outlives the server like the terminals in it do: its name says for whom and with which settings it was
made, so the next server finds it. Its first process does nothing but wait for others' children. The engine's client
that runs on the terminal is not the program: killing it ends nothing inside, so `end` does that.
"""

import hashlib
import os
from collections.abc import Mapping

from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.host import processes
from fourhands.providers import entrypoint, visibility
from fourhands.providers.base import Isolation, Launch, WorkspaceProvider
from fourhands.providers.engine import Engine, EngineResult, mount, own_limits
from fourhands.providers.termination import carriers, end_carriers
from fourhands.settings import ContainerSettings

# A shell that waits reaps every child, also inherited ones; an engine's `--init` would need one more program.
_FIRST_PROCESS = "trap 'exit 0' TERM INT\nwhile :; do sleep 86400 & wait $!; done"

_PLACE = "/run/fourhands"
"""A directory inside in which each terminal leaves the number of its first process."""

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash", "/bin/sh")

# Written for any sh, with no other program than sleep and rm: an image may have little else.
# Members are those that carry the mark, are in the session of the first process, or are children of a member.
_END = f"""
mark=$1
mine=' '
read -r first <{_PLACE}/"$mark" && mine=" $first "
carries() {{
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *{processes.MARK}="$mark"*) return 0;; esac
  done
  return 1
}}
members() {{
  found=' '
  again=1
  while [ $again = 1 ]; do
    again=0
    for directory in /proc/[0-9]*; do
      pid=${{directory#/proc/}}
      [ "$pid" -gt 1 ] && [ "$pid" != $$ ] || continue
      case $found in *" $pid "*) continue;; esac
      {{ read -r stat <"$directory/stat"; }} 2>/dev/null || continue
      set -- ${{stat##*) }}
      [ "$1" != Z ] && [ "$4" != $$ ] || continue
      case "$found$mine" in
        *" $2 "* | *" $4 "*) ;;
        *) {{ carries <"$directory/environ"; }} 2>/dev/null || continue;;
      esac
      found="$found$pid "
      again=1
    done
  done
  [ "$found" != ' ' ]
}}
count=0
while members; do
  case $count in
    0) for s in HUP CONT TERM; do kill -$s $found; done;;
    1?) kill -KILL $found;;
    60) exit 1;;
  esac 2>/dev/null
  count=$((count + 1))
  sleep 0.1
done
rm -f {_PLACE}/"$mark"
"""

# A terminal still runs here.
_IN_USE = f"""
for file in {_PLACE}/*; do
  read -r pid <"$file" && [ -d "/proc/$pid" ] && exit 0
done 2>/dev/null
exit 1
"""

_LOOK = f"command -v env >/dev/null || exit 3\nfor s in {' '.join(_SHELLS)}; do [ -x $s ] && echo $s; done; exit 0"


class Container(WorkspaceProvider):
    """Runs programs in a container of their own on the workspace."""

    isolation = Isolation.CONTAINER

    def __init__(
        self,
        settings: ContainerSettings | None = None,
        *,
        name: str = "container",
        env: Mapping[str, str] | None = None,
        search_path: str = entrypoint.SAFE_PATH,
        visible: bool | None = None,
    ) -> None:
        """Take settings; `visible` False ends processes from inside, as where the engine runs on another machine."""
        super().__init__(name, env)
        self.shells: tuple[str, ...] | None = ()
        self.container = ""
        self._settings = settings or ContainerSettings()
        self._search_path = search_path
        self._found: Engine | None = None
        self._home = "/tmp"
        self._visible = visible

    # -- probing ---------------------------------------------------------------------------------------------------

    async def _try(self) -> str:
        engine = await self._choose()
        options = [*self._options(), *engine.scratch(_PLACE)]
        image = self._settings.image
        answer = await engine.call("run", "--rm", *options, "--entrypoint", "/bin/sh", image, "-c", _LOOK)
        if answer.code != 0:
            raise await self._refusal(answer)
        limits = [
            f"at most {self._settings.max_processes} processes" if self._settings.max_processes else "",
            f"{self._settings.max_memory >> 20} MiB of memory" if self._settings.max_memory else "",
            f"{self._settings.max_cpus:g} processors" if self._settings.max_cpus else "",
        ]
        network = "network allowed" if self._settings.network else "no network"
        return "; ".join([engine.program, f"image {image}", network, ", ".join(filter(None, limits)) or "no limits"])

    async def _refusal(self, answer: EngineResult) -> Unavailable:
        """Why a container could not be started."""
        engine, image = self._engine, self._settings.image
        if not await engine.has(image):
            return Unsupported(f"{engine.name} has no image {image!r}", hint=f"get it: {engine.name} pull {image}")
        reason = "the image has no `env`" if answer.code == 3 and not answer.err else answer.complaint
        return Unsupported(
            f"{engine.name} cannot run {image!r} with the configured isolation: {reason}",
            hint="nothing was weakened to make it run; fix the cause or choose another provider",
        )

    async def _choose(self) -> Engine:
        """Return the first engine that answers; the choice is kept."""
        if self._found is not None:
            return self._found
        if not self._settings.image:
            raise Unsupported(
                "no image is configured for containers", hint=f"set providers.{self.name}.image to one that has /bin/sh"
            )
        engines = Engine.find(self._settings.engine, self._env, self._search_path)
        if not engines:
            wanted = self._settings.engine or "neither podman nor docker"
            raise Unsupported(
                f"{wanted} is {'not ' if self._settings.engine else ''}installed", hint="install podman or docker"
            )
        reason: Unavailable | None = None
        for engine in engines:
            try:
                if len(engines) > 1 or engine.name == "docker":
                    await engine.check()
            except Unavailable as error:
                reason = reason or error
            else:
                self._found = engine
                return engine
        assert reason is not None
        raise reason

    @property
    def _engine(self) -> Engine:
        if self._found is None:
            raise self._unprepared()
        return self._found

    # -- life ------------------------------------------------------------------------------------------------------

    @property
    def shares_network(self) -> bool:
        """True if programs reach all that this machine reaches, unseen."""
        return self._settings.network

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Start the workspace's container, or go on with the one that is already there."""
        await self._choose()
        self._workspace = visibility.check_workspace(workspace)
        self._home = visibility.home_of(self._env)
        options = [*self._options(), *self._mounts(readable)]
        place = _digest(f"{os.getuid()}:{self._workspace}")[:16]
        recipe = _digest("\n".join([*options, self._settings.image]))[:8]
        self.container = f"fourhands-{place}-{recipe}"
        if not await self._tidy(place):
            await self._start(["--label", f"fourhands.workspace={place}", *options])
        answer = await self._exec("/bin/sh", "-c", _LOOK)
        if answer.code != 0:
            raise await self._refusal(answer)
        self.shells = tuple(answer.out.split())
        # Its processes are processes of this machine, unless the engine runs on another one, or on a virtual one.
        if self._visible is None:
            self._visible = bool(carriers(self.container))

    async def _tidy(self, place: str) -> bool:
        """Return True if the container runs. Remove it if it has stopped, and unused others of this workspace."""
        answer = await self._engine.call(
            "ps", "--all", "--filter", f"label=fourhands.workspace={place}", "--format", "{{.Names}} {{.State}}"
        )
        for name, state in (line.split(maxsplit=1) for line in answer.out.splitlines() if " " in line):
            running = state.lower().startswith(("running", "up"))
            if name == self.container and running:
                return True
            if name == self.container or not running or not await self._in_use(name):
                await self._engine.call("rm", "--force", name)
        return False

    async def _start(self, options: list[str]) -> None:
        answer = await self._engine.call(
            *("run", "--detach", "--name", self.container, "--env", f"{processes.MARK}={self.container}", *options),
            *("--entrypoint", "/bin/sh", self._settings.image, "-c", _FIRST_PROCESS),
        )
        if answer.code != 0 and not await self._running():  # or another server was quicker
            raise await self._refusal(answer)

    async def _running(self) -> bool:
        answer = await self._engine.call("inspect", "--format", "{{.State.Running}}", self.container)
        return answer.code == 0 and answer.out.strip() == "true"

    async def _in_use(self, container: str) -> bool:
        answer = await self._engine.call("exec", container, "/bin/sh", "-c", _IN_USE)
        return answer.code == 0

    def _options(self) -> list[str]:
        """Return the options that isolate a container and limit its resources."""
        chosen = self._settings
        options = ["--pull", "never", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
        options += [*self._engine.identity(), *self._engine.details(), *own_limits()]
        if self._engine.name == "podman":
            options += ["--security-opt", "label=disable"]  # or SELinux would refuse the workspace
        if not chosen.network:
            options += ["--network", "none"]
        if chosen.max_processes:
            options += ["--pids-limit", str(chosen.max_processes)]
        if chosen.max_memory:
            options += ["--memory", str(chosen.max_memory), "--memory-swap", str(chosen.max_memory)]
        if chosen.max_cpus:
            options += ["--cpus", f"{chosen.max_cpus:g}"]
        return options

    def _mounts(self, readable: tuple[str, ...]) -> list[str]:
        shown = self._shown((*self._settings.readable, *readable), self._settings.writable)
        options = [*self._engine.scratch(_PLACE), *self._engine.scratch("/tmp")]
        if self._home != "/tmp" and not visibility.within(self._home, self._workspace):
            options += self._engine.scratch(self._home)
        for path, writable in shown.items():
            options += mount("bind", path, path, readonly=not writable)
        for path in visibility.hidden_places(shown, self._env, self._workspace):
            options += self._engine.cover(path)
        return [*options, "--workdir", self._workspace]

    async def _exec(self, *command: str) -> EngineResult:
        return await self._engine.call("exec", self.container, *command)

    # -- launching -------------------------------------------------------------------------------------------------

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch as an exec in the container, with a terminal of the container's if `terminal`."""
        engine = self._engine
        variables = visibility.inner_variables(launch.env, self._workspace)
        if not visibility.within(visibility.home_of(variables), self._workspace):
            variables["HOME"] = self._home
        tag = launch.env.get(processes.MARK, "")
        before = [f'echo $$ >{_PLACE}/"${processes.MARK}"'] if terminal and tag else []
        before += engine.size_wait() if terminal else []
        travelling = entrypoint.packed(variables)
        argv = [engine.name, "exec", "--interactive", *(["--tty", *engine.detach_keys()] if terminal else [])]
        argv += ["--workdir", launch.cwd]
        for name in travelling:
            argv += ["--env", name]  # by name: the value comes from the environment, not from the argument list
        # The name as it was given: where its program lies in the image, this machine cannot know.
        argv += [
            self.container,
            *entrypoint.unpacking(variables, launch.argv[0], launch.argv[1:], before=before, signals=False),
        ]
        return Launch(engine.program, tuple(argv), launch.cwd, {**engine.env, **travelling})

    async def end(self, tag: str) -> None:
        """End all processes of a launch: politely, then firmly, until none is left."""
        if not self.container or not tag:
            return
        if self._visible:
            await end_carriers(tag)
        else:
            await self._exec("/bin/sh", "-c", _END, "fourhands", tag)

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return an error if the engine failed; the program's own 125, 126, 127 and 255 stay exit codes."""
        engine_speaks = stderr.lstrip().startswith(("Error: ", "Error response from", "OCI runtime", "error during"))
        if not self.container or not engine_speaks or exit_code not in (125, 126, 127, 255):
            return None
        if not await self._running():
            return Unavailable(
                f"container {self.container} no longer exists", hint="the next terminal or command starts a new one"
            )
        if exit_code in (126, 127):
            return None  # not there, or not a program
        return Unavailable(f"{self._engine.name} could not run the program: {EngineResult(125, '', stderr).complaint}")

    async def clean_up(self) -> None:
        """Remove the container, unless a terminal that outlives us runs in it."""
        if self.container and not await self._in_use(self.container):
            await self._engine.call("rm", "--force", self.container)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
