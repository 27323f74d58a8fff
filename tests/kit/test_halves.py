"""Coverage data is whole, or it is left out."""

from pathlib import Path

import pytest
from coverage import CoverageData
from coverage.data import combine_parallel_data
from tests.kit.halves import is_whole, remove_halves


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / ".coverage.vm.1"
    data = CoverageData(str(path))
    data.add_arcs({f"/{n}.py": {(line, line + 1) for line in range(200)} for n in range(20)})
    data.write()
    data.close()
    return path


def test_whole_data_stays(whole: Path) -> None:
    assert is_whole(whole)
    assert remove_halves(whole.parent) == []
    assert whole.exists()


def test_what_was_cut_off_or_has_a_hole_is_removed_and_the_rest_can_be_put_together(whole: Path) -> None:
    content = whole.read_bytes()
    hole = bytearray(content)
    middle = len(content) // 8192 * 4096
    hole[middle : middle + 4096] = bytes(4096)
    (whole.parent / ".coverage.vm.2").write_bytes(content[: len(content) // 2])
    (whole.parent / ".coverage.vm.3").write_bytes(hole)
    (whole.parent / ".coverage.vm.4").write_bytes(b"no database")
    assert sorted(remove_halves(whole.parent)) == [".coverage.vm.2", ".coverage.vm.3", ".coverage.vm.4"]
    together = CoverageData(str(whole.parent / ".coverage"))
    combine_parallel_data(together)
    assert len(together.measured_files()) == 20
    together.close()
