"""Signing a browser in: a one-time code for a cookie, a key, and the right to sign with the key pair it made.

Codes are made for whatever program has the token file (`fourhands open`), so a code proves nothing about the person.
The first browser is taken at its word. While agents' programs run without a sandbox, a further one has to be allowed
by a person in a browser that is signed in already. One that comes again is no further one: it shows that it has the key
that it is known by with a signature of the code. Our file has the public half for every program to read.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from fourhands.core.call import Actor, Call, Result
from fourhands.core.errors import Denied, FourhandsError, NoAnswer
from fourhands.core.question import Question
from fourhands.providers.base import Isolation
from fourhands.surfaces.auth import Tokens
from fourhands.surfaces.browsers import SignedIn, browser_name, checked_key
from fourhands.surfaces.http.answers import Json, read_json
from fourhands.surfaces.http.initial_state import first_sight
from fourhands.workbench.workbench import Workbench

SIGN_IN = "openspace.browser.sign_in"
"""The name under which the journal tells of browsers that came, and of those that were refused."""

SIGNED = "sign in with "
"""The text that a browser signs, with the code behind it, to show that a key is its own."""


class SignIn:
    """The endpoint of browsers that bring a code."""

    def __init__(self, bench: Workbench, tokens: Tokens) -> None:
        self._bench = bench
        self._tokens = tokens
        self._asking = asyncio.Lock()

    async def __call__(self, request: Request) -> Response:
        """Exchange a one-time code for a cookie and a key, and for what the page shows first."""
        body = await read_json(request)
        name = browser_name(request.headers.get("user-agent", ""))
        args: dict[str, object] = {"browser": name, "from": request.client.host if request.client else ""}
        try:
            given = await self._admit(body, name, str(args["from"]))
        except FourhandsError as error:
            await asyncio.sleep(0.2)  # guessing is hopeless already; this keeps the log readable
            call = Call(command=SIGN_IN, args=args, actor=Actor.system(), origin="http")
            await self._bench.gate.record(call, Result.failure(error))
            raise
        person = Actor.person(f"person-{given.browser.id}")
        call = Call(command=SIGN_IN, args=args, actor=person, origin="http", signed=given.browser.told)
        await self._bench.gate.record(call, Result(success=True, data={"browser": given.browser.told}))
        told = {"id": given.browser.id, "name": given.browser.name}
        first = await first_sight(self._bench, person)
        response = Json({"success": True, "key": given.key, "browser": told, "first": first})
        response.set_cookie(
            self._tokens.cookie,
            given.cookie,
            max_age=int(self._tokens.limits.browser_s),
            httponly=True,
            samesite="strict",
            path="/",
            # TLS ends in front of us: the browser's own word for where it is tells whether there is any.
            secure=request.headers.get("origin", "").startswith("https://"),
        )
        return response

    async def _admit(self, body: dict[str, object], name: str, address: str) -> SignedIn:
        browsers = self._tokens.browsers
        public = checked_key(body.get("publicKey", ""))
        code = str(body.get("code", ""))
        browsers.take_code(code)
        again = browsers.knows(public)
        if again and not browsers.proves(public, SIGNED + code, str(body.get("proof", ""))):
            raise Denied("this is the key of another browser", hint="reload the page and open the link again")
        async with self._asking:  # two that come together are asked about one by one
            if any(one.public for one in browsers) and not again and unsandboxed(self._bench):
                await self._confirm(name, address)
            return await browsers.sign_in(name, public)

    async def _confirm(self, name: str, address: str) -> None:
        question = Question(
            kind="browser",
            session="",
            text=f"Allow this browser? {name} at {address} has a link to this workbench and wants to sign in as you.",
            options=("once", "deny"),
            shown=f"{name} at {address}",
            reason="agents' programs run here without a sandbox, and any of them could have made such a link",
            limit_s=self._tokens.limits.confirm_s,
        )
        try:
            answered = await self._bench.questions.ask(question)
        except NoAnswer as error:
            hint = (
                "allow it in the browser that is signed in; if that one is lost, `fourhands stop` ends everything "
                "here and signs all browsers out"
            )
            raise Denied("no browser that is signed in has allowed this one", hint=hint) from error
        if answered.answer.choice == "deny":
            raise Denied("a browser that is signed in has refused this one", hint="sign in where you did before")


def unsandboxed(bench: Workbench) -> bool:
    """Return True if an agent that is here, or one that comes now, runs programs without a sandbox."""
    names = {bench.settings.agent_defaults.provider, *(bench.agent_settings(one).provider for one in bench.sessions)}
    try:
        return any(bench.terminals.providers.require(name).isolation is Isolation.NONE for name in names)
    except FourhandsError:
        return True  # one that is not there any more tells nothing
