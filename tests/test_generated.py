"""The generated pages of the manual are what the program says of itself now."""

import pytest
from scripts import reference
from scripts.reference import DOCS

from fourhands.app import CONTRIBUTIONS

pytestmark = pytest.mark.timeout(120)  # it reads the whole source, which a busy machine makes long


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", ["commands.md", "errors.md", "events.md", "limits.md", "sources.md"])
def test_the_page_is_up_to_date(name, pages):
    path = DOCS / name
    assert path.exists(), f"docs/{name} is missing: run make docs"
    assert path.read_text() == pages[name], f"docs/{name} is stale: run make docs"


def test_every_command_has_its_place(pages):
    text = pages["commands.md"]
    for contribution in CONTRIBUTIONS:
        for command in contribution.commands:
            assert f"### `{command.id}`\n" in text


def test_events_and_errors_that_everybody_knows_are_found(pages):
    for kind in ("pane.opened", "terminal.exited", "call.finished", "workbench.published", "manifest.changed"):
        assert f"| `{kind}` |" in pages["events.md"]
    for code in ("not-found", "denied", "no-answer", "bad-snapshot"):
        assert f"| `{code}` |" in pages["errors.md"]
