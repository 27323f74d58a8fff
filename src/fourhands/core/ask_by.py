"""The way in which a session's questions reach a person, and the words for those that reach no one.

By default a question goes to everyone who can answer it. The owner of a client's configuration may say that only the
page is asked, only the client's own forms, or no one: then what would be asked is refused at once, with a reason on
which a model can act.
"""

from typing import Literal, TypeAlias

from fourhands.core.errors import Denied

AskBy: TypeAlias = Literal["page", "forms", "never"]
"""The page alone, the client's own forms alone, or no one."""

_WHY: dict[AskBy, str] = {
    "page": "only the page is asked in this session (--ask-by page)",
    "forms": "this client shows no forms, and nothing else is asked in this session (--ask-by forms)",
    "never": "no one is asked in this session (--ask-by never)",
}

_DO = {
    "consent": "go on without it; the owner of this client's configuration can add the scope to --allow",
    "network": "use a host that is allowed, such as the package registries; the owner of this client's configuration "
    "can add this one to sandbox.allowedHosts",
    "outside": "do it inside the sandbox, or leave it out and say so in your answer",
    "unknown": "use commands that only read, write files with the file tools, or leave it out and say so in your "
    "answer; in a sandbox (--provider) such lines run unasked",
    "dangerous": "reach the goal without this, such as with a new file or directory in place of a deletion, or leave "
    "it out and say so in your answer; do not try it in other words",
}


def unasked(way: AskBy, about: str, text: str) -> Denied:
    """Return the refusal of what would have been asked; `about` is the kind of question, or the level of a line."""
    return Denied(f"needs approval; {_WHY[way]}: {text}", hint=_DO.get(about, _DO["dangerous"]), reason="unasked")
