"""A whole server on loopback with a scripted model behind its proxy, and an agent's session that may act."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import anthropic
import httpx
import msgspec
import openai
from tests.kit.model import Model, Script
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import JournalEntry
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings, UpstreamSettings
from fourhands.surfaces.proxy.app import ProxyLimits
from fourhands.surfaces.server import Running, ServerLimits, serving
from fourhands.workbench.sessions import Session

KEY = "upstream-secret"


@dataclass
class Stage:
    """What a test of the proxy needs."""

    app: App
    server: Running
    model: Model
    session: Session
    token: str

    @property
    def url(self) -> str:
        return self.server.address.url

    @property
    def root(self) -> Path:
        return Path(self.app.bench.root)

    def openai(self, token: str = "") -> openai.AsyncOpenAI:
        client = openai.DefaultAsyncHttpxClient(verify=False)  # loading certificates takes longer than most tests
        return openai.AsyncOpenAI(
            base_url=f"{self.url}/v1", api_key=token or self.token, max_retries=0, http_client=client
        )

    def anthropic(self, token: str = "") -> anthropic.AsyncAnthropic:
        client = anthropic.DefaultAsyncHttpxClient(verify=False)
        return anthropic.AsyncAnthropic(
            base_url=self.url, api_key=token or self.token, max_retries=0, http_client=client
        )

    def raw(self, token: str = "") -> httpx.AsyncClient:
        headers = {"x-goog-api-key": token or self.token}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=40, trust_env=False, verify=False)

    def begin(self, name: str) -> tuple[Session, str]:
        """Another agent, that may act."""
        session = self.app.bench.begin_session(name, "proxy")
        self.app.gate.consent.grant(session.id)
        return session, self.server.tokens.issue(session.actor)

    async def journal(self, session: Session | None = None) -> list[JournalEntry]:
        """The calls of an agent, in order, when all are done."""
        session = session or self.session
        with self.app.events.subscribe(["call.finished"]) as events:
            while self.app.gate.pending(session.id):
                await anext(events)
        entries = await self.app.journal.query(session=session.id, limit=20_000)
        return sorted(entries, key=lambda entry: entry.number)

    async def ran(self, session: Session | None = None) -> list[str]:
        """The commands of an agent that succeeded, in order."""
        return [entry.call.command for entry in await self.journal(session) if entry.result and entry.result.success]


@contextlib.asynccontextmanager
async def stage(
    script: Script = (),
    *,
    upstream: str = "",
    key_header: str = "",
    settings: Settings | None = None,
    limits: ProxyLimits | None = None,
    places: WorkspaceDirs | None = None,
) -> AsyncIterator[Stage]:
    """Open one; `upstream` is another address than the scripted model's, `places` are those of an earlier one."""
    async with Model(script) as model:
        remote = UpstreamSettings(
            url=upstream or model.url, key_variable="MODEL_KEY", key_header=key_header, connect_s=40.0
        )
        remotes = dict.fromkeys(("openai", "anthropic", "gemini"), remote)
        settings = msgspec.structs.replace(settings or Settings(), upstreams=remotes)
        async with open_app(settings, places) as app:
            env = app.terminals.env
            assert isinstance(env, dict)
            env["MODEL_KEY"] = KEY
            server_limits = ServerLimits(proxy=limits or ProxyLimits())
            async with serving(app.bench, app.tasks, port=0, limits=server_limits) as server:
                session = app.bench.begin_session("robo", "proxy")
                app.gate.consent.grant(session.id)
                yield Stage(app, server, model, session, server.tokens.issue(session.actor))


def person_token(server: Running) -> str:
    """The person's own token."""
    return server.tokens.file.read_text().strip()
