"""The difference of an overlay, read from directories that a program has left as it liked."""

import os
import textwrap
from pathlib import Path

from tests.kit.plain_user import PYTHON, plain_user

from fourhands.workbench.rehearsal.difference import DifferenceLimits, TreeDifference, read_difference, usage
from fourhands.workbench.rehearsal.listing import listing

READ = textwrap.dedent(
    """
    import sys
    from fourhands.workbench.rehearsal.difference import read_difference
    found = read_difference(sys.argv[1], sys.argv[2], 1e12)
    print(found.too_much, [(one.path.decode(), one.kind, one.clash) for one in found.changes])
    """
)


def test_a_plain_user_reads_what_a_program_has_closed() -> None:
    with plain_user() as someone:
        someone.run("mkdir -p root upper/closed/deep; echo x > upper/closed/deep/f; echo y > upper/closed/g")
        someone.run("chmod 0 upper/closed/deep upper/closed/g; chmod 0 upper/closed")
        script = someone.write("read.py", READ)
        told = someone.run(f"{PYTHON} {script} root upper")
    deep, shut = ("closed/deep/f", "created", ""), ("closed/g", "created", "it cannot be read")
    assert told == f" {[deep, shut]}\n"


def trees(place: Path) -> tuple[Path, Path]:
    root, upper = place / "root", place / "upper"
    root.mkdir()
    upper.mkdir()
    return root, upper


def read(root: Path, upper: Path, **limits: int) -> TreeDifference:
    return read_difference(str(root), str(upper), 1e12, DifferenceLimits(**limits))


def test_too_deep_too_many_and_too_large_are_said_and_not_read_on(tmp_path: Path) -> None:
    root, upper = trees(tmp_path)
    deep = upper.joinpath(*["d"] * 30)
    deep.mkdir(parents=True)
    assert "deeper than 20" in read(root, upper, depth=20).too_much
    (upper / "big").write_bytes(b"x" * 5000)
    assert "more than 0 MB" in read(root, upper, bytes=4000).too_much
    assert "more than 10 files" in read(root, upper, entries=10).too_much
    [change] = read(root, upper, file_bytes=4000).changes
    assert change.clash == "it is larger than 0 MB"
    assert usage([str(upper)], 10)[1] == 11
    assert usage([str(upper)], 1000)[0] >= 4096


def test_links_in_the_way_lead_nowhere(tmp_path: Path) -> None:
    root, upper = trees(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (root / "way").symlink_to(tmp_path / "outside")
    (upper / "way").mkdir()
    (upper / "way" / "secret").write_text("mine")
    found = read(root, upper)
    assert sorted((one.path, one.kind) for one in found.changes) == [(b"way", "deleted"), (b"way/secret", "created")]
    rows = listing(str(root), str(upper), found).rows
    assert "secret" not in "".join(row.diff for row in rows if row.path == "way/secret").replace("way/secret", "")


def test_a_long_list_is_cut_and_names_are_shown_as_they_can_be_read(tmp_path: Path) -> None:
    root, upper = trees(tmp_path)
    for number in range(400):
        (upper / f"{number}").write_text("x")
    Path(os.fsdecode(os.fsencode(upper) + b"/0-\xff\x1b[2J")).write_text("x")
    shown = listing(str(root), str(upper), read(root, upper))
    assert (len(shown.rows), shown.left_out, shown.counts) == (300, 101, {"created": 401})
    assert all(row.path.isprintable() for row in shown.rows)
