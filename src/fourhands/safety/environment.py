"""Environment variables of programs: a person's shell, and what an agent starts (safety-policy.md E).

A person's terminal gets the environment that Fourhands was started with, minus secrets and the server's own variables.
What an agent starts gets an allow-list. Nothing here reads `os.environ`: the caller passes the base.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import fourhands
from fourhands.core.errors import BadEnv
from fourhands.safety.variables import ADDRESSES, changes_execution, is_harmless_value, is_secret_variable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A pager would wait for a key that an agent never presses.
NO_PAGERS: dict[str, str] = dict.fromkeys(
    (
        *("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "GLAB_PAGER", "AWS_PAGER", "BAT_PAGER"),
        *("DELTA_PAGER", "PSQL_PAGER", "PERLDOC_PAGER", "RI_PAGER"),
    ),
    "cat",
)

# A pager that an agent starts all the same can run no other program.
AGENT_PAGERS: dict[str, str] = {**NO_PAGERS, "LESSSECURE": "1", "SYSTEMD_PAGERSECURE": "1"}

_SERVER = "FOURHANDS_"
_TERMINAL = "FOURHANDS_TERMINAL"  # the one that children are meant to see: it names their terminal

_ALLOWED = _words(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM TZ TMPDIR PWD CI NO_COLOR FORCE_COLOR CLICOLOR "
    "CLICOLOR_FORCE XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME "
    # Homes of tools.
    "CARGO_HOME RUSTUP_HOME GOPATH GOROOT GOBIN GOCACHE GOMODCACHE JAVA_HOME JDK_HOME GRADLE_HOME GRADLE_USER_HOME "
    "MAVEN_HOME M2_HOME KOTLIN_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT FLUTTER_ROOT NVM_DIR "
    "VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV "
    "PYENV_ROOT PIPX_HOME POETRY_HOME UV_CACHE_DIR RBENV_ROOT GEM_HOME BUNDLE_PATH ASDF_DIR ASDF_DATA_DIR "
    "MISE_DATA_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY STACK_ROOT GHCUP_INSTALL_BASE_PREFIX "
    "OPAMROOT JULIA_DEPOT_PATH ZIG_GLOBAL_CACHE_DIR CCACHE_DIR FOURHANDS_TERMINAL"
)

_password = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")

_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The kernel refuses a longer NAME=value.
_LONGEST_BYTES = 128 * 1024 - 1


def for_person(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a person's own terminal."""
    return {
        name: value
        for name, value in base.items()
        if not _is_server(name) and (name in ADDRESSES or not _is_secret(name, value))
    }


def for_agent(base: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables for what an agent starts; `extra` are further names that the user allows.

    Secrets and variables that change which programs run are left out even if named in `extra`, except SSH_AUTH_SOCK.
    """
    added = _checked_names(extra)
    return {
        name: value
        for name, value in base.items()
        if (name in _ALLOWED or name.startswith("LC_") or name in added)
        and not _is_server(name)
        and (name == "PATH" or not changes_execution(name))
        and (name == "SSH_AUTH_SOCK" or not _is_secret(name, value))
    }


def withheld(base: Mapping[str, str]) -> list[str]:
    """Return the secret values that no program gets, so that they can be redacted wherever they appear."""
    values: dict[str, None] = {}
    for name, value in base.items():
        if not value or is_harmless_value(name) or not _is_secret(name, value):
            continue
        values[value] = None
        for password in _password.findall(value):
            values[password] = None
    return list(values)


def check_variables(env: Mapping[str, str | None]) -> None:
    """Refuse names and values that cannot be passed to a program; None means without this variable."""
    if not isinstance(env, Mapping):
        raise BadEnv(f"env must be an object of names and values, not {type(env).__name__}", hint='such as {"CI": "1"}')
    for name, value in env.items():
        _check_name(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise BadEnv(
                f"the value of environment variable {name} is {_shown(value)}, not text",
                hint="send a text, or null to leave the variable out",
                name=name,
            )
        if "\0" in value:
            raise BadEnv(
                f"the value of environment variable {name} has a NUL at position {value.index(chr(0))}",
                hint="remove the NUL",
                name=name,
            )
        _check_bytes(name, value)


def terminal_variables(base: Mapping[str, str], installed: Callable[[str], bool] | None = None) -> dict[str, str]:
    """Return the variables that describe Fourhands' terminal, in the user's language.

    Without one, a locale is chosen that is `installed`; by default the C library is asked, once.
    """
    language = base.get("LC_ALL") or base.get("LANG") or _default_locale(installed or has_locale)
    return {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TERM_PROGRAM": "fourhands",
        "TERM_PROGRAM_VERSION": fourhands.__version__,
        "LANG": base.get("LANG") or language,
        "LC_ALL": language,
    }


def _is_server(name: str) -> bool:
    return name.startswith(_SERVER) and name != _TERMINAL


def _is_secret(name: str, value: str) -> bool:
    return is_secret_variable(name) or _password.search(value) is not None


def _checked_names(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadEnv(f"names of environment variables must be a list, not {_shown(names)}", hint='such as ["GOPROXY"]')
    checked = list(names)
    for name in checked:
        _check_name(name)
    return frozenset(checked)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _name.fullmatch(name):
        raise BadEnv(
            f"{_shown(name)} is not a valid environment variable name",
            hint="use letters A-Z a-z, digits and _, and do not start with a digit",
            name=str(name),
        )


def _check_bytes(name: str, value: str) -> None:
    try:
        size = len(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise BadEnv(
            f"the value of environment variable {name} is not valid UTF-8 at position {error.start}",
            hint="send the value as UTF-8 text",
            name=name,
        ) from None
    if len(name) + 1 + size >= _LONGEST_BYTES:
        raise BadEnv(
            f"the value of environment variable {name} has {size} bytes",
            hint=f"name and value together have at most {_LONGEST_BYTES - 2} bytes; write it to a file",
            name=name,
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:80]}...{text[-10:]}"


def _default_locale(installed: Callable[[str], bool]) -> str:
    return "en_US.UTF-8" if installed("en_US.UTF-8") else "C.UTF-8"


def _c_library() -> Any:
    import ctypes  # only here: most people have LANG set, and then it is not needed

    return ctypes, ctypes.CDLL(None)


@functools.cache
def has_locale(name: str, load: Callable[[], Any] = _c_library) -> bool:
    """Return True if the C library knows a locale of this name.

    It is asked for a locale object: that starts no process and changes nothing for this one.
    """
    try:
        ctypes, library = load()
        library.newlocale.restype = ctypes.c_void_p
        library.freelocale.argtypes = [ctypes.c_void_p]
        found = library.newlocale(1, name.encode(), None)
    except (ImportError, OSError, AttributeError):
        return False
    if found:
        library.freelocale(found)
    return bool(found)
