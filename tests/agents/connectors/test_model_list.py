"""The models of an endpoint: listed by itself, and the only one taken where none is named."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.kit.briefing import no_briefing
from tests.kit.model import Answer, Model
from tests.kit.workbench import open_app

from fourhands.agents.connectors.chat_model import ChatModel
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.agents.connectors.model_list import MOST_MODELS, models_at
from fourhands.app.connectors import register_all
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, Unavailable, Unsupported
from fourhands.workbench.agent_options import ListedModel

KEYS = {"OPENAI_API_KEY": "sk-open", "ANTHROPIC_API_KEY": "sk-ant"}


@pytest.fixture
async def launcher() -> AsyncIterator[Launcher]:
    async with open_app() as app:
        wiring = LaunchContext(
            briefing=no_briefing, issue_token=lambda session: "token", url="http://127.0.0.1:1", env=KEYS
        )
        launcher = Launcher(app.bench, app.tasks, wiring)
        register_all(launcher)
        yield launcher


def listing(value: Any, status: int = 200) -> Any:
    """An endpoint that answers every request for its models with this."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda query, headers: (status, data)


# What servers answer, and the models that are read of it.
FORMS: dict[str, tuple[Any, list[Any]]] = {
    "OpenAI": ({"object": "list", "data": [{"id": "b", "owned_by": "x"}, {"id": "a"}]}, ["b", "a"]),
    "vLLM": ({"data": [{"id": "m", "max_model_len": 8192}]}, [ListedModel(id="m", context_tokens=8192)]),
    "OpenRouter": (
        {"data": [{"id": "x/m", "name": "M by X", "context_length": 200_000}]},
        [ListedModel(id="x/m", name="M by X", context_tokens=200_000)],
    ),
    "a list alone": ([{"id": "m"}], ["m"]),
    "named only": ({"models": [{"name": "m"}]}, ["m"]),
    "none": ({"data": []}, []),
    "twice": ({"data": [{"id": "m"}, {"id": "m"}]}, ["m"]),
    "odd entries": (
        {"data": [5, None, {}, {"id": 5}, {"id": ""}, {"id": "a\nb"}, {"id": "x" * 301}, {"id": "m", "name": []}]},
        ["m"],
    ),
    "odd sizes": ({"data": [{"id": "m", "max_model_len": True, "context_length": -1}]}, ["m"]),
    "too many": ({"data": [{"id": f"m{n}"} for n in range(MOST_MODELS + 5)]}, [f"m{n}" for n in range(MOST_MODELS)]),
}


async def test_the_lists_of_many_servers_are_read_and_what_is_no_model_is_left_out() -> None:
    for name, (answer, wanted) in FORMS.items():
        async with Model(listing=listing(answer)) as model:
            found = await models_at(f"{model.url}/v1", {})
        assert list(found) == [ListedModel(id=one) if isinstance(one, str) else one for one in wanted], name


async def test_the_key_of_the_interface_is_sent_and_pages_are_joined() -> None:
    asked: list[tuple[dict[str, list[str]], dict[str, str]]] = []

    def pages(query: dict[str, list[str]], headers: dict[str, str]) -> tuple[int, bytes]:
        asked.append((query, headers))
        if "after_id" not in query:
            page = {"data": [{"id": "a", "display_name": "A"}], "has_more": True, "last_id": "a&b=1"}
        else:
            page = {"data": [{"id": "b"}], "has_more": False, "last_id": "b"}
        return 200, json.dumps(page).encode()

    async with Model(listing=pages) as model:
        assert await models_at(f"anthropic:{model.url}#other", KEYS) == (
            ListedModel(id="a", name="A"),
            ListedModel(id="b"),
        )
        assert [query.get("after_id") for query, _ in asked] == [None, ["a&b=1"]]
        assert {headers["x-api-key"] for _, headers in asked} == {"sk-ant"}
        asked.clear()
        await models_at(f"{model.url}/v1", KEYS)
        assert [headers["authorization"] for _, headers in asked] == ["Bearer sk-open"]


async def test_a_list_that_never_ends_is_left() -> None:
    asked = []

    def endless(query: dict[str, list[str]], headers: dict[str, str]) -> tuple[int, bytes]:
        asked.append(query)
        page = {"data": [{"id": f"m{len(asked)}"}], "has_more": True, "last_id": f"m{len(asked)}"}
        return 200, json.dumps(page).encode()

    async with Model(listing=endless) as model:
        assert len(await models_at(f"anthropic:{model.url}", {})) == len(asked) == 10


# What else an endpoint may answer, and the words of the error.
PROBLEMS: list[tuple[Any, int, str, str]] = [
    ({"error": {"message": "bad key"}}, 401, "status 401: bad key", "check the key"),
    ({"error": "no such path"}, 404, "status 404", "check the address"),
    (b"", 302, "status 302", "check the address"),
    (b"<html>hello</html>", 200, "lists no models", "most end with /v1"),
    ({"data": "m"}, 200, "lists no models", "URL#MODEL"),
    (b"[" * 9_000_000, 200, "too large", "most end with /v1"),
]


async def test_what_is_no_list_is_an_error_that_says_what_to_do() -> None:
    for answer, status, said, hint in PROBLEMS:
        async with Model(listing=listing(answer, status)) as model:
            with pytest.raises(Unavailable, match=said) as caught:
                await models_at(f"{model.url}/v1", {})
            assert hint in caught.value.hint, said


async def test_an_endpoint_that_is_not_there_or_says_nothing_is_given_up() -> None:
    with pytest.raises(Unavailable, match="cannot list its models"):
        await models_at("http://127.0.0.1:9/v1", {})

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        gone.set()

    gone = asyncio.Event()
    async with await asyncio.start_server(hear, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable, match=r"no answer in 0\.1 s"):
            await models_at(f"http://127.0.0.1:{port}/v1", {}, limit_s=0.1)
        await gone.wait()


async def test_the_only_model_of_an_endpoint_need_not_be_named(launcher: Launcher) -> None:
    async with Model([Answer("hello")]) as model:
        session = await launcher.start(f"{model.url}/v1")
        assert session.name == "fake"
        connector = launcher.connectors[session.id]
        assert isinstance(connector, ChatModel)
        assert connector.endpoint.model == "fake"
        await launcher.bench.end_session(session.id)


async def test_of_several_models_one_has_to_be_named_and_the_error_has_their_names(launcher: Launcher) -> None:
    for count, said in ((0, "has none"), (2, "has 2: m0, m1"), (33, "m29 and 3 more")):
        async with Model(listing=listing({"data": [{"id": f"m{n}"} for n in range(count)]})) as model:
            with pytest.raises(BadArgument, match=said) as caught:
                await launcher.start(f"{model.url}/v1#")
            assert caught.value.hint == f"name one: {model.url}/v1#MODEL"
    assert not len(launcher.bench.sessions)


async def test_the_command_lists_models_for_a_person_only(launcher: Launcher) -> None:
    bench = launcher.bench
    session = bench.begin_session("robo", "mcp")
    call = Call(command="openspace.agent.models", args={"endpoint": "http://127.0.0.1:9"}, actor=session.actor)
    assert (await bench.gate.run(call)).code == "denied"
    with pytest.raises(Unsupported, match="no endpoint of models"):
        await bench.models_at("opencode acp")
