"""The models of an endpoint, as it lists them itself at `/models`.

OpenAI-compatible servers list all at once, Anthropic's interface page by page. Names and sizes come from outside:
whatever has not the expected form is left out, and there is a limit to all of it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from msgspec.structs import replace

from fourhands.agents.connectors.completion import refusal
from fourhands.agents.connectors.endpoint import Endpoint, connected
from fourhands.agents.connectors.refusals import hint_of
from fourhands.agents.models.dialects import payload
from fourhands.core.errors import Unavailable
from fourhands.workbench.agent_options import ListedModel

LIMIT_S = 20.0
MOST_BYTES = 8 * 1024 * 1024
MOST_MODELS = 2000
MOST_PAGES = 10

_LONGEST = 300
# Under which name servers tell the tokens of a model's context: vLLM, OpenRouter, LM Studio, Anthropic, others.
_CONTEXTS = ("max_model_len", "context_length", "max_context_length", "max_input_tokens", "context_window")
_ANY = "*"  # an endpoint always has a model; which one is of no interest here


async def models_at(spec: str, env: Mapping[str, str], *, limit_s: float = LIMIT_S) -> tuple[ListedModel, ...]:
    """Return the models of the endpoint that a spec such as `URL` or `anthropic:URL#MODEL` names, in its own order."""
    endpoint = Endpoint.of(f"{spec.partition('#')[0]}#{_ANY}", env)
    try:
        async with asyncio.timeout(limit_s), connected(endpoint, env) as client:
            found = await _all(client, endpoint)
    except TimeoutError as error:
        raise _unreachable(endpoint, f"no answer in {limit_s:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _unreachable(endpoint, str(error) or type(error).__name__) from error
    return tuple({one.id: one for one in found}.values())[:MOST_MODELS]


async def _all(client: httpx.AsyncClient, endpoint: Endpoint) -> list[ListedModel]:
    url, anthropic = endpoint.url.rstrip("/"), endpoint.kind == "anthropic"
    address = f"{url.removesuffix('/v1')}/v1/models?limit=1000" if anthropic else f"{url}/models"
    found: list[ListedModel] = []
    before = ""
    for _ in range(MOST_PAGES):
        page = await _page(client, endpoint, address + (f"&after_id={before}" if before else ""))
        entries = page.get("data", page.get("models")) if isinstance(page, dict) else page
        if not isinstance(entries, list):
            raise Unavailable(
                f"the endpoint at {endpoint.url} lists no models",
                hint="check the address: most end with /v1; a model can be named all the same, as URL#MODEL",
            )
        known = list(filter(None, map(_model, entries[:MOST_MODELS])))
        found += known
        last = page.get("last_id") if isinstance(page, dict) and page.get("has_more") is True else None
        if not (anthropic and known and isinstance(last, str) and last.isprintable()) or last == before:
            break
        before = str(httpx.QueryParams({"id": last})).removeprefix("id=")
    return found


async def _page(client: httpx.AsyncClient, endpoint: Endpoint, address: str) -> Any:
    headers = {"accept": "application/json", **endpoint.dialect.headers(endpoint.key)}
    async with client.stream("GET", address, headers=headers) as response:
        if response.status_code >= 300:
            detail, said = await refusal(response)
            status = response.status_code
            raise Unavailable(
                f"the endpoint at {endpoint.url} refused to list its models with status {status}: {detail}",
                hint=hint_of(status, said),
            )
        data = b""
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MOST_BYTES:
                raise _unreachable(endpoint, "its list is too large")
    return payload.decode(data)


def _model(entry: Any) -> ListedModel | None:
    """Return one entry of a list; None if it names no model."""
    if not isinstance(entry, dict):
        return None
    id, name = entry.get("id") or entry.get("name"), entry.get("display_name") or entry.get("name")
    if not isinstance(id, str) or not 0 < len(id) <= _LONGEST or not id.isprintable():
        return None
    model = ListedModel(id=id)
    if isinstance(name, str) and name != id and name.isprintable():
        model = replace(model, name=name[:_LONGEST])
    sizes = (entry.get(key) for key in _CONTEXTS)
    size = next((one for one in sizes if isinstance(one, int) and not isinstance(one, bool) and one > 0), None)
    return replace(model, context_tokens=size) if size is not None else model


def _unreachable(endpoint: Endpoint, why: str) -> Unavailable:
    return Unavailable(
        f"the endpoint at {endpoint.url} cannot list its models: {why}",
        hint="check that it runs, and its address: most end with /v1",
    )
