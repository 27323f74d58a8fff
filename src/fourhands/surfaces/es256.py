"""ES256 (ECDSA on P-256 with SHA-256): checks the signatures that browsers make with WebCrypto; signs nothing.

Everything here is public (key, text, signature), so that the time it takes tells nothing. That is why these lines are
enough: the `cryptography` package is heavy, needs a compiler where it has no wheel, and would be there for this one
function. The tests compare both. The curve's numbers are those of FIPS 186-4, D.1.2.3.
"""

import hashlib

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

Point = tuple[int, int, int]
"""A point in Jacobian coordinates: x/z², y/z³; z is 0 for the point at infinity."""

_NONE: Point = (1, 1, 0)


def public_point(key: bytes) -> tuple[int, int] | None:
    """Return the point of a raw public key (65 bytes: 4, x, y); None if it is no point of the curve."""
    if len(key) != 65 or key[0] != 4:
        return None
    x, y = int.from_bytes(key[1:33], "big"), int.from_bytes(key[33:], "big")
    if x >= P or y >= P or (y * y - (x * x * x - 3 * x + B)) % P:
        return None
    return x, y


def verify(key: bytes, text: bytes, signature: bytes) -> bool:
    """Return True if the owner of this raw public key signed the text; the signature is r and s, 64 bytes."""
    point = public_point(key)
    if point is None or len(signature) != 64:
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not (0 < r < N and 0 < s < N):
        return False
    digest = int.from_bytes(hashlib.sha256(text).digest(), "big")
    inverse = pow(s, -1, N)
    x, _, z = _sum(digest * inverse % N, (*G, 1), r * inverse % N, (*point, 1))
    return z != 0 and x * pow(z, -2, P) % P % N == r


def _sum(a: int, p: Point, b: int, q: Point) -> Point:
    """Return a·p + b·q, both walked through together."""
    both, found = _add(p, q), _NONE
    for bit in range(255, -1, -1):
        found = _double(found)
        match a >> bit & 1, b >> bit & 1:
            case 1, 1:
                found = _add(found, both)
            case 1, 0:
                found = _add(found, p)
            case 0, 1:
                found = _add(found, q)
    return found


def _double(p: Point) -> Point:
    x, y, z = p
    if not z or not y:
        return _NONE
    delta, gamma = z * z % P, y * y % P
    beta, alpha = x * gamma % P, 3 * (x - delta) * (x + delta) % P
    x3 = (alpha * alpha - 8 * beta) % P
    return x3, (alpha * (4 * beta - x3) - 8 * gamma * gamma) % P, 2 * y * z % P


def _add(p: Point, q: Point) -> Point:
    (x1, y1, z1), (x2, y2, z2) = p, q
    if not z1:
        return q
    if not z2:
        return p
    z11, z22 = z1 * z1 % P, z2 * z2 % P
    u1, u2, s1, s2 = x1 * z22 % P, x2 * z11 % P, y1 * z2 * z22 % P, y2 * z1 * z11 % P
    if u1 == u2:
        return _double(p) if s1 == s2 else _NONE
    h, r = u2 - u1, s2 - s1
    h2 = h * h % P
    h3, v = h * h2 % P, u1 * h2 % P
    x3 = (r * r - h3 - 2 * v) % P
    return x3, (r * (v - x3) - s1 * h3) % P, h * z1 * z2 % P
