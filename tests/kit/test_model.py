"""The scripted model is worth something only if real clients take it for a real one."""

import asyncio
import json
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.kit.model import Answer, Model, Request, Tool

FULL = Answer(text=["Hel", "lo ", "wörld"], thinking="hm", tools=[Tool("bash", {"command": "ls"}, id="call_7")])
ASK: Any = [{"role": "user", "content": "hi"}]


def gpt(model: Model) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="none", max_retries=0)


def claude(model: Model) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=model.url, api_key="none", max_retries=0)


@pytest.mark.parametrize("chunk", [None, 1, 50])
async def test_chat_completions_stream_to_the_official_client(chunk):
    script = [Answer(**{**vars(FULL), "chunk": chunk})]
    async with Model(script) as model, gpt(model) as client:
        options: Any = {"include_usage": True}
        stream = await client.chat.completions.create(model="fake", messages=ASK, stream=True, stream_options=options)
        chunks = [c async for c in stream]
    choices = [c.choices[0] for c in chunks if c.choices]
    assert "".join(c.delta.content or "" for c in choices) == "Hello wörld"
    calls = [call for c in choices for call in c.delta.tool_calls or []]
    assert calls[0].function
    assert calls[0].function.name == "bash"
    assert json.loads("".join(c.function.arguments or "" for c in calls if c.function)) == {"command": "ls"}
    assert choices[-1].finish_reason == "tool_calls"
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 18
    assert model.requests[0].dialect == "chat"
    assert model.requests[0].headers["authorization"] == "Bearer none"


async def test_chat_completions_come_whole_to_the_official_client():
    async with Model([FULL]) as model, gpt(model) as client:
        done = await client.chat.completions.create(model="fake", messages=ASK)
        assert [m.id async for m in client.models.list()] == ["fake"]
    assert done.choices[0].message.content == "Hello wörld"
    assert done.choices[0].message.tool_calls
    assert done.choices[0].message.tool_calls[0].id == "call_7"
    assert model.others == ["GET /v1/models"]


async def test_responses_stream_to_the_official_client():
    async with (
        Model([FULL]) as model,
        gpt(model) as client,
        client.responses.stream(model="fake", input="hi") as stream,
    ):
        kinds = [event.type async for event in stream]
        done = await stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert done.output_text == "Hello wörld"
    assert [item.type for item in done.output] == ["reasoning", "message", "function_call"]
    assert done.usage
    assert done.usage.total_tokens == 18


async def test_responses_come_whole_to_the_official_client():
    async with Model([Answer("cut", finish="length")]) as model, gpt(model) as client:
        done = await client.responses.create(model="fake", input="hi")
    assert (done.output_text, done.status) == ("cut", "incomplete")


async def test_messages_stream_to_the_official_client():
    async with (
        Model([FULL]) as model,
        claude(model) as client,
        client.messages.stream(model="fake", max_tokens=9, messages=ASK) as stream,
    ):
        text = "".join([piece async for piece in stream.text_stream])
        done = await stream.get_final_message()
    assert text == "Hello wörld"
    assert [block.type for block in done.content] == ["thinking", "text", "tool_use"]
    assert done.stop_reason == "tool_use"
    assert done.usage.output_tokens == 7


async def test_messages_come_whole_to_the_official_client():
    async with Model([FULL]) as model, claude(model) as client:
        done = await client.messages.create(model="fake", max_tokens=9, messages=ASK)
        counted = await client.messages.count_tokens(model="fake", messages=ASK)
    assert counted.input_tokens == 11
    assert [block.type for block in done.content] == ["thinking", "text", "tool_use"]


@pytest.mark.parametrize("query", ["?alt=sse", ""])
async def test_gemini_streams_as_events_or_as_an_array(query):
    path = "/v1beta/models/gemini-2.5-flash:"
    async with Model([FULL, FULL]) as model, httpx.AsyncClient(base_url=model.url) as client:
        streamed = await client.post(path + "streamGenerateContent" + query, json={"contents": []})
        whole = await client.post(path + "generateContent", json={"contents": []})
        counted = await client.post(path + "countTokens", json={})
    if query:
        assert streamed.headers["content-type"] == "text/event-stream"
        messages = [json.loads(line[6:]) for line in streamed.text.split("\r\n\r\n") if line]
    else:
        messages = streamed.json()
    parts = [part for m in messages for part in m["candidates"][0]["content"]["parts"]]
    assert parts[:-1] == whole.json()["candidates"][0]["content"]["parts"]
    assert messages[-1]["candidates"][0]["finishReason"] == "STOP"
    assert counted.json() == {"totalTokens": 11}


async def test_errors_look_like_the_vendors_own():
    script = [Answer(status=429, error="slow down", headers={"retry-after": "7"}), Answer(status=503)]
    async with Model(script) as model, claude(model) as client, gpt(model) as other:
        with pytest.raises(anthropic.RateLimitError, match="slow down") as caught:
            await client.messages.create(model="fake", max_tokens=9, messages=ASK)
        assert caught.value.response.headers["retry-after"] == "7"
        with pytest.raises(openai.InternalServerError, match="scripted error"):
            await other.chat.completions.create(model="fake", messages=ASK)


async def test_an_error_may_come_in_the_middle_of_a_stream():
    async with Model([Answer("half", error="overloaded")]) as model, claude(model) as client:
        stream = aiter(await client.messages.create(model="fake", max_tokens=9, messages=ASK, stream=True))
        for _ in range(3):
            event: Any = await anext(stream)
        assert event.delta.text == "half"
        with pytest.raises(anthropic.APIStatusError, match="overloaded"):
            await anext(stream)


async def test_a_connection_can_break_in_the_middle():
    async with Model([Answer("lost", cut=3), Answer("lost", cut=0)]) as model, httpx.AsyncClient() as client:
        url = model.url + "/v1/chat/completions"
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(url, json={"stream": True})
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(url, json={})


async def test_messages_wait_until_the_test_lets_them_go():
    gate = asyncio.Event()
    seen: list[int] = []

    async def before(number: int) -> None:
        seen.append(number)
        if number == 2:
            await gate.wait()

    async with Model([Answer(["a", "b"], before=before)]) as model, gpt(model) as client:
        stream = await client.chat.completions.create(model="fake", messages=ASK, stream=True)
        chunks = aiter(stream)
        await anext(chunks)
        assert (await anext(chunks)).choices[0].delta.content == "a"
        assert 3 not in seen
        gate.set()
        assert (await anext(chunks)).choices[0].delta.content == "b"
        await stream.close()


async def test_a_function_may_answer_and_a_script_that_is_over_has_a_default():
    def answer(request: Request) -> Answer:
        return Answer("a title" if request.says("title") else "words")

    async with Model(answer) as model, gpt(model) as client:
        for asked, expected in (("hi", "words"), ("make a title", "a title")):
            done = await client.responses.create(model="fake", input=asked)
            assert done.output_text == expected
    async with Model(default=Answer("over")) as model, gpt(model) as client:
        assert (await client.responses.create(model="fake", input="hi")).output_text == "over"


async def test_what_it_does_not_know_is_a_404():
    async with Model() as model, httpx.AsyncClient(base_url=model.url) as client:
        assert (await client.get("/nothing")).status_code == 404
        assert (await client.post("/v1/messages", content=b"not json")).status_code == 404
    assert model.others == ["GET /nothing", "POST /v1/messages"]
    assert model.requests == []
