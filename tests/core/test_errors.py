from fourhands.core.errors import NotFound


def test_what_is_missing_is_named_with_what_is_there_and_the_nearest() -> None:
    error = NotFound.of("pane", "mian", ["side", "main"])
    assert error.message == "no pane 'mian'"
    assert error.hint == "did you mean 'main'? panes here: main, side"
    assert NotFound.of("pane", "x", []).hint == "panes here: none"


def test_of_many_the_nearest_are_named() -> None:
    names = [f"openspace.agent.verb{n:02}" for n in range(40)] + ["openspace.file.read", "openspace.file.write"]
    hint = NotFound.of("command", "openspace.file.raed", names).hint
    assert hint.startswith(
        "did you mean 'openspace.file.read'? commands here: openspace.file.read, openspace.file.write"
    )
    assert hint.endswith(" more")
    far = NotFound.of("command", "???", names).hint
    assert far.startswith("commands here: openspace.agent.verb00, ")
    assert far.endswith("openspace.agent.verb19 and 22 more")
