"""Names inside a cell: whatever is asked, the answer comes at once and is well formed."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from fourhands.providers.egress.resolver import AddressBook, answer


def query(name: bytes, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b".") if label)
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def test_each_name_has_an_address_of_its_own_and_keeps_it() -> None:
    book = AddressBook()
    one, other = answer(query(b"a.example"), book), answer(query(b"b.example"), book)
    assert one is not None
    assert other is not None
    assert one[-4:] != other[-4:]
    assert answer(query(b"A.Example"), book) == one.replace(b"\x01a\x07example", b"\x01A\x07Example")
    assert book.name("198.18.0.1") == "a.example"


def test_other_kinds_have_no_record_and_localhost_is_this_cell() -> None:
    for kind in (28, 15, 16, 33, 65):
        reply = answer(query(b"a.example", kind), AddressBook())
        assert reply is not None
        assert struct.unpack_from(">HHHH", reply)[1] & 0xF == 0
        assert struct.unpack_from(">HHHH", reply)[3] == 0
    local = answer(query(b"x.localhost"), AddressBook())
    assert local is not None
    assert local[-4:] == bytes([127, 0, 0, 1])


def test_an_address_that_was_taken_back_is_not_given_to_the_next_name() -> None:
    book = AddressBook(names=2, addresses=5)
    given_out = [book.address(f"n{number}.example") for number in range(4)]
    assert len(set(given_out)) == 4
    assert book.name(given_out[0]) is None
    assert book.name(given_out[3]) == "n3.example"


@given(st.binary(max_size=300))
def test_garbage_is_answered_or_dropped_and_never_raises(data: bytes) -> None:
    book = AddressBook(names=4)
    reply = answer(data, book)
    assert reply is None or (reply[:2] == data[:2] and reply[2] & 0x80)
