"""The page's types are those of the Python structs."""

from scripts.wire_types import TARGET, generate


def test_the_types_of_the_page_are_up_to_date() -> None:
    assert TARGET.read_text() == generate(), "stale: run `make types`"


def test_commands_name_their_arguments_and_results() -> None:
    text = generate()
    assert '"openspace.editor.open": { args: OpenEditor; result: EditorOpened };' in text
    assert "  startLine: number;" in text
    assert '  kind: "split";' in text
