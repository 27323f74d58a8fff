"""Undoing what agents wrote, refused where a file has changed since."""

from fourhands.core.call import Actor
from fourhands.core.errors import Conflict, NotFound
from fourhands.workbench.events import FileChanged
from fourhands.workbench.files.diff import unified
from fourhands.workbench.files.replacement import ABSENT, Written
from fourhands.workbench.files.workspace import Workspace
from fourhands.workbench.layout.undo import InvertStep
from fourhands.workbench.workbench import Workbench


def tell_editor(bench: Workbench, path: str, version: str | None) -> None:
    """Tell a file's editor, and all clients, that the file has another version now."""
    if any(editor.path == path for editor in bench.state.editors()):
        bench.state.set_version(path, version)
    bench.events.emit(FileChanged(path=path, version=version))


def swap(bench: Workbench, path: str, other: bytes | None, mine: bytes | None, version: str) -> InvertStep:
    """Return the inverse of a write; called again it is the redo. Refused if the file has changed since."""
    files = bench.files(Actor.person())

    async def invert() -> None:
        def exchange() -> str:
            try:
                if other is None:
                    files.remove(path, expected_version=version)
                    return ABSENT
                return files.write(path, other, expected_version=version).version
            except (Conflict, NotFound) as error:
                raise _changed_since(files, path, mine) from error

        def told(now: str) -> None:
            nonlocal other, mine, version
            version, other, mine = now, mine, other
            tell_editor(bench, path, version)

        await bench.writes.do(exchange, told)

    return invert


def cut(bench: Workbench, data: bytes, written: Written) -> InvertStep:
    """Return the inverse of adding `data`; called again it adds it once more. Only the added text is kept for this."""
    files = bench.files(Actor.person())
    path, there, added = written.path, written.version, True

    async def invert() -> None:
        def exchange() -> str:
            try:
                if added and written.created:
                    files.remove(path, expected_version=there)
                    return ABSENT
                return files.splice(path, b"" if added else data, keep=written.kept, expected_version=there).version
            except (Conflict, NotFound) as error:
                hint = "take the added text away by hand, or revert the whole file"
                raise Conflict(f"{path} has been changed since", hint=hint, path=path) from error

        def told(now: str) -> None:
            nonlocal there, added
            there, added = now, not added
            tell_editor(bench, path, now)

        await bench.writes.do(exchange, told)

    return invert


def _changed_since(files: Workspace, path: str, mine: bytes | None) -> Conflict:
    """Return the refusal to overwrite a later change, with the text that would be lost."""
    now = files.held(path)
    return Conflict(
        f"{path} has been {'deleted' if now is None else 'changed'} since",
        hint="the diff shows what would be lost: take the action back by hand, or revert the whole file",
        path=path,
        diff=unified(path, mine, now),
    )
