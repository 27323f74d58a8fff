"""A browser's key in Python: signs as the page does, for tests that need the person's hand without a browser."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

Message = dict[str, Any]


class Hand:
    """A P-256 key."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())

    @property
    def public(self) -> str:
        """The raw point, as a page sends it."""
        point = serialization.PublicFormat.UncompressedPoint
        return _text(self._private.public_key().public_bytes(serialization.Encoding.X962, point))

    def sign(self, text: str) -> str:
        """The signature of a text."""
        r, s = utils.decode_dss_signature(self._private.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return _text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def introduction(self, code: str) -> dict[str, str]:
        """The body with which a page signs in."""
        return {"code": code, "publicKey": self.public, "proof": self.sign(f"sign in with {code}")}

    def message(self, challenge: str, id: int, command: str, args: Message, seen: str = "") -> str:
        """A signed call as it goes over the socket."""
        call = {"challenge": challenge, "id": id, "command": command, "args": args, "seen": seen}
        text = json.dumps(call, ensure_ascii=False)
        return json.dumps({"signed": text, "signature": self.sign(text)}, separators=(",", ":"))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
