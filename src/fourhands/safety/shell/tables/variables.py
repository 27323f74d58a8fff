"""Variables that may stand in front of a program: known to be harmless to it (C3.4). Any other is unknown."""

import re

from fourhands.safety.shell.options import words
from fourhands.safety.variables import changes_execution, guides_programs, names_program, takes_value

_ANY = re.compile(
    r"LC_[A-Z]+|LANG|LANGUAGE|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|CI|DEBUG|VERBOSE"
    r"|LS_COLORS|GREP_COLORS?|POSIXLY_CORRECT|BLOCK_SIZE|TIME_STYLE|QUOTING_STYLE"
)
_PYTHON = words(
    "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONFAULTHANDLER "
    "PYTHONASYNCIODEBUG PYTHONDEVMODE PYTHONTRACEMALLOC PY_COLORS COLUMNS"
)
_NODE = words("NODE_ENV BABEL_ENV NODE_NO_WARNINGS NODE_DISABLE_COLORS TS_NODE_TRANSPILE_ONLY")
_RUST = words("RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS CARGO_TERM_COLOR CARGO_INCREMENTAL CARGO_NET_OFFLINE")
_GO = words("CGO_ENABLED GOOS GOARCH GOARM GOAMD64 GOMAXPROCS GORACE GODEBUG GOGC GO111MODULE")
_TOOLS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("pytest", "python", "python3", "mypy", "ruff", "tox", "coverage"), _PYTHON),
    **dict.fromkeys(("npm", "pnpm", "yarn", "npx", "vitest", "jest", "bun", "tsc", "eslint", "node"), _NODE),
    "cargo": _RUST,
    "go": _GO,
    "make": _PYTHON | _NODE | _RUST | _GO,
    "git": words("GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GIT_ADVICE GIT_LITERAL_PATHSPECS GIT_FLUSH GIT_TRACE"),
    "read": words("IFS"),
    "docker": words("COMPOSE_ANSI BUILDKIT_PROGRESS DOCKER_BUILDKIT"),
}
_BUILTIN = words("echo printf : true false test [ [[ read cd pwd export declare local return exit wait jobs type")


def passes(name: str, value: str, argv: list[str]) -> bool:
    """Return True if a variable with this value is known to be harmless to the program in these arguments."""
    if name.endswith("_PAGER") and value in ("", "cat"):
        return True
    if changes_execution(name) or names_program(name, value):
        return False  # a finding of its own
    if (_ANY.fullmatch(name) and "/" not in value) or name == "TZ" or takes_value(name):
        return True
    if argv and argv[0] in _BUILTIN and not guides_programs(name):
        return True
    # A wrapper may stand in front of the program. Words behind it do no harm: each list is for its own program.
    tools = {word.rsplit("/", 1)[-1] for word in argv[:6]}
    return any(name in _TOOLS[tool] for tool in tools & _TOOLS.keys())
