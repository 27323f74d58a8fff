"""Programs that the server runs by itself over the workspace: never one that lies there, where agents write.

A PATH often leads into the workspace first: an activated environment, `node_modules/.bin`, or `.` itself.
"""

import os
import shutil

from fourhands.providers.visibility import within


def path_outside(workspace: str, path: str | None = None) -> str:
    """Return a search path, by default the server's, without what is relative or lies in the workspace."""
    home = os.path.realpath(workspace)
    given = os.environ.get("PATH", os.defpath) if path is None else path
    places = [place for place in given.split(os.pathsep) if os.path.isabs(place)]
    return os.pathsep.join(place for place in places if not within(os.path.realpath(place), home))


def find_outside(name: str, workspace: str, path: str | None = None) -> str | None:
    """Return the path of a program that is not in the workspace, also not behind a link; None if there is none."""
    home = os.path.realpath(workspace)
    for place in path_outside(workspace, path).split(os.pathsep):
        found = shutil.which(name, path=place) if place else None
        if found is not None and not within(os.path.realpath(found), home):
            return found
    return None
