"""Consent that outlives the server."""

import logging
from pathlib import Path

import pytest

from fourhands.workbench.records.consent import FileConsentStore


async def test_it_is_there_after_a_restart_with_its_scopes_and_forgotten_on_request(tmp_path: Path):
    file = tmp_path / "consent.json"
    before = FileConsentStore(file)
    before.remember("Ada", frozenset({"see", "run"}))
    await before.close()
    assert file.stat().st_mode & 0o777 == 0o600
    later = FileConsentStore(file)
    assert later.remembered("Ada") == {"see", "run"}
    assert later.remembered("Bob") == frozenset()
    later.forget("Ada")
    later.forget("Bob")
    await later.close()
    assert FileConsentStore(file).remembered("Ada") == frozenset()


@pytest.mark.parametrize("content", [b"[", b'["Ada"]', b'{"Ada": ["everything"]}', b'{"Ada": true}', b"\xff", b""])
def test_a_file_that_cannot_be_read_grants_nothing(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture):
    file = tmp_path / "consent.json"
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert FileConsentStore(file).remembered("Ada") == frozenset()
    assert "asked for again" in caplog.text
