from fourhands.core.effects import Effects


async def test_effects_keep_what_was_before_and_the_inverses_in_order():
    kept: list[tuple[str, bytes | None]] = []
    undone: list[str] = []

    async def keep(path: str, content: bytes | None) -> None:
        kept.append((path, content))

    async def first() -> None:
        undone.append("first")

    async def second() -> None:
        undone.append("second")

    effects = Effects(keep)
    await effects.before("new.txt", None)
    effects.undo("remove new.txt", first)
    effects.undo("close the pane", second)
    for undo in reversed(effects.undos):
        await undo.inverse()
    assert kept == [("new.txt", None)]
    assert undone == ["second", "first"]
    assert [undo.description for undo in effects.undos] == ["remove new.txt", "close the pane"]
