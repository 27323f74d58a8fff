"""Programs of an agent outside its sandbox: how they are started once a person has allowed it, and the signs of need.

They run as the person, with their variables. Of the search path nothing remains that lies in the workspace: there an
agent could have put a program of its own under the name that the person has read.
"""

import os
import re
from collections.abc import Mapping

from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.providers.base import Isolation
from fourhands.providers.own_programs import path_outside
from fourhands.workbench.workbench import Workbench

PROVIDER = "local"
_LOOKED_AT = 4000
_SIGNS = re.compile(
    r"Read-only file system|Network is unreachable|Temporary failure in name resolution|Could not resolve host"
    r"|Cannot connect to the Docker daemon|docker\.sock|podman\.sock|connect: no such file or directory"
    r"|Failed to connect to bus|has not been booted with systemd|no new privileges|effective uid is not 0"
    r"|could not lock config file \S*|Could not open a connection to your authentication agent"
    r"|Permission denied \(publickey[^)\n]*\)|Host key verification failed|could not read Username for \S+"
    r"|gpg failed to sign the data|No such device|Invalid cross-device link"
)
_WEAKER = re.compile(r"Permission denied|Operation not permitted")
# Where files that run by themselves can be written, nothing of git's may run that an agent has put there.
_NO_HOOKS = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
}


def variables(bench: Workbench, changes: Mapping[str, str | None], provider: str) -> dict[str, str | None]:
    """Return the changes to the person's variables for a program of an agent of this provider."""
    path = path_outside(bench.root, bench.terminals.env.get("PATH") or os.defpath)
    weaker = getattr(bench.terminals.providers.get(provider), "weaker", False)
    return {"PATH": path, **(_NO_HOOKS if weaker else {}), **changes}


def note(bench: Workbench, call: Call, effects: Effects, isolation: str, exit_code: int | None, output: str) -> str:
    """Return where a failed program may have met the edge of its sandbox, and what to do; empty if it shows no sign."""
    if call.session is None or isolation == Isolation.NONE or not exit_code:
        return ""
    seen = output[-_LOOKED_AT:]
    session = bench.session(call)
    name = bench.agent_settings(session).provider if session is not None else PROVIDER
    found = _SIGNS.search(seen)
    if found is None and getattr(bench.terminals.providers.get(name), "weaker", False):
        found = _WEAKER.search(seen)
    if found is None:
        return ""
    effects.edge = True
    return (
        f"it may have failed at the edge of the sandbox ({found.group()[:80]}); if it has to run outside, "
        "openspace.terminal.run_outside asks the person"
    )
