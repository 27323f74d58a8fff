"""The updates of ACP's version 2 as those of version 1: what is patched there is told whole here.

Messages, tool calls and plans are kept by their ids, as far as a patch needs them. A whole message comes as the text
that is missing behind what was told already; one that corrects what was told comes as a message of its own, marked as
`again`: its blocks are not run, since those of the first wording may have been.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from fourhands.agents.acp.content import text_of
from fourhands.core.bounded import BoundedDict

log = logging.getLogger(__name__)

_MESSAGES: Final = 200
_STEPS: Final = 500
_PLANS: Final = 20
_CONTENTS: Final = 500
LONGEST_KEPT: Final = 1 << 20
"""Characters of a message that are kept to compare a later wording with."""

_CLEARED: Final[dict[str, object]] = {
    "title": "",
    "kind": "other",
    "status": "pending",
    "content": [],
    "locations": [],
    "rawInput": "",
    "rawOutput": "",
}

Translated = list[dict[str, Any]]


class UpdatesOfVersion2:
    """The updates of one connection."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._said: BoundedDict[str, str] = BoundedDict(_MESSAGES)
        self._wordings: BoundedDict[str, int] = BoundedDict(_MESSAGES)
        self._contents: BoundedDict[str, list[Any]] = BoundedDict(_STEPS)
        self._plans: BoundedDict[str, list[Any]] = BoundedDict(_PLANS)
        self._takers: dict[str, Callable[[dict[str, Any]], Translated]] = {
            "agent_message_chunk": self._chunk,
            "agent_thought_chunk": self._chunk,
            "user_message_chunk": self._chunk,
            "agent_message": self._message,
            "agent_thought": self._message,
            "user_message": self._message,
            "tool_call_update": self._step,
            "tool_call_content_chunk": self._step_chunk,
            "plan_update": self._plan,
            "config_option_update": self._options,
        }

    def take(self, update: dict[str, Any]) -> Translated:
        """Return an update in words of version 1; one that is the same in both comes as it is."""
        kind = update.get("sessionUpdate")
        taker = self._takers.get(kind) if isinstance(kind, str) else None
        return [update] if taker is None else taker(update)

    # -- messages --------------------------------------------------------------------------------------------------

    def _chunk(self, update: dict[str, Any]) -> Translated:
        id = str(update.get("messageId"))
        self._said[id] = (self._said.get(id, "") + text_of(update.get("content")))[:LONGEST_KEPT]
        return [{**update, "messageId": self._wording(id)}]

    def _message(self, update: dict[str, Any]) -> Translated:
        if "content" not in update:
            return []  # nothing of its text has changed
        id, kind = str(update.get("messageId")), f"{update['sessionUpdate']}_chunk"
        blocks: list[Any] = update["content"] if isinstance(update["content"], list) else []
        whole = "".join(map(text_of, blocks))
        before, again = self._said.get(id, ""), {}
        self._said[id] = whole[:LONGEST_KEPT] or self._said.get(id, "")  # what was cleared has been said all the same
        if before and whole:
            if not whole.startswith(before):
                self._wordings[id] = self._wordings.get(id, 1) + 1
                again, before = {"again": True}, ""
            rest = whole[len(before) :]
            blocks = [{"type": "text", "text": rest}] if rest else []
        told = {"sessionUpdate": kind, "messageId": self._wording(id), **again}
        return [{**told, "content": block} for block in blocks]

    def _wording(self, id: str) -> str:
        """Return the id under which a message is told: each correction is a message of its own."""
        number = self._wordings.get(id, 1)
        return id if number == 1 else f"{id} {number}"

    # -- tool calls ------------------------------------------------------------------------------------------------

    def _step(self, update: dict[str, Any]) -> Translated:
        told = {name: _CLEARED.get(name) if value is None else value for name, value in update.items()}
        if isinstance(listed := told.get("content"), list):
            told["content"] = self._contents[str(update.get("toolCallId"))] = [_plain(one) for one in listed]
        return [told]

    def _step_chunk(self, update: dict[str, Any]) -> Translated:
        id = update.get("toolCallId")
        contents = [*self._contents.get(str(id), ()), _plain(update.get("content"))][-_CONTENTS:]
        self._contents[str(id)] = contents
        return [{"sessionUpdate": "tool_call_update", "toolCallId": id, "content": contents}]

    # -- the rest --------------------------------------------------------------------------------------------------

    def _plan(self, update: dict[str, Any]) -> Translated:
        plan = update.get("plan")
        if not isinstance(plan, dict) or plan.get("type") != "items" or not isinstance(plan.get("entries"), list):
            log.info("%s sent a plan of another kind: %.200r", self._name, plan)
            return []
        self._plans[str(plan.get("planId"))] = plan["entries"]
        entries = [entry for entries in self._plans.values() for entry in entries]
        return [{"sessionUpdate": "plan", "entries": entries}]

    def _options(self, update: dict[str, Any]) -> Translated:
        listed = update.get("configOptions")
        return [{**update, "configOptions": [option(one) for one in listed] if isinstance(listed, list) else []}]


def option(given: object) -> object:
    """Return an option of a session as version 1 has it, with its groups."""
    if not isinstance(given, dict):
        return given
    if isinstance(listed := given.get("options"), list):
        given = {**given, "options": [_group(one) for one in listed]}
    return {**given, "id": given.get("configId")}


def _group(given: Any) -> Any:
    return {**given, "group": given["groupId"]} if isinstance(given, dict) and "groupId" in given else given


def _plain(content: Any) -> Any:
    """Return a content of a tool call; a difference of version 2 as its patch, or in words where it has none."""
    if not isinstance(content, dict) or content.get("type") != "diff" or "changes" not in content:
        return content
    patch = content.get("patch")
    text = patch.get("text") if isinstance(patch, dict) else None
    if not isinstance(text, str):
        changes = content["changes"] if isinstance(content["changes"], list) else []
        text = "\n".join(_change(one) for one in changes if isinstance(one, dict))
    return {"type": "content", "content": {"type": "text", "text": text}}


def _change(change: Mapping[str, Any]) -> str:
    old = f"{change['oldPath']} → " if change.get("oldPath") else ""
    return f"{change.get('operation', 'change')}: {old}{change.get('path', '')}"
