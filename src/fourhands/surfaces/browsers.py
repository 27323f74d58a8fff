"""Browsers that are signed in: a cookie, a key in the page's storage, and the public half of a key that signs.

A browser exchanges a one-time code, which is stored nowhere. Cookie and key open the workbench only together, because
a browser sends a host's cookies to every port of it, also to the development server that an agent started. What needs
the person's hand is signed besides: the private half cannot leave the browser (a WebCrypto key that is not
extractable), so that reading our files, or copying a cookie, answers no question.

The file has hashes and public keys, each entry under a MAC: reading it is worth nothing, and an entry that another
program wrote or altered is refused and logged. The MAC's key is in no file. The terminals' host keeps it in memory
(`host/keeping.py`), so that a restart of the server signs no browser out; the end of the host does.
"""

import base64
import binascii
import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.errors import BadArgument, Denied
from fourhands.surfaces import es256

log = logging.getLogger(__name__)

_NAMED = (("Firefox", "Firefox"), ("Edg", "Edge"), ("OPR", "Opera"), ("Chrome", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac", "CrOS", "Linux")


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The lifetimes of codes and browsers, and the number of browsers."""

    code_s: float = 600.0
    """The life of a one-time code."""

    browser_s: float = 30 * 86400.0
    """The life of a browser's cookie and key."""

    browsers: int = 100
    """Signed-in browsers; one more, and the one that signed in first is signed out."""

    confirm_s: float = 120.0
    """The time in which a signed-in browser can allow a further one."""


DEFAULT = TokenLimits()


def digest(secret: str) -> str:
    """Return the hash that is stored and compared instead of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class Browser(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A browser that is signed in; without a public key it can work, but not sign."""

    id: str
    name: str
    cookie: str
    key: str
    expires: float
    public: str = ""  # the raw point, base64url
    seal: str = ""  # which key of a MAC it was sealed with
    mac: str = ""

    @property
    def told(self) -> str:
        """Its name and id, for people and for the journal."""
        return f"{self.name} ({self.id})"

    def signed(self, text: bytes, signature: str) -> bool:
        """Return True if this browser's key signed the text."""
        return bool(self.public) and es256.verify(_bytes(self.public), text, _bytes(signature))


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The browser that has signed in, with the cookie and the key that only it gets."""

    browser: Browser
    cookie: str
    key: str


class Browsers:
    """The browsers of one server, and the codes that more of them may come with."""

    def __init__(
        self, path: Path, seal: bytes, limits: TokenLimits = DEFAULT, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = AtomicFile(path)
        self._seal = seal
        self._seal_id = hashlib.sha256(b"id of " + seal).hexdigest()[:16]
        self._limits = limits
        self._clock = clock
        self._codes: dict[str, float] = {}
        self.altered = 0
        """Entries of the file that are not as they were sealed: another program wrote or changed them."""
        self._browsers = self._load()

    def __iter__(self) -> Iterator[Browser]:
        now = self._clock()
        return iter([browser for browser in self._browsers.values() if browser.expires > now])

    def new_code(self) -> str:
        """Return a code that one browser can exchange, once, within ten minutes."""
        now = self._clock()
        self._codes = {code: expires for code, expires in self._codes.items() if expires > now}
        code = secrets.token_urlsafe(16)
        self._codes[digest(code)] = now + self._limits.code_s
        return code

    def take_code(self, code: str) -> None:
        """Use up a code; `Denied` if it is wrong, used or expired."""
        if self._codes.pop(digest(code), 0.0) < self._clock():
            raise Denied("this link has expired or was already used", hint="run `fourhands open` for a fresh one")

    def knows(self, public: str) -> bool:
        """Return True if a browser with this public key is signed in: who comes with it again is no further one."""
        return bool(public) and any(hmac.compare_digest(browser.public, public) for browser in self)

    def proves(self, public: str, text: str, signature: str) -> bool:
        """Return True if the private half of this public key signed the text."""
        return es256.verify(_bytes(public), text.encode(), _bytes(signature))

    async def sign_in(self, name: str, public: str) -> SignedIn:
        """Sign a browser in, which has shown a code."""
        cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        known = [browser for browser in self if not public or browser.public != public][-self._limits.browsers + 1 :]
        expires = self._clock() + self._limits.browser_s
        new = Browser(secrets.token_hex(4), name, digest(cookie), digest(key), expires, public, self._seal_id)
        new = msgspec.structs.replace(new, mac=self._mac(new))
        self._browsers = {browser.cookie: browser for browser in [*known, new]}
        await self._file.save(msgspec.json.encode(list(self._browsers.values())))
        return SignedIn(new, cookie, key)

    def find(self, cookie: str, key: str) -> Browser | None:
        """Return the browser of a cookie and a key; None unless they belong together."""
        browser = self._browsers.get(digest(cookie))
        if browser is None or browser.expires < self._clock() or not hmac.compare_digest(browser.key, digest(key)):
            return None
        return browser

    def _mac(self, browser: Browser) -> str:
        text = msgspec.json.encode(msgspec.structs.replace(browser, mac=""))
        return hmac.digest(self._seal, text, "sha256").hex()

    def _load(self) -> dict[str, Browser]:
        try:
            found = msgspec.json.decode(self._file.path.read_bytes(), type=list[Browser])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            log.warning("cannot read %s, so browsers have to sign in again: %s", self._file.path, error)
            return {}
        ours = [one for one in found if one.seal == self._seal_id]  # the others are of an earlier host
        sealed = [one for one in ours if hmac.compare_digest(one.mac.encode(), self._mac(one).encode())]
        self.altered = len(ours) - len(sealed)
        return {browser.cookie: browser for browser in sealed if browser.expires > self._clock()}


def checked_key(public: object) -> str:
    """Return a public key as a browser sends it (base64url of the raw point); refuse what is no point of the curve."""
    if not isinstance(public, str) or (public and es256.public_point(_bytes(public)) is None):
        raise BadArgument("publicKey is not a P-256 key", hint="base64url of the 65 bytes of the uncompressed point")
    return public


def browser_name(agent: str) -> str:
    """Return a browser's name for people, out of its User-Agent header."""
    name = next((name for mark, name in _NAMED if mark in agent), "Browser")
    system = next((system for system in _SYSTEMS if re.search(rf"\b{system}", agent)), "")
    return f"{name} on {system}" if system else name


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
