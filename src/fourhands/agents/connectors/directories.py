"""The directories in which an agent works besides the workspace: those of the person's settings, and of an editor.

The person's own settings file names some (`[agents.NAME] additionalDirectories`): they are shown in the sandbox of the
agent, read-only unless `[sandbox] writable` has them. An editor may name others, but in the workspace or in those only.
"""

import os
from collections.abc import Iterable

from fourhands.core.errors import BadArgument
from fourhands.providers.visibility import home_of, private_places, within
from fourhands.safety.redaction.file_names import BUILT_IN
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


def own_directories(bench: Workbench, session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the directories of an agent's settings, resolved, and why it does not get some of them. Blocking."""
    found: list[str] = []
    wrong: list[str] = []
    for settings in bench.settings.of_agent(session.name, session.connector):
        for path in settings.additional_directories:
            real = os.path.realpath(path)
            if reason := _unfit(bench, real):
                wrong.append(f"{session.name} does not get the directory {path} of its settings: {reason}")
            elif not within(real, bench.root):
                found.append(real)
    return tuple(dict.fromkeys(found)), tuple(wrong)


def named_directories(bench: Workbench, session: Session, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the resolved directories that an editor names; raises `BadArgument` for one that it may not name."""
    own, _ = own_directories(bench, session)
    found: list[str] = []
    for path in paths:
        if not os.path.isabs(path) or "\0" in path:
            raise BadArgument(f"additionalDirectories has absolute paths, not {path!r:.200}")
        real = os.path.realpath(path)
        if not any(within(real, place) for place in (bench.root, *own)):
            raise BadArgument(
                f"the directory {path!r:.200} is not in the workspace {bench.root}",
                hint=f"you allow it by additionalDirectories under [agents.{session.name}] of your own settings file",
            )
        if not os.path.isdir(real):
            raise BadArgument(f"there is no directory {path!r:.200}")
        if real != bench.root:
            found.append(real)
    return tuple(dict.fromkeys(found))


def _unfit(bench: Workbench, path: str) -> str:
    """Return why a directory cannot be shown to an agent; empty if it can."""
    env = bench.terminals.env
    if not os.path.isdir(path):
        return "there is no such directory"
    if within(bench.root, path) and path != bench.root:
        return "the workspace is in it"
    if within(os.path.realpath(home_of(env)), path):
        return "your home directory is in it"
    private = any(within(path, place) for place in private_places(env, bench.root))
    return "it is for secrets" if private or BUILT_IN.match(path) or BUILT_IN.holds(path) else ""
