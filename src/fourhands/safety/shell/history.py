"""History expansion, which bash and zsh apply to a line that is typed but not to one in a script.

`!` stands for an earlier command also in double quotes, where a script has text, and `^` in front replaces a part of
the last one. All of this holds for both shells, unless one is named.
"""


def recalls(text: str, shell: str = "bash") -> bool:
    """Return True if this shell would insert earlier commands into the typed line, or change it; "" is any shell."""
    if "!" not in text and "^" not in text:
        return False
    quote = ""
    at = 0
    while at < len(text):
        character = text[at]
        if quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            at += 1
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        # zsh takes !" out of the line, wherever it stands, and the quote with it.
        elif character == "!" and text[at + 1 : at + 2].strip() not in ("", "=", _plain(quote, shell)):
            return True
        at += 1
    return any(line.startswith("^") for line in text.split("\n"))


def _plain(quote: str, shell: str) -> str:
    """Return the character that makes an exclamation mark in front of it plain text."""
    if not quote:
        return "("
    return '"' if shell == "bash" else ""
