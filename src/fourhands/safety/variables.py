"""Names of variables that matter to safety: those with secret values (E), and those that change what runs (C3.4)."""

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


# Assigning one of these changes what programs run, or what they run (C3.4).
_CHANGING = frozenset(
    {
        *("PATH", "BASH_ENV", "ENV", "IFS", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PAGER", "MANPAGER"),
        *("MANOPT", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "SSH_ASKPASS", "GIT_SSH"),
        *("GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"),
        *("GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "NODE_OPTIONS", "PYTHONSTARTUP"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT"),
        *("RUBYLIB", "TAR_OPTIONS", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH"),
    }
)
_CHANGING_STARTS = ("LD_", "DYLD_", "GIT_CONFIG", "BASH_FUNC_")
_CHANGING_ENDS = ("_PAGER", "_EDITOR", "_ASKPASS", "_BROWSER")  # many programs have a variable of this kind


def changes_execution(name: str) -> bool:
    """Tell whether a variable changes which programs run, or what they run (safety-policy.md C3.4)."""
    return name in _CHANGING or name.startswith(_CHANGING_STARTS) or name.endswith(_CHANGING_ENDS)


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable of this name is withheld from programs."""
    upper = name.upper()
    if _whole.fullmatch(upper):
        return True
    return any(_part.fullmatch(part.rstrip("0123456789")) for part in upper.split("_"))


def is_harmless_value(name: str) -> bool:
    """Tell whether the value of a variable is no secret although its name says so."""
    return name in ADDRESSES or _desktop.fullmatch(name) is not None
