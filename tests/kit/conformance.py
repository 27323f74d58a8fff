"""What the official MCP conformance suite expects of a server by fixed names, as a contribution; and a way in for it.

The suite knows no tokens: `forwarding` opens a port of its own that passes everything on and adds one. It looks into
what passes by, too, so that a tool can wait until its client has been told something.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args
from fourhands.core.call import Call
from fourhands.core.errors import FourhandsError, NoAnswer
from fourhands.core.event import Event
from fourhands.core.question import Question
from fourhands.core.registry import Contribution
from fourhands.workbench.workbench import Workbench

tools = Contribution("openspace.tool")
prompts = Contribution("openspace.prompt")
resources = Contribution("openspace.probe")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

Part = dict[str, Any]
TEXT: Part = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE: Part = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO: Part = {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}
RESOURCE: Part = {
    "type": "resource",
    "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource."},
}


class Shown(Struct, frozen=True):
    """Content in MCP's form."""

    content: list[Part]


class Said(Struct, frozen=True):
    """A prompt's messages."""

    messages: list[Part]


class Text(Struct, frozen=True, rename="camel"):
    """A resource's text."""

    content: str
    mime_type: str = "text/plain"


class Blob(Struct, frozen=True, rename="camel"):
    """A resource's bytes."""

    blob: str
    mime_type: str = "image/png"


def _user(part: Part) -> Part:
    return {"role": "user", "content": part}


def _words(text: str) -> Part:
    return {"type": "text", "text": text}


# -- tools ----------------------------------------------------------------------------------------------------------


@tools.add("test_simple_text", read_only=True)
async def simple_text(bench: Workbench) -> Shown:
    """Return text."""
    return Shown([TEXT])


@tools.add("test_image_content", read_only=True)
async def image_content(bench: Workbench) -> Shown:
    """Return a picture."""
    return Shown([IMAGE])


@tools.add("test_audio_content", read_only=True)
async def audio_content(bench: Workbench) -> Shown:
    """Return sound."""
    return Shown([AUDIO])


@tools.add("test_embedded_resource", read_only=True)
async def embedded_resource(bench: Workbench) -> Shown:
    """Return a resource."""
    return Shown([RESOURCE])


@tools.add("test_multiple_content_types", read_only=True)
async def mixed(bench: Workbench) -> Shown:
    """Return text, a picture and a resource."""
    return Shown([TEXT, IMAGE, RESOURCE])


@tools.add("test_error_handling", read_only=True)
async def error_handling(bench: Workbench) -> Shown:
    """Fail."""
    raise FourhandsError("This tool intentionally returns an error for testing")


@tools.add("test_tool_with_logging", read_only=True)
async def with_logging(bench: Workbench, call: Call) -> Shown:
    """Make three events."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        bench.events.publish(Event(kind="probe.noted", data={"text": text}, actor=call.actor))
    return Shown([TEXT])


@tools.add("test_tool_with_progress", read_only=True)
async def with_progress(bench: Workbench) -> Shown:
    """Run until the client has heard of it three times."""
    await FORWARDERS[bench].answered(b"notifications/progress", 3)
    return Shown([TEXT])


@tools.add("test_reconnection", read_only=True)
async def reconnection(bench: Workbench) -> Shown:
    """Run on a stream that is never closed before its end."""
    return Shown([TEXT])


@tools.add("test_trigger_tool_change", read_only=True)
async def trigger_tool_change(bench: Workbench) -> Shown:
    """Change the list of tools."""
    bench.registry.include(_later(Contribution("openspace.tool")))()
    return Shown([TEXT])


@tools.add("test_trigger_prompt_change", read_only=True)
async def trigger_prompt_change(bench: Workbench) -> Shown:
    """Change the list of prompts."""
    bench.registry.include(_later(Contribution("openspace.prompt")))()
    return Shown([TEXT])


def _later(contribution: Contribution) -> Contribution:
    @contribution.add("test_later", read_only=True)
    async def later(bench: Workbench) -> Said:
        """Come and go."""
        return Said([_user(TEXT)])

    return contribution


class Message(Args, frozen=True, kw_only=True):
    """What to ask."""

    message: str = "Please confirm"


@tools.add("test_elicitation", read_only=True)
async def elicit(bench: Workbench, args: Message, call: Call) -> Shown:
    """Ask the person."""
    return await _ask(bench, args.message, call)


@tools.add("test_input_required_result_elicitation", read_only=True)
async def input_required(bench: Workbench, call: Call) -> Shown:
    """Ask the person."""
    return await _ask(bench, "What is your name?", call, id="user_name")


@tools.add("test_input_required_result_request_state", read_only=True)
async def request_state(bench: Workbench, call: Call) -> Shown:
    """Ask the person."""
    return await _ask(bench, "Please confirm", call)


@tools.add("test_input_required_result_tampered_state", read_only=True)
async def tampered_state(bench: Workbench, call: Call) -> Shown:
    """Ask the person."""
    return await _ask(bench, "Please confirm", call)


async def _ask(bench: Workbench, text: str, call: Call, id: str = "") -> Shown:
    question = Question(kind="confirmation", session=call.actor.id, text=text, options=("once", "deny"))
    answered = await bench.questions.ask(msgspec.structs.replace(question, id=id or question.id))
    return Shown([_words(f"User response: {answered.answer.choice}")])


class Region(Args, frozen=True, kw_only=True):
    """An argument that clients repeat in a header."""

    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})] = ""


@tools.add("test_x_mcp_header", read_only=True)
async def x_mcp_header(bench: Workbench, args: Region) -> Shown:
    """Take an argument that is also a header."""
    return Shown([TEXT])


Address = msgspec.defstruct("address", [("street", str, ""), ("city", str, "")])  # by this very name in the schema


class Person(Args, frozen=True, kw_only=True):
    """Arguments with a definition of their own."""

    name: str = ""
    address: Address | None = None  # type: ignore[valid-type]  # made at run time


@tools.add("json_schema_2020_12_tool", read_only=True)
async def json_schema(bench: Workbench, args: Person) -> Shown:
    """Take arguments whose schema has definitions."""
    return Shown([TEXT])


# -- tasks ----------------------------------------------------------------------------------------------------------


class Greeted(Args, frozen=True, kw_only=True):
    """Whom to greet."""

    name: str


class Computed(Args, frozen=True, kw_only=True):
    """How long to take."""

    seconds: float
    label: str = ""


class Deleted(Args, frozen=True, kw_only=True):
    """What to ask about."""

    filename: str


@tools.add("greet", read_only=True)
async def greet(bench: Workbench, args: Greeted) -> Shown:
    """Be no task."""
    return Shown([_words(f"Hello, {args.name}!")])


@tools.add("slow_compute", read_only=True, lasting=True)
async def slow_compute(bench: Workbench, args: Computed) -> Shown:
    """Take as long as the suite wants."""
    await asyncio.sleep(args.seconds)
    return Shown([TEXT])


@tools.add("failing_job", read_only=True, lasting=True)
async def failing_job(bench: Workbench) -> Shown:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise FourhandsError("This job always fails")


@tools.add("protocol_error_job", read_only=True, lasting=True)
async def protocol_error_job(bench: Workbench) -> Shown:
    """Fail by a mistake of its own."""
    await asyncio.sleep(1)
    raise ZeroDivisionError


@tools.add("confirm_delete", read_only=True, lasting=True)
async def confirm_delete(bench: Workbench, args: Deleted, call: Call) -> Shown:
    """Ask the person once it is a task; the suite's answer decides nothing, which is a result, too."""
    await asyncio.sleep(1)
    return await _ask(bench, f"Delete {args.filename}?", call)


@tools.add("multi_input", read_only=True, lasting=True)
async def multi_input(bench: Workbench, call: Call) -> Shown:
    """Ask the person twice at once."""
    await asyncio.sleep(1)
    both = [_ask(bench, text, call) for text in ("Your name?", "Sure?")]
    told = await asyncio.gather(*both, return_exceptions=True)
    return Shown([_words(str(one)) for one in told])


@tools.add("test_tool_with_task", read_only=True, lasting=True)
async def with_task(bench: Workbench, call: Call) -> Shown:
    """Ask the person first, and be a task then."""
    with contextlib.suppress(NoAnswer):
        await _ask(bench, "What is your name?", call, id="user_name")
    await asyncio.sleep(1)
    return Shown([TEXT])


# -- prompts --------------------------------------------------------------------------------------------------------


class Two(Args, frozen=True, kw_only=True):
    """Two words."""

    arg1: str
    arg2: str


class Uri(Args, frozen=True, kw_only=True):
    """A resource."""

    resource_uri: str


@prompts.add("test_simple_prompt", read_only=True)
async def simple_prompt(bench: Workbench) -> Said:
    """Say something."""
    return Said([_user(_words("This is a simple prompt for testing."))])


@prompts.add("test_prompt_with_arguments", read_only=True)
async def prompt_with_arguments(bench: Workbench, args: Two) -> Said:
    """Say two words."""
    return Said([_user(_words(f"Prompt with arguments: arg1='{args.arg1}', arg2='{args.arg2}'"))])


@prompts.add("test_prompt_with_embedded_resource", read_only=True)
async def prompt_with_resource(bench: Workbench, args: Uri) -> Said:
    """Say something of a resource."""
    inner = {"uri": args.resource_uri, "mimeType": "text/plain", "text": "Embedded resource content for testing."}
    return Said([_user({"type": "resource", "resource": inner}), _user(_words("Please process it."))])


@prompts.add("test_input_required_result_prompt", read_only=True)
async def prompt_that_asks(bench: Workbench, call: Call) -> Said:
    """Ask the person first; the suite's answer decides nothing, which is said."""
    try:
        [part] = (await _ask(bench, "What context should the prompt use?", call, id="user_context")).content
    except NoAnswer as error:
        part = _words(error.message)
    return Said([_user(part)])


@prompts.add("test_prompt_with_image", read_only=True)
async def prompt_with_image(bench: Workbench) -> Said:
    """Say something of a picture."""
    return Said([_user(IMAGE), _user(_words("Please analyze the image above."))])


# -- resources ------------------------------------------------------------------------------------------------------


class Id(Args, frozen=True, kw_only=True):
    """A part of a URI."""

    id: str


@resources.add("static_text", read_only=True, uri="test://static-text")
async def static_text(bench: Workbench) -> Text:
    """A text."""
    return Text("This is the content of the static text resource.")


@resources.add("static_binary", read_only=True, uri="test://static-binary")
async def static_binary(bench: Workbench) -> Blob:
    """A picture."""
    return Blob(PIXEL)


@resources.add("watched", read_only=True, uri="test://watched-resource")
async def watched(bench: Workbench) -> Text:
    """Something that may change."""
    return Text("watched")


@resources.add("template", read_only=True, uri="test://template/{id}/data")
async def template(bench: Workbench, args: Id) -> Text:
    """One of many."""
    return Text(f'{{"id":"{args.id}","templateTest":true}}', "application/json")


CONTRIBUTIONS = (tools, prompts, resources)


# -- the way in -----------------------------------------------------------------------------------------------------


FORWARDERS: dict[Workbench, "Forwarder"] = {}
"""Those that are open: a tool knows no way to its client."""


class Forwarder:
    """Passes connections on to a server with a token in each request, and keeps the end of what was answered."""

    def __init__(self, target: int, token: str) -> None:
        self._target = target
        self._line = f"authorization: Bearer {token}\r\n\r\n".encode()
        self._answered = b""
        self._more = asyncio.Event()

    async def answered(self, text: bytes, times: int) -> None:
        """Wait until the answers of late held a text so many times."""
        while self._answered.count(text) < times:
            self._more.clear()
            await self._more.wait()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        own = writer.get_extra_info("sockname")[1]
        inner, outer = await asyncio.open_connection("127.0.0.1", self._target)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            async with asyncio.TaskGroup() as group:
                answers = group.create_task(self._answers(inner, writer))
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    while head := await reader.readuntil(b"\r\n\r\n"):
                        self._answered = b""
                        # Its own address only: what else a Host or an Origin says is for the server to judge.
                        head = head.replace(b":%d\r\n" % own, b":%d\r\n" % self._target)
                        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
                        body = await reader.readexactly(int(length[1])) if length else b""
                        outer.write(head.removesuffix(b"\r\n") + self._line + body)
                        await outer.drain()
                answers.cancel()
        outer.close()
        writer.close()

    async def _answers(self, inner: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await inner.read(65536):
            self._answered = (self._answered + data)[-65536:]
            self._more.set()
            writer.write(data)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def forwarding(bench: Workbench, target: int, token: str) -> AsyncIterator[str]:
    """The address of a way in to a server for a client without a token."""
    forwarder = FORWARDERS[bench] = Forwarder(target, token)
    server = await asyncio.start_server(forwarder.connection, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        del FORWARDERS[bench]
