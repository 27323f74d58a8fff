"""The refusals of a model's endpoint, in the words of many servers: what they mean, and for how long to wait.

No two servers say it alike, so meaning is found in the status, in the codes and in the words. Whoever asks first for
the meaning that costs least to be wrong about asks in the right order: too long, then tools, then the rest.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from fourhands.core.errors import Unavailable

_TOO_LONG = re.compile(
    r"context[_ -]?(?:length|size|window|limit)|maximum context|max(?:imum)? (?:input|prompt|sequence) length"
    r"|prompt (?:is )?too long|input is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:maximum|max) number of tokens|exceed_context|reduce the length|request too large"
    r"|too large for model|string_above_max_length|`inputs` tokens|model_max_prompt_tokens",
    re.IGNORECASE,
)
_LIMITS = (
    r"maximum context length (?:is|of) (\d+)",
    r"context (?:size|length|window|limit) (?:is |of |only )*\(?(\d+)",
    r"(?:> |exceeds? )(\d+) maximum",
    r"\d+ \+ \d+ > (\d+)",
    r"with (\d+) maximum context",
    r"n_ctx\D{1,6}(\d+)",
    r"tokens allowed \((\d+)\)",
    r"must be <= (\d+)",
    r"maximum (?:of|is) (\d+) tokens",
)
_TOOLS = re.compile(r"\btools?\b|\btool[_ -](?:choice|use|call)|function[_ -]?call", re.IGNORECASE)
_OF_ONE_CALL = re.compile(r"tool_use_id|tool_call_id|tool_result|tool_calls? must be followed", re.IGNORECASE)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_RESETS = (
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-reset",
    "anthropic-ratelimit-tokens-reset",
)
_BUSY = frozenset((408, 409, 425, 429))
_FOR_TOOLS = frozenset((400, 404, 405, 415, 422, 500, 501))


class Refused(Unavailable):
    """The endpoint has refused a request; `said` is its own text, with its codes."""

    def __init__(self, message: str, hint: str, status: int, said: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.said = said


class Busy(Unavailable):
    """The endpoint asks to come back later; `after_s` says when, where it does."""

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message, hint="retrying automatically; check the endpoint's rate limits")
        self.after_s = after_s


class CutOff(Unavailable):
    """An answer has stopped in the middle."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the model's response was cut off: {why}", hint='send "continue" to resume')


def is_busy(status: int, said: str) -> bool:
    """Return True if the same request may be answered later."""
    decided = _NO_QUOTA.search(said) or too_long(status, said) or knows_no_tools(status, said)
    return (status in _BUSY or status >= 500) and not decided


def overloaded(kind: str) -> bool:
    """Return True if an error in an answer itself says that the same request may be answered later."""
    return any(word in kind.lower() for word in ("overloaded", "rate_limit", "unavailable", "timeout_error"))


def too_long(status: int, said: str) -> bool:
    """Return True if the request does not fit into the model's context. Status 0 is that of an error in an answer."""
    if status == 413 or (status == 429 and "request too large" in said.lower()):  # more than is allowed at any time
        return True
    return status in (0, 400, 422, 500) and _TOO_LONG.search(said) is not None


def context_limit(said: str) -> int | None:
    """Return the tokens of the model's context, where a refusal tells them."""
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", said)
    for pattern in _LIMITS:
        if (found := re.search(pattern, plain, re.IGNORECASE)) and 256 <= (limit := int(found[1][:9])) <= 100_000_000:
            return limit
    return None


def knows_no_tools(status: int, said: str) -> bool:
    """Return True if an endpoint refuses a request because it has tools."""
    return status in _FOR_TOOLS and _TOOLS.search(said) is not None and not _OF_ONE_CALL.search(said)


def knows_no_usage(status: int, said: str) -> bool:
    """Return True if an endpoint refuses a request because it asks for the tokens used."""
    return status in (400, 422) and ("stream_options" in said or "include_usage" in said)


def wants_newer_limit(status: int, said: str) -> bool:
    """Return True if an endpoint wants the limit of tokens under its newer name."""
    return status in (400, 422) and "max_completion_tokens" in said


def hint_of(status: int, said: str) -> str:
    """Return what the person can do about a refusal."""
    if status in (401, 403):
        return "check the key"
    if status in (402, 429) or _NO_QUOTA.search(said):
        return "check the account's quota and billing with the provider"
    return "check the address and the model's name"


def wait_of(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that an endpoint asks to wait; None if it does not say."""
    now = now or datetime.now(UTC)
    exact = headers.get("retry-after-ms", "").strip()
    if exact.isdigit() and len(exact) < 12:
        return int(exact) / 1000
    if (after := _moment(headers.get("retry-after", ""), now)) is not None:
        return after
    # Of several windows the one that ends last may be untouched: only those with nothing left count, else the first.
    spans = {name: _moment(headers.get(name, ""), now) for name in _RESETS}
    used_up = [span for name, span in spans.items() if span is not None and _left(headers, name) == "0"]
    known = [span for span in spans.values() if span is not None]
    return max(used_up) if used_up else min(known) if known else None


def _left(headers: Mapping[str, str], name: str) -> str:
    name = name.replace("-reset-", "-remaining-") if "-reset-" in name else name.replace("-reset", "-remaining")
    return headers.get(name, "").strip()


def _moment(value: str, now: datetime) -> float | None:
    """Return the seconds until a moment: a number of them, a span such as 6m0s, a date of HTTP or of RFC 3339."""
    value = value.strip()[:100]
    if not value:
        return None
    if value.replace(".", "", 1).isdigit() and value.isascii():
        return float(value)
    if spans := _SPAN.findall(value) if _SPAN.sub("", value) == "" else []:
        return sum(float(number) * _UNITS[unit] for number, unit in spans)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except (ValueError, TypeError, OverflowError):
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    return None
