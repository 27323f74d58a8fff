"""ACP's fs/read_text_file and fs/write_text_file: the workspace's files, through the registry and its gate.

A read includes what the person has typed and not saved, on the page or in an editor that shows the agent. A write is
refused if the file has changed since the same session read it, and can be undone. Everything is confined to the
workspace; files of the agent's further directories are read, and not written.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from fourhands.agents.acp.errors import decode_params, rpc_failure
from fourhands.agents.acp.jsonrpc import RpcHandler
from fourhands.agents.acp.terminals import AcpContext
from fourhands.commands.file_redaction import text_for
from fourhands.core.call import Call, Result
from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.core.quote import mended
from fourhands.providers.visibility import within
from fourhands.safety.paths.errors import BadPath
from fourhands.workbench.files.workspace import Workspace
from fourhands.workbench.workbench import Workbench


class ReadTextFile(Struct, frozen=True, rename="camel"):
    """Params of fs/read_text_file; lines count from 1, and 0 is taken for 1."""

    session_id: str
    path: str
    line: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=0)] | None = None


class WriteTextFile(Struct, frozen=True, rename="camel"):
    """Params of fs/write_text_file."""

    session_id: str
    path: str
    content: str


class AcpFiles:
    """The files of one ACP connection. `missing_is_empty`: some agents cannot take "not found" for an answer.

    `directories` gives the resolved ones besides the workspace whose files are read.
    """

    def __init__(
        self,
        bench: Workbench,
        resolve: Callable[[str], AcpContext],
        *,
        missing_is_empty: bool = False,
        directories: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._bench = bench
        self._resolve = resolve
        self._missing_is_empty = missing_is_empty
        self._directories = directories

    @property
    def methods(self) -> dict[str, RpcHandler]:
        """The methods that a connection serves."""
        return {"fs/read_text_file": self.read, "fs/write_text_file": self.write}

    async def read(self, params: dict[str, Any]) -> dict[str, object]:
        """Answer a file's text, or some lines of it, with what the person has not saved yet."""
        wanted = decode_params(params, ReadTextFile)
        place = self._resolve(wanted.session_id)
        path = self._inside(wanted.path)
        if (directory := self._further(path)) is not None:
            result = await self._read_further(place, directory, path)
            if not result.success:
                raise rpc_failure(result)
            return {"content": _lines(str(result.data["content"]), wanted.line, wanted.limit)}
        draft = self._draft(mended(path), place)
        if draft is None and (wanted.line is not None or wanted.limit is not None) and self._is_large(path, place):
            return {"content": await self._some(place, path, wanted)}
        result = await self._call_read(place, {"path": path})
        draft = self._draft(mended(path), place)
        if draft is None and (result.success or result.code == "not-found"):
            draft = await self._buffer(path, place)
        if draft is not None:  # the gate has not seen it: what it holds of blocks is quoted here
            draft = self._bench.gate.given.quote(place.session.id, draft, f"file {self._bench.relative(path)}")
        if result.success:
            text = str(result.data["content"]) if draft is None else draft
        elif result.code != "not-found":
            raise rpc_failure(result)
        elif draft is not None:
            text = draft
        elif self._missing_is_empty:
            text = ""
        else:
            raise rpc_failure(result)
        return {"content": _lines(text, wanted.line, wanted.limit)}

    async def _some(self, place: AcpContext, path: str, wanted: ReadTextFile) -> str:
        """Return some lines of a file that is too large to be read at once."""
        first = max(wanted.line or 1, 1)
        args: dict[str, object] = {"path": path, "startLine": first}
        if wanted.limit is not None:
            args["endLine"] = first + wanted.limit  # one more, so that the end of the last one is known
        result = await self._call_read(place, args)
        if not result.success:
            raise rpc_failure(result)
        return _lines(str(result.data["content"]), 1, wanted.limit)

    def _is_large(self, path: str, place: AcpContext) -> bool:
        files = self._bench.files(place.session.actor)
        try:
            return files.stat(path).size > files.settings.read_limit_bytes
        except FourhandsError:
            return False  # the call will say what is wrong

    async def _call_read(self, place: AcpContext, args: dict[str, object]) -> Result:
        call = Call(command="openspace.file.read", args=args, actor=place.session.actor, origin="acp")
        return await self._bench.gate.run(call)

    def _further(self, path: str) -> str | None:
        """Return the directory besides the workspace in which a path lies."""
        real = os.path.realpath(path) if "\0" not in path else path
        return next((one for one in self._directories() if within(real, one)), None)

    async def _read_further(self, place: AcpContext, directory: str, path: str) -> Result:
        """Read a file that no command reads, under the rules for agents; the journal has it like any other."""
        call = Call(command="openspace.file.read", args={"path": path}, actor=place.session.actor, origin="acp")
        files = Workspace(directory, settings=self._bench.files(call.actor).settings)
        try:
            await self._bench.gate.consent.require(call, "see")
            found = await asyncio.to_thread(files.read_text, os.path.realpath(path))
            if found.binary:
                raise BadArgument(f"{path!r} is a binary file of {found.size} bytes", hint="a program can look into it")
            text = await asyncio.to_thread(text_for, self._bench, call, found.text)
            result = Result(success=True, data={"content": text})
        except FourhandsError as error:
            result = Result.failure(error)
        return await self._bench.gate.record(call, result)

    async def write(self, params: dict[str, Any]) -> dict[str, object]:
        """Replace a file's text, or create it with the directories that are missing."""
        wanted = decode_params(params, WriteTextFile)
        place = self._resolve(wanted.session_id)
        args: dict[str, object] = {"path": self._inside(wanted.path), "content": wanted.content}
        call = Call(command="openspace.file.write", args=args, actor=place.session.actor, origin="acp")
        result = await self._bench.gate.run(call)
        if not result.success:
            raise rpc_failure(result)
        return {}

    def _inside(self, path: str) -> str:
        """Return an absolute path in our own spelling of the workspace; the command checks that it stays inside."""
        if not os.path.isabs(path):
            raise BadPath(f"the path must be absolute, not {path!r:.200}")
        root = self._bench.root
        if "\0" not in path and not path.startswith(root.rstrip("/") + "/"):
            resolved = os.path.realpath(path)  # the editor came here by a link, or by /tmp where that is one
            if resolved.startswith(root.rstrip("/") + "/"):
                return resolved
        return path

    def _draft(self, path: str, place: AcpContext) -> str | None:
        """Return the unsaved text of this file in an editor, under any spelling of its path."""
        try:
            name = self._bench.files(place.session.actor).stat(path).path
        except FourhandsError:
            name = self._bench.relative(os.path.normpath(path))
        draft = self._bench.state.draft(name)
        return None if draft is None else draft.text

    async def _buffer(self, path: str, place: AcpContext) -> str | None:
        """Return the unsaved text of this file in an editor that shows this agent, outside of the page."""
        reader = self._bench.buffers.get(place.session.id)
        text = await reader(path) if reader is not None else None
        if text is None:
            return None
        try:
            saved = await asyncio.to_thread(self._bench.files(place.session.actor).held, path)
        except FourhandsError:
            return None
        if saved is not None and saved.decode("utf-8", "replace") == text:
            return None
        return self._bench.redact(text)


def _lines(text: str, line: int | None, limit: int | None) -> str:
    if line is None and limit is None:
        return text
    first = max(line or 1, 1) - 1
    pieces = text.split("\n")
    ends = [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    return "".join(ends[first : None if limit is None else first + limit])
