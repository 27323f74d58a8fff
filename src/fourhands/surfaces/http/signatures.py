"""Signed calls: a browser's key under the very text of a call, once, on one connection.

The text is the call as JSON, sent as it was signed, so that there is no second form of it to differ:
`{"challenge": …, "id": 7, "command": …, "args": {…}, "seen": …}`. The challenge is this connection's own and the ids of
signed calls only grow: nothing that was signed counts twice, or elsewhere. `seen` is what the person saw when they
answered a question; an answer to anything else does not count.
"""

import secrets

import msgspec

from fourhands.core.errors import Denied
from fourhands.surfaces.auth import Credential
from fourhands.workbench.workbench import Workbench

ANSWER = "openspace.workbench.answer"


class SignedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as it was signed."""

    challenge: str
    id: int
    command: str
    args: dict[str, object] = {}
    seen: str = ""


_decoder = msgspec.json.Decoder(SignedText)


class Signatures:
    """The signed calls of one connection."""

    def __init__(self, bench: Workbench, principal: Credential) -> None:
        self.challenge = secrets.token_urlsafe(24)
        self._bench = bench
        self._browser = principal.browser
        self._last = 0

    def read(self, text: str) -> SignedText:
        """Return the call of a signed text, whoever signed it; raises `msgspec.DecodeError` if it is none."""
        return _decoder.decode(text)

    def check(self, call: SignedText, text: str, signature: str) -> str:
        """Return the browser that signed this call, by name and id; `Denied` says what is wrong with the signature."""
        if self._browser is None:
            raise _refused("only a browser that is signed in can sign")
        if not self._browser.signed(text.encode(), signature):
            raise _refused("the signature is not by this browser's key")
        if not secrets.compare_digest(call.challenge.encode(), self.challenge.encode()):
            raise _refused("it was signed for another connection")
        if call.id <= self._last:
            raise _refused("it was signed before, for an earlier call")
        self._last = call.id
        if call.command == ANSWER:
            asked = next((one for one in self._bench.questions.open() if one.id == call.args.get("questionId")), None)
            if asked is not None and asked.seen != call.seen:
                raise _refused("the question is not the one that was shown")
        return self._browser.told


def _refused(why: str) -> Denied:
    return Denied(f"the signature of this call does not count: {why}", hint="reload the page and do it again")
