"""The servers of models that the proxy forwards to: where they are, with which key, and whether they answer at all.

An upstream is a setting: `[upstreams.openai]`, `anthropic` or `gemini`; `chat` and `responses` may have one of their
own. Its key is read from the environment variable that the setting names, when it is needed. The way to it is the one
that the environment names (`upstream_proxy.py`). Redirects are answers like any other.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence

from fourhands.agents.models.breaker import Breaker
from fourhands.agents.models.connection import Headers, Response
from fourhands.agents.models.pool import DEFAULT, UpstreamLimits, UpstreamPool
from fourhands.core.errors import NotFound, Unsupported
from fourhands.providers.upstream_proxy import certificates, proxy_to
from fourhands.settings import UpstreamSettings

_KEY_HEADERS = {"openai": "authorization", "anthropic": "x-api-key", "gemini": "x-goog-api-key"}
_VERSION = re.compile(rb"/v[0-9]+[a-z0-9]*/?\Z")
_OURS = re.compile(rb"/v1(?:beta)?(?=/)")


class Upstream:
    """One upstream as one family of agents uses it."""

    def __init__(
        self,
        name: str,
        family: str,
        setting: UpstreamSettings,
        env: Mapping[str, str],
        *,
        now: Callable[[], float] = time.monotonic,
        limits: UpstreamLimits = DEFAULT,
    ) -> None:
        self.name = name
        self.breaker = Breaker(f"the model's server {name!r}", now=now)
        self.key_header = (setting.key_header or _KEY_HEADERS[family]).lower()
        self._setting = setting
        self._env = env
        import httpx  # late: most workbenches have no such server, and it is slow to load

        self._url = httpx.URL(setting.url)
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise Unsupported(
                f"upstreams.{name}.url is {setting.url!r}, which is not an address",
                hint="e.g. https://api.openai.com/v1",
            )
        self.pool = UpstreamPool(
            self._url,
            certificates(env) if self._url.scheme == "https" else None,
            connect_s=setting.connect_s,
            silence_s=setting.silence_s,
            proxy=proxy_to(self._url, env),
            limits=limits,
        )

    def target(self, path: bytes, query: bytes) -> bytes:
        """Return the request's path. A version at the end of the configured address replaces the one in `path`."""
        base = self._url.raw_path.partition(b"?")[0]
        if _VERSION.search(base):
            path = _OURS.sub(b"", path, count=1)
        whole = base.rstrip(b"/") + path
        return whole + b"?" + query if query else whole

    def key(self) -> Headers:
        """Return the header with our own key; none if the setting names no variable."""
        variable = self._setting.key_variable
        if not variable:
            return []
        key = self._env.get(variable, "").strip()
        if not key:
            raise Unsupported(
                f"the environment variable {variable} of upstreams.{self.name} is not set",
                hint="set it before Fourhands is started",
            )
        if not key.isprintable():
            raise Unsupported(
                f"the environment variable {variable} of upstreams.{self.name} is not a valid API key",
                hint="a key is one line of printable characters",
            )
        value = f"Bearer {key}" if self.key_header == "authorization" else key
        return [(self.key_header.encode(), value.encode("utf-8"))]

    async def send(
        self, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]], content: bytes
    ) -> Response:
        """Send a request and return its answer, of which only the head has been read; the caller closes it."""
        return await self.pool.send(method, target, [*headers, *self.key()], content)

    def close(self) -> None:
        """Close its connections."""
        self.pool.close()


class Upstreams:
    """All of them, each made when it is first needed."""

    def __init__(
        self,
        settings: Mapping[str, UpstreamSettings],
        env: Mapping[str, str],
        *,
        now: Callable[[], float] = time.monotonic,
        limits: UpstreamLimits = DEFAULT,
    ) -> None:
        self._limits = limits
        self._settings = settings
        self._env = env
        self._now = now
        self._remotes: dict[tuple[str, str], Upstream] = {}

    def find(self, family: str, dialect: str = "") -> Upstream:
        """Return the upstream for a dialect, or for its family."""
        name = dialect if dialect in self._settings else family
        if (remote := self._remotes.get((name, family))) is None:
            setting = self._settings.get(name)
            if setting is None:
                raise NotFound(
                    f"no model server is configured for {dialect or family}",
                    hint=f"give its address in the settings, as url in [upstreams.{family}]",
                )
            remote = Upstream(name, family, setting, self._env, now=self._now, limits=self._limits)
            self._remotes[name, family] = remote
        return remote

    def close(self) -> None:
        """Close all connections."""
        remotes, self._remotes = self._remotes, {}
        for remote in remotes.values():
            remote.close()
