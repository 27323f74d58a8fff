"""Signatures of browsers, beside those of a library that everyone trusts."""

import hashlib
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fourhands.surfaces import es256


def made(text: bytes, seed: int) -> tuple[bytes, bytes]:
    """A raw public key and a raw signature."""
    private = ec.derive_private_key(seed, ec.SECP256R1())
    point = private.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    r, s = utils.decode_dss_signature(private.sign(text, ec.ECDSA(hashes.SHA256())))
    return point, r.to_bytes(32, "big") + s.to_bytes(32, "big")


def seeds() -> list[int]:
    """Private keys at the edges (the generator itself, its negative) and in between."""
    spread = [int.from_bytes(hashlib.sha256(bytes([n])).digest(), "big") % (es256.N - 1) + 1 for n in range(40)]
    return [1, 2, 3, es256.N - 1, es256.N - 2, *spread]


def test_what_a_library_signs_is_accepted_and_nothing_else() -> None:
    for seed in seeds():
        text = f"answer {seed}".encode()
        key, signature = made(text, seed)
        assert es256.verify(key, text, signature), seed
        assert not es256.verify(key, text + b".", signature), seed
        assert not es256.verify(made(text, seed % 1000 + 5)[0], text, signature), seed
        for at in (0, 31, 32, 63):
            bent = bytearray(signature)
            bent[at] ^= 1
            assert not es256.verify(key, text, bytes(bent)), (seed, at)


def test_the_published_example_is_accepted() -> None:
    # RFC 6979, A.2.5: P-256, SHA-256, message "sample".
    key = bytes.fromhex(
        "0460FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
        "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"
    )
    signature = bytes.fromhex(
        "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
        "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
    )
    assert es256.verify(key, b"sample", signature)
    assert not es256.verify(key, b"test", signature)


@pytest.mark.parametrize("r", [0, es256.N, 2**256 - 1])
def test_numbers_out_of_range_are_refused(r: int) -> None:
    key, signature = made(b"x", 7)
    wide = r.to_bytes(32, "big")
    assert not es256.verify(key, b"x", wide + signature[32:])
    assert not es256.verify(key, b"x", signature[:32] + wide)
    assert not es256.verify(key, b"x", wide + wide)


def test_a_key_that_is_no_point_of_the_curve_is_refused() -> None:
    key, signature = made(b"x", 7)
    beside = key[:64] + bytes([key[64] ^ 1])
    too_large = b"\x04" + es256.P.to_bytes(32, "big") + key[33:]
    for bad in (b"", key[:-1], b"\x02" + key[1:], beside, too_large, b"\x04" + bytes(64)):
        assert es256.public_point(bad) is None
        assert not es256.verify(bad, b"x", signature)
    assert not es256.verify(key, b"x", signature[:-1])


def test_a_signature_is_checked_before_a_person_notices() -> None:
    key, signature = made(b"x", 7)
    began = time.perf_counter()
    for _ in range(10):
        es256.verify(key, b"x", signature)
    assert (time.perf_counter() - began) / 10 < 0.5
