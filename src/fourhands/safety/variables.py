"""Names of variables whose values are secret (safety-policy.md E): one test for the environment and for redaction."""

import re

_part = re.compile(
    # Whole parts, and words that are glued to another one: PGPASSWORD, APIKEY, ACCESSTOKEN.
    r"KEYS?|PASS|AUTH|SESSIONS?|PRIVATE"
    r"|[A-Z0-9]*(?:PASSWORDS?|PASSWDS?|PASSPHRASES?|SECRETS?|TOKENS?|CREDENTIALS?|COOKIES?|APIKEYS?|SSHPASS)"
)
_whole = re.compile(r"(?:.+_)?(?:DSN|DATABASE_URL|CONNECTION_STRING)|.+_PWD")
# The names say AUTH and SESSION, but their values are addresses, and a person's ssh and desktop need them.
ADDRESSES = frozenset({"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"})
# So too for the desktop's session, whose values are ordinary words: nobody's secret, though nobody gets them.
_desktop = re.compile(r"XDG_SESSION_\w+|DESKTOP_SESSION|SESSION_MANAGER")


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable of this name is withheld from programs."""
    upper = name.upper()
    if _whole.fullmatch(upper):
        return True
    return any(_part.fullmatch(part.rstrip("0123456789")) for part in upper.split("_"))


def is_harmless_value(name: str) -> bool:
    """Tell whether the value of a variable is no secret although its name says so."""
    return name in ADDRESSES or _desktop.fullmatch(name) is not None
