"""A session as others see it: what it knows of itself, with what gate, questions and chat say of it."""

from typing import TYPE_CHECKING

from fourhands.workbench.sessions import Session, SessionInfo

if TYPE_CHECKING:
    from fourhands.workbench.workbench import Workbench


def session_info(bench: "Workbench", session: Session) -> SessionInfo:
    """Return a session as it is now."""
    gate = bench.gate
    return SessionInfo(
        id=session.id,
        name=session.name,
        connector=session.connector,
        status=session.status,
        created=session.created,
        state=session.state,
        paused=gate.paused(session.id),
        pending=gate.pending(session.id),
        consent=gate.consent.state(session.id, session.name),
        scopes=gate.consent.scopes(session.id, session.name),
        attached=bench.attached.describe(session),
        isolation=session.place.isolation if session.place is not None else "",
        rung=session.place.rung if session.place is not None else "",
        title=session.title,
        usage=session.usage,
        client=session.client,
        allowed_by=gate.consent.configured(session.id),
        ask_by=bench.questions.way(session.id) or "",
        kept=session.kept,
    )
