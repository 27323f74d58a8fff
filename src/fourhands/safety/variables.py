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
# The same holds for the desktop's session: its values are no secrets, although no program gets them.
_desktop = re.compile(r"XDG_SESSION_\w+|DESKTOP_SESSION|SESSION_MANAGER")


# Assigning one of these changes what programs run, or what they run (C3.4).
_CHANGING = frozenset(
    {
        *("PATH", "BASH_ENV", "ENV", "IFS", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PAGER", "MANPAGER"),
        *("MANOPT", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "SSH_ASKPASS", "GIT_SSH"),
        *("GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"),
        *("GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "NODE_OPTIONS", "PYTHONSTARTUP"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT"),
        *("RUBYLIB", "TAR_OPTIONS", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "MAILPATH", "WATCHFMT", "EXECIGNORE"),
    }
)
_CHANGING_STARTS = ("LD_", "DYLD_", "GIT_CONFIG", "BASH_FUNC_")
_CHANGING_ENDS = ("_PAGER", "_EDITOR", "_ASKPASS", "_BROWSER")  # many programs have a variable of this kind


def changes_execution(name: str) -> bool:
    """Return True if a variable changes which programs run, or what they run (safety-policy.md C3.4)."""
    return name in _CHANGING or name.startswith(_CHANGING_STARTS) or name.endswith(_CHANGING_ENDS)


# The shell's own tables of what a name runs, and zsh's lists of functions that it calls by itself.
_TABLES = frozenset(
    [
        "BASH_ALIASES",
        "BASH_CMDS",
        "aliases",
        "galiases",
        "saliases",
        "dis_aliases",
        "functions",
        "dis_functions",
        "commands",
    ]
)


def changes_names(name: str) -> bool:
    """Return True if a variable is one of the shell's own tables of what a name runs."""
    return name in _TABLES or name.endswith("_functions")


# Where programs look for their configuration, plug-ins, credentials and servers.
_GUIDES = re.compile(
    r"HOME|XDG_\w+|GLOBIGNORE|\w*_CONFIG(?:_\w+)?|\w+_CONFIG_(?:FILE|DIR|PATH|HOME)|\w*CONFIG_FILE|\w*CONFIG_DIR|KUBECONFIG|\w+_CONF"
    r"|\w+_HOME|\w+_(?:HOST|CONTEXT|PROFILE|ENDPOINT\w*)|AWS_\w+|DOCKER_\w+|CLOUDSDK_\w+|GOROOT|GOPATH|GOENV|GOTOOLCHAIN"
    r"|GIT_(?:ATTR\w*|ALTERNATE\w*|NAMESPACE|CEILING\w*|DISCOVERY\w*)|\w+RC|(?:MAN|INFO|LOC|NLS|CD|FIGNORE|MODULE_)PATH|TERMINFO\w*"
    r"|PYTHON(?:USERBASE|PLATLIBDIR|WARNINGS|CASEOK)|VIRTUAL_ENV|PIP_\w+|UV_\w+|CARGO_(?:BUILD|TARGET|NET|REGISTR|UNSTABLE)\w*"
    r"|\w*_PROXY|\w*_proxy|SSL_\w+|\w*_CA_BUNDLE|NODE_EXTRA\w+|TMPDIR|SHELLCHECK_OPTS|MAKE|AR|LD|PKG_CONFIG\w*|CGO_\w*FLAGS"
)
_UNGUIDED = frozenset({"XDG_SESSION_TYPE", "CARGO_TARGET_DIR", "TERM_HOST"})


def guides_programs(name: str) -> bool:
    """Return True if a variable decides which files, programs or servers other programs use."""
    return _GUIDES.fullmatch(name) is not None and name not in _UNGUIDED


# Where a shell looks for its start-up files, and writes what was typed; and what our own part of those is told by.
_GUIDING = frozenset({"HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "HISTFILE"})


def guides_shell(name: str) -> bool:
    """Return True if a variable decides which files a shell that is started with it runs or writes."""
    return name in _GUIDING or name.startswith("FOURHANDS_")


# Of these it depends on the value: one that fits the second expression is harmless.
_BY_VALUE = [
    (re.compile(name), re.compile(harmless))
    for name, harmless in (
        (r"PS[012]", r"(?:[^`$]|\$(?!\())*"),
        (r"(?:SYSTEMD_)?LESS", r"[-\s]*[A-Zacefghijmnqrsuwxz]*"),
        (r"(?:GNU)?MAKEFLAGS", r"\s*(?:-{0,2}(?:j|jobs=?|k|s|silent|w|no-print-directory)?\s*\d*\s*)*"),
        (r"SHELL", r"(?:/usr)?(?:/local)?/bin/(?:ba|z|da|fi|k)?sh"),
        (r"(?:CC|CXX|CPP)", r"(?:s?ccache |distcc )?(?:\w+-)*(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(?:-[\d.]+)?"),
        (r"RUSTFLAGS|RUSTDOCFLAGS|CARGO_\w*RUSTFLAGS", r"(?!.*(?:link|@)).*"),
        (r"GOFLAGS", r"(?!.*(?:exec|overlay|modfile)).*"),
        (r"RUSTUP_TOOLCHAIN", r"[^/]*"),
        (r"GOPROXY", r"(?:(?:off|direct|https://proxy\.golang\.org)[,|]?)*"),
        (r"(?:PIP|UV)_\w*INDEX\w*", r"(?:https://pypi\.org/simple/?)?"),
        (r"(?i:npm_config)_\w+", r"(?:true|false|silent|error|warn|info|verbose|\d+)?"),
        # Whatever their value is: programs, code, or files that name such.
        (
            r"FPATH|ZDOTDIR|INPUTRC|FCEDIT|LESSKEY\w*|LESSEDIT|BAT_CONFIG_PATH|BAT_OPTS|ACK_OPTIONS|FZF_DEFAULT_\w+",
            r"\Z.\A",
        ),
        (r"PYTHONBREAKPOINT|PYTEST_ADDOPTS|PYTEST_PLUGINS|NODE_PATH|LUA_INIT\w*|PHPRC|PHP_INI_SCAN_DIR", r"\Z.\A"),
        (r"MAKEFILES|RUSTC|RUSTDOC|RUSTC_\w*WRAPPER|CARGO_\w+_(?:RUNNER|LINKER|RUSTC|RUSTDOC|WRAPPER)", r"\Z.\A"),
        (r"GCONV_PATH|GETCONF_DIR|OPENSSL_(?:CONF|ENGINES|MODULES)|(?:RSYNC|CVS)_RSH|WGETRC|CURL_HOME", r"\Z.\A"),
        (r"JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|SSH_SK_PROVIDER", r"\Z.\A"),
    )
]

_ANY_BY_VALUE = re.compile("|".join(f"(?:{named.pattern})" for named, _ in _BY_VALUE))


def names_program(name: str, value: str) -> bool:
    """Return True if a variable with this value makes some program run another one, or load its code."""
    if not _ANY_BY_VALUE.fullmatch(name):
        return False
    return any(named.fullmatch(name) and not harmless.fullmatch(value) for named, harmless in _BY_VALUE)


def takes_value(name: str) -> bool:
    """Return True if it depends on a variable's value whether it is harmless."""
    return _ANY_BY_VALUE.fullmatch(name) is not None


def is_secret_variable(name: str) -> bool:
    """Return True if a variable of this name is withheld from programs."""
    upper = name.upper()
    if _whole.fullmatch(upper):
        return True
    return any(_part.fullmatch(part.rstrip("0123456789")) for part in upper.split("_"))


def is_harmless_value(name: str) -> bool:
    """Return True if the value of a variable is no secret although its name says so."""
    return name in ADDRESSES or _desktop.fullmatch(name) is not None
