"""Our own MCP server as an ACP agent is given it with its session.

With it an agent that runs its shells itself can still use the shared terminals, and every command of the registry. By
HTTP where the agent says that it can: then it may also run as another user, who cannot join our sockets. Otherwise as
a command that the agent starts. Either way it works in the agent's own session, by a token of that session.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from fourhands.host.paths import WorkspaceDirs
from fourhands.workbench.sessions import Session

NAME = "fourhands"


class OwnServer:
    """Describes the server for `mcpServers`; `http` says whether the agent can reach it by HTTP."""

    def __init__(self, url: str, root: str, issue_token: Callable[[Session], str], env: Mapping[str, str]) -> None:
        self._url = url
        self._root = root
        self._issue_token = issue_token
        self._env = env
        self._tokens: dict[str, str] = {}  # an agent that is started anew keeps its token

    def __call__(self, session: Session, http: bool) -> list[dict[str, object]]:
        """Return the MCP servers of a session, over HTTP or as a command; its token is issued once."""
        if session.id not in self._tokens:
            self._tokens[session.id] = self._issue_token(session)
        token = self._tokens[session.id]
        inside, proxy = (session.place.url, session.place.proxy) if session.place is not None else ("", "")
        if http and not proxy:  # which not every client of MCP heeds; the command does
            headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
            return [{"type": "http", "name": NAME, "url": f"{inside or self._url}/mcp", "headers": headers}]
        variables = {"FOURHANDS_TOKEN": token}
        if inside:  # its state directory is not there
            variables |= {"FOURHANDS_URL": inside, **({"HTTP_PROXY": proxy} if proxy else {})}
        else:
            # Where the command finds this workbench: not every agent passes its environment on, or keeps its home.
            state = Path(WorkspaceDirs.of(self._root, self._env).state)
            variables["XDG_STATE_HOME"] = str(state.parent.parent)
        return [
            {
                "name": NAME,
                "command": sys.executable,
                "args": ["-P", "-m", "fourhands", "mcp", self._root],
                "env": [{"name": name, "value": value} for name, value in variables.items()],
            }
        ]
