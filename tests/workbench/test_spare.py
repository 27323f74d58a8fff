import os
import subprocess
import sys

import pytest

from fourhands.workbench import spare

PROGRAM = "import sys; from fourhands.workbench import spare; print(spare.new_mark(), flush=True); sys.stdin.read()"


def test_a_mark_is_good_until_it_is_dropped() -> None:
    mark, other = spare.new_mark(), spare.new_mark()
    assert not spare.is_orphan(mark)
    spare.drop(mark)
    assert spare.is_orphan(mark)
    assert not spare.is_orphan(other)
    spare.drop(other)


def test_a_mark_of_another_process_is_good_as_long_as_it_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        mark = process.stdout.readline().strip()
        assert not spare.is_orphan(mark)
        process.kill()
    assert spare.is_orphan(mark)


@pytest.mark.parametrize("mark", [True, "", "x", "::", "0:0:0", "PID:1:x", "99999999999999:1:x", "-1:1:x", None, 5])
def test_what_is_no_mark_of_anybody_alive_is_an_orphans(mark: object) -> None:
    # Put in here and not above: workers that collect other names for the same test refuse to run any.
    if isinstance(mark, str):
        mark = mark.replace("PID", str(os.getpid()))
    assert spare.is_orphan(mark)
