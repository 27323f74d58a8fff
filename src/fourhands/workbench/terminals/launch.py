"""The launch of a program: its size, directory, environment, shell and provider, checked before anything starts."""

import asyncio
import contextlib
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fourhands.core.errors import BadArgument, BadCwd, Unavailable
from fourhands.core.ids import is_id
from fourhands.host import processes
from fourhands.providers.base import Launch, Provider, has_cells
from fourhands.providers.registry import Providers
from fourhands.providers.view import cell_name
from fourhands.safety import environment
from fourhands.safety.redaction.redactor import redact
from fourhands.settings import Settings
from fourhands.workbench.terminals import oneshot
from fourhands.workbench.terminals.shell.detection import Shell, detect_shell, foreign_shell, named_shell
from fourhands.workbench.terminals.shell.integration import SCRIPTS, integrate

LONGEST_TITLE = 200

SIZE = (80, 24)
"""Default columns and rows; a page sets the size of its terminals soon after."""

AGENT_SIZE = (120, 40)
"""Default columns and rows of what an agent starts: it may never be shown, and fewer lines are folded."""


class LaunchPlanner:
    """The launches of one workspace: its settings, its environment and its providers."""

    def __init__(self, workspace: str, settings: Settings, env: Mapping[str, str], providers: Providers) -> None:
        self._workspace = workspace
        self._settings = settings
        self._env = env
        self._providers = providers
        self._prepared: set[str] = set()
        self._preparing = asyncio.Lock()
        self._used: set[str] = set()
        self._variables: dict[tuple[bool, bool], dict[str, str]] = {}

    def size(self, cols: int | None, rows: int | None, *, agent: bool) -> tuple[int, int]:
        """Return the size that is asked for, else that of the settings, else the default."""
        wide, high = AGENT_SIZE if agent else SIZE
        options = self._settings.terminal
        wide = wide if options.cols is None else options.cols
        high = high if options.rows is None else options.rows
        return wide if cols is None else cols, high if rows is None else rows

    def cwd(self, cwd: str | None) -> str:
        """Return the directory in which a program starts; see `resolve_cwd`."""
        return resolve_cwd(cwd, self._workspace, self._settings.terminal.allowed_root)

    def variables(self, changes: Mapping[str, str | None] | None, *, agent: bool, pagers: bool) -> dict[str, str]:
        """Return the environment of a program that a person or an agent starts."""
        environment.check_variables(changes or {})
        key = agent, pagers
        if key not in self._variables:  # looked through once: there may be many, and each may be a secret
            if agent:
                chosen = environment.for_agent(self._env, self._settings.agent_defaults.variables)
                chosen |= environment.AGENT_PAGERS
            else:
                chosen = environment.for_person(self._env) | ({} if pagers else environment.NO_PAGERS)
            self._variables[key] = chosen | environment.terminal_variables(self._env)
        return oneshot.script_environment(self._variables[key], changes)

    async def plan(
        self,
        argv: Sequence[str] | None,
        shell: str | None,
        cwd: str,
        changes: Mapping[str, str | None] | None,
        provider: str,
        agent: bool,
        interactive: bool,
    ) -> tuple[Launch, object, dict[str, Any]]:
        """Return the launch, a key under which an equal spare shell may wait, and the facts that belong to it."""
        variables = self.variables(changes, agent=agent, pagers=interactive)
        chosen_provider = await self.provider(provider)
        shells = chosen_provider.shells
        if argv is not None:
            check_words("argv", argv)
            program = argv[0]
            if shells is None:
                program = oneshot.find_program(program, variables.get("PATH", os.defpath), cwd)
            return Launch(program, tuple(argv), cwd, variables), None, {}
        chosen: Shell
        if shells is not None:
            chosen = foreign_shell(shell, self._env, shells)
        elif shell is not None:
            chosen = named_shell(shell, self._settings.terminal.shells)
        else:
            chosen = detect_shell(self._env, self._settings.terminal.shells)
        # A shell with variables of its own is no one else's: the spare one stays as it is.
        # In a cell none waits: it would be one for each session.
        alone = changes or has_cells(chosen_provider)
        key = None if alone else (chosen.path, cwd, tuple(sorted(variables.items())), provider, interactive)
        fixed = {"shell": chosen.path, "interactive": interactive}
        return Launch(chosen.path, (chosen.path, *chosen.arguments), cwd, variables), key, fixed

    async def wrap(
        self, mark: str, launch: Launch, provider_name: str, facts: dict[str, Any]
    ) -> tuple[Launch, dict[str, Any]]:
        """Return the launch as the host starts it, with the shell's integration, and all facts of the terminal."""
        variables = {**launch.env, processes.MARK: mark, "PWD": launch.cwd}
        provider = await self.provider(provider_name)
        if "shell" in facts and getattr(provider, "shares_files", True):
            nonce = secrets.token_urlsafe(18)
            integration = integrate(launch.program, nonce, directory=Path(SCRIPTS), env=variables)
            if integration is not None:
                facts = {**facts, "nonce": nonce}
                variables |= integration.env
                if not facts["interactive"]:
                    variables["FOURHANDS_BANG"] = "off"  # no history expansion: a line means what it says
                launch = launch.replace(argv=integration.argv)
        facts = {
            **facts,
            "argv": list(launch.argv),
            "provider": provider_name,
            "isolation": str(provider.isolation),
            "rung": str(getattr(provider, "rung", provider_name)),
        }
        return provider.wrap(launch.replace(env=variables), terminal=True), facts

    # -- providers -------------------------------------------------------------------------------------------------

    async def provider(self, name: str) -> Provider:
        """Return a provider that is ready to run programs."""
        provider = self._providers.require(name)
        if name not in self._prepared:
            async with self._preparing:
                if name not in self._prepared:
                    await provider.prepare(self._workspace, (str(SCRIPTS),))
                    self._prepared.add(name)
                    self._used.add(name)
        return provider

    def shared_cell(self, session: str) -> str:
        """Return the session whose cell programs of this one run in: its own, or one for the whole workspace."""
        return cell_name(self._settings.sandbox, session)

    def known(self, name: str) -> Provider | None:
        """Return a provider if it is there."""
        return self._providers.get(name)

    def distrust(self, name: str) -> None:
        """Prepare a provider again before its next launch: it could not start a program."""
        self._prepared.discard(name)

    async def finish(self, mark: str, meta: Mapping[str, Any]) -> None:
        """Let the provider of an ended terminal end what the host cannot see."""
        name = meta.get("provider", "local")
        if has_cells(self._providers.get(name)):
            return  # the host ends a terminal in a cell, and the cell goes on
        if name in self._providers and meta.get("isolation", "none") != "none":
            with contextlib.suppress(Unavailable):  # what cannot be reached any more has nothing left to end
                await (await self.provider(name)).end(mark)

    async def clean_up(self) -> None:
        """Remove what the providers made for this workspace."""
        for name in self._used:
            await self._providers[name].clean_up()


def check_words(kind: str, words: object, least: int = 1) -> None:
    """Refuse what is no list of words; one text would be taken letter by letter."""
    if isinstance(words, str | bytes) or not isinstance(words, Sequence):
        raise BadArgument(
            f"{kind} must be a list of words, not {words!r:.80}", hint="a line for a shell: run, run_script"
        )
    if len(words) < least or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise BadArgument(f"{kind} must be words, at least {least}, each a text without NUL bytes")


def checked_title(title: object) -> str:
    """Return a title, without secrets; refuse what is not one line, or so like an id that it would never be found."""
    form = isinstance(title, str) and 0 < len(title.strip()) <= len(title) <= LONGEST_TITLE and title.isprintable()
    if not form:
        raise BadArgument(f"a title is 1 to {LONGEST_TITLE} printable characters, not {title!r:.50}")
    if is_id(str(title)):
        raise BadArgument(f"a title must not have the form of an id, as {title!r} has", hint='such as "test-runner"')
    return redact(str(title))[:LONGEST_TITLE]


def spelled_cwd(cwd: str, workspace: str) -> str:
    """Return a working directory as it is meant: without blanks around it, unless one has exactly that name."""
    trimmed = cwd.strip()
    return cwd if trimmed == cwd or os.path.isdir(os.path.join(workspace, cwd)) else trimmed


def resolve_cwd(cwd: str | None, workspace: str, allowed_root: str = "", *, absolute: bool = False) -> str:
    """Return a working directory that exists and lies inside the allowed root; never silently another one.

    Raises `BadCwd` with the reason in words and as `problem`: missing, not-a-directory, outside, no-entry, or bad for
    what is no path at all, with `absolute` also one that is relative.
    """
    if cwd is None:
        return workspace
    if not isinstance(cwd, str) or not cwd.strip():
        raise BadCwd(f"a working directory must be a path, not {cwd!r}", problem="bad")
    if "\0" in cwd:
        raise BadCwd(f"the working directory {cwd!r:.200} has a NUL byte", problem="bad")
    path = spelled_cwd(cwd, workspace)
    if absolute and not os.path.isabs(path):
        raise BadCwd(f"the working directory must be an absolute path, not {cwd!r:.200}", problem="bad")
    root = os.path.realpath(allowed_root or workspace)
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    try:
        resolved = os.path.realpath(os.path.normpath(os.path.join(workspace, path)))
        outside = resolved != root and not resolved.startswith(root.rstrip("/") + "/")
        mode = os.stat(resolved).st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = "" if not outside else f"give one inside {root}"
        raise BadCwd(f"the working directory {cwd!r:.200} does not exist", hint=hint, problem="missing") from None
    except (OSError, UnicodeEncodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it has half a character"
        raise BadCwd(f"the working directory {cwd!r:.200} cannot be used: {said}", problem="bad") from None
    if outside:
        said = f"the working directory {cwd!r:.200} lies outside {root}"
        raise BadCwd(said, hint="give one inside it", problem="outside")
    if not stat.S_ISDIR(mode):
        raise BadCwd(f"the working directory {cwd!r:.200} is not a directory", problem="not-a-directory")
    if not os.access(resolved, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise BadCwd(f"permission denied: the working directory {cwd!r:.200} may not be entered", problem="no-entry")
    return resolved
