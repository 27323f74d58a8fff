"""Questions as MCP elicitations, and the person's choice as an answer.

A client that can elicit speaks for the person in front of it. Accepting needs a decision that the question offers;
anything else that is not a refusal is neither yes nor no.
"""

from mcp_types import ClientCapabilities, ElicitRequest, ElicitRequestFormParams, ElicitResult

from fourhands.core.consent import SCOPES
from fourhands.core.question import Answer, Choice, Question

OFFERED: dict[Choice, str] = {
    "once": "run it this once",
    "session": "allow this for the rest of the session",
    "always": "allow it here from now on",
    "never": "refuse it here from now on",
    "deny": "do not run it (the reason is told to the agent)",
}
"""The choices of a client's form; editing needs more than a form has."""


def can_elicit(capabilities: ClientCapabilities | None) -> bool:
    """Return True if a client shows forms; one that names no mode is older than the other modes."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None


def elicitation(question: Question) -> ElicitRequest:
    """Return a question as a form."""
    return ElicitRequest(params=ElicitRequestFormParams(message=message(question), requested_schema=form(question)))


def message(question: Question) -> str:
    """All that a person needs to decide, as text."""
    lines = [question.text]
    if question.shown:
        lines += ["", *(f"    {line}" for line in question.shown.split("\n")), ""]
    if question.reason and question.reason not in question.text:
        lines.append(f"{question.level or 'Reason'}: {question.reason}")
    lines += question.facts
    lines += [f"{name}: {value}" for name, value in question.detail.items() if isinstance(value, str | int | float)]
    if question.rule and "session" in question.options:
        lines.append(f"session: {question.rule}")
    if question.limit_s is not None:
        lines.append(f"Without an answer within {question.limit_s:g} s it is not run.")
    return "\n".join(lines)


def form(question: Question) -> dict[str, object]:
    """Return the form's schema."""
    choices = [choice for choice in OFFERED if choice in question.options]
    decision = {
        "type": "string",
        "title": "Decision",
        "description": "; ".join(f"{choice}: {OFFERED[choice]}" for choice in choices),
        "enum": choices,
    }
    reason = {"type": "string", "title": "Reason", "description": "Told to the agent when you deny."}
    scopes: dict[str, object] = {
        scope: {"type": "boolean", "title": f"May {SCOPES[scope]}", "default": True} for scope in question.scopes
    }
    return {
        "type": "object",
        "properties": {"decision": decision, **scopes, "reason": reason},
        "required": ["decision"],
    }


def answer(question: Question, result: ElicitResult) -> Answer | None:
    """Return the choice as an answer; None if there was none."""
    content = result.content or {}
    given = content.get("reason")
    reason = given[:2000] if isinstance(given, str) else ""
    if result.action == "decline":
        return Answer(choice="deny", reason=reason)
    chosen = content.get("decision")
    if result.action == "accept" and chosen in OFFERED and chosen in question.options:
        choice: Choice = chosen
        scopes = tuple(scope for scope in question.scopes if content.get(scope) is not False)
        if question.scopes and not scopes:
            return Answer(choice="deny", reason=reason)
        return Answer(choice=choice, reason=reason, scopes=scopes or None)
    return None
