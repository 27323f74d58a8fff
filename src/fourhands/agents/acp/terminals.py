"""ACP's terminals on ours: terminal/create, output, wait_for_exit, kill and release, for agents and for editors.

An id is the terminal's own. What runs is decided by the gate, like everything else: the answer to create is held until
then. Release makes the id invalid at once, ends what runs and answers those who wait; the terminal stays on screen
until its session ends. Used by the client (`agents/acp/connector.py`) and by `fourhands acp` (`surfaces/acp.py`).
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from fourhands.agents.acp.approvals import Approvals
from fourhands.agents.acp.errors import decode_params, rpc_failure
from fourhands.agents.acp.jsonrpc import RpcHandler
from fourhands.core.call import Call
from fourhands.core.errors import BadEnv, FourhandsError, NotFound
from fourhands.core.event import Event
from fourhands.core.quote import broken
from fourhands.workbench.sessions import Session
from fourhands.workbench.terminals.events import TerminalClosed
from fourhands.workbench.terminals.handle import Exit, TerminalHandle
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.terminals.seat import AgentSeat, Slice
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

DEFAULT_LIMIT = 1 << 20
"""Bytes of output when the caller names no limit."""


@dataclass(frozen=True, slots=True)
class AcpContext:
    """The meaning of an ACP session id: an agent session of ours, with its working directory."""

    session: Session


class EnvVariable(Struct, frozen=True):
    """One environment variable."""

    name: str
    value: str


class CreateRequest(Struct, frozen=True, rename="camel"):
    """Params of terminal/create."""

    session_id: str
    command: str
    args: list[str] | None = None
    env: list[EnvVariable] | None = None
    cwd: str | None = None
    output_byte_limit: Annotated[int, Meta(ge=0)] | None = None


class Named(Struct, frozen=True, rename="camel"):
    """Params of the other methods."""

    session_id: str
    terminal_id: str


@dataclass(slots=True)
class _Held:
    """A terminal whose id is valid for a session."""

    session_id: str
    terminal: TerminalHandle
    seat: AgentSeat
    limit: int
    final: tuple[str, bool] | None = None  # its output, once the terminal was closed


class AcpTerminals:
    """The terminals of one ACP connection. `resolve` finds a session by its ACP id or raises `UnknownSession`."""

    def __init__(
        self, bench: Workbench, resolve: Callable[[str], AcpContext], allowed: Approvals | None = None
    ) -> None:
        self._bench = bench
        self._resolve = resolve
        self._allowed = allowed or Approvals(bench)
        self._held: dict[str, _Held] = {}
        self._forget = bench.events.published.subscribe(self._happened)

    @property
    def methods(self) -> dict[str, RpcHandler]:
        """The terminal methods of ACP, by name, for a peer to serve."""
        return {
            "terminal/create": self.create,
            "terminal/output": self.output,
            "terminal/wait_for_exit": self.wait_for_exit,
            "terminal/kill": self.kill,
            "terminal/release": self.release,
        }

    async def create(self, params: dict[str, Any]) -> dict[str, object]:
        """Run a program in a new terminal, once it may run, and answer its id without waiting for its end."""
        wanted = decode_params(params, CreateRequest)
        place = self._resolve(wanted.session_id)
        limit = wanted.output_byte_limit
        env = _variables(wanted.env or [])
        args: dict[str, object] = {
            "command": wanted.command,
            "env": env,
            "cwd": self._cwd(wanted.cwd, place),
        }
        if wanted.args:
            args["args"] = wanted.args
        if limit is not None:
            args["outputByteLimit"] = min(limit, 2**63 - 1)
        call = Call(command="openspace.terminal.exec", args=args, actor=place.session.actor, origin="acp")
        with self._allowed.answering(place.session, wanted.command, wanted.args, env):
            result = await self._bench.gate.run(call)
        if not result.success:
            raise rpc_failure(result)
        terminal = self._bench.terminal(str(result.data["terminalId"]))
        seat = self._bench.agent_seat(place.session.actor, terminal)
        self._held[terminal.id] = _Held(wanted.session_id, terminal, seat, DEFAULT_LIMIT if limit is None else limit)
        return {"terminalId": terminal.id}

    async def output(self, params: dict[str, Any]) -> dict[str, object]:
        """Answer what was printed so far, at most the limit, and how the program ended if it has."""
        held = self._named(params)
        end = held.terminal.exit  # before the text: what was printed before the end is then complete
        final = held.final
        text, truncated = _cut(await held.seat.tail(held.limit), held.limit) if final is None else final
        place = self._resolve(held.session_id)
        self._bench.gate.given.note(place.session.id, text, f"terminal {held.terminal.title}")
        answer: dict[str, object] = {"output": text, "truncated": truncated}
        return answer if end is None else {**answer, "exitStatus": _status(end)}

    async def wait_for_exit(self, params: dict[str, Any]) -> dict[str, object]:
        """Answer how the program ended, when it has."""
        held = self._named(params)
        future: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

        def ended(end: Exit) -> None:
            if not future.done():
                future.set_result(end)

        stop = held.terminal.on_exit(ended)
        try:
            return _status(await future)
        finally:
            stop()

    async def kill(self, params: dict[str, Any]) -> dict[str, object]:
        """End the program; the id stays valid."""
        held = self._named(params)
        await self._end(held, self._resolve(held.session_id))
        return {}

    async def release(self, params: dict[str, Any]) -> dict[str, object]:
        """Make the id invalid and end the program if it runs; its output stays on screen."""
        held = self._named(params)
        place = self._resolve(held.session_id)
        del self._held[held.terminal.id]
        await self._end(held, place)
        return {}

    async def sweep(self, session_id: str) -> None:
        """Forget the ids of a session that is over, or whose agent has gone, and end what still runs."""
        gone = [held for held in self._held.values() if held.session_id == session_id]
        for held in gone:
            del self._held[held.terminal.id]
        for held in gone:
            if held.terminal.exit is None:
                try:
                    await held.terminal.kill()
                except FourhandsError as error:
                    log.info("terminal %s could not be ended: %s", held.terminal.id, error)

    def close(self) -> None:
        """Forget all terminals, at the end of the connection."""
        self._held.clear()
        self._forget()

    async def _end(self, held: _Held, place: AcpContext) -> None:
        if held.terminal.exit is not None:
            return
        args: dict[str, object] = {"terminalId": held.terminal.id}
        call = Call(command="openspace.terminal.kill", args=args, actor=place.session.actor, origin="acp")
        result = await self._bench.gate.run(call)
        if not result.success and held.terminal.exit is None:
            raise rpc_failure(result)

    def _named(self, params: dict[str, Any]) -> _Held:
        named = decode_params(params, Named)
        self._resolve(named.session_id)
        held = self._held.get(named.terminal_id)
        if held is None or held.session_id != named.session_id:
            mine = [id for id, held in self._held.items() if held.session_id == named.session_id]
            raise NotFound.of("terminal", named.terminal_id[:100], mine)
        return held

    def _cwd(self, cwd: str | None, place: AcpContext) -> str:
        """Return an existing directory inside the workspace. Call it before the person is asked about the command."""
        if cwd is None:
            return self._bench.own_cwd(place.session)
        return resolve_cwd(cwd, self._bench.root, self._bench.settings.terminal.allowed_root, absolute=True)

    def _happened(self, event: Event) -> None:
        if isinstance(closed := event.payload, TerminalClosed):
            # Told before the terminal lets go of its log: the last chance to read it.
            held = self._held.get(closed.terminal_id)
            if held is not None:
                held.final = _cut(held.seat.tail_now(held.limit), held.limit)


def _cut(piece: Slice, limit: int) -> tuple[str, bool]:
    """Return the last bytes of a text, and True if something is missing before them."""
    text = broken(piece.text)
    kept = last_bytes(text, limit)
    return kept, piece.truncated or len(kept) < len(text)


def last_bytes(text: str, limit: int) -> str:
    """Return the end of a text: at most `limit` bytes of UTF-8, cut between characters."""
    if len(text) <= limit // 4:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    data = data[len(data) - limit :]
    return data.decode("utf-8", "ignore")  # of a whole text only the first character can be cut


def _variables(pairs: list[EnvVariable]) -> dict[str, str]:
    """Pairs as a mapping; a name that comes twice has its last value, as for a shell."""
    for pair in pairs:
        if "\0" in pair.name or "=" in pair.name or not pair.name:
            raise BadEnv(f"{pair.name!r:.100} is not a valid environment variable name")
    return {pair.name: pair.value for pair in pairs}


def _status(end: Exit) -> dict[str, object]:
    return {"exitCode": end.code, "signal": end.signal}
