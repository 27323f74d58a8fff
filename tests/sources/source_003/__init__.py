"""Source 003: a service of PTY sessions with shell detection, an environment of its own, scrollback, sizes and events.

The document has no ids of its own: these are made of its headings. R4 is a section of requirements.md.
"""

from tests.sources.contract import Document


def _named(heading: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{heading} {name}" for name in names)


DOCUMENT = Document(
    "003",
    "PTY sessions",
    ids=(
        "R4",
        *_named("class", "createSession", "write", "resize", "killSession", "getSession", "getAllSessions"),
        *_named("class", "getSessionCount", "getScrollback", "getMaxSessions", "setMaxSessions", "onData", "onExit"),
        *_named("class", "detectShell", "isWSL", "getPlatformInfo", "cleanup", "isWindows"),
        *_named("session", "id", "pty", "cwd", "createdAt", "shell", "scrollbackBuffer", "outputBuffer"),
        *_named("options", "cwd", "shell", "cols", "rows", "env"),
        *_named("lifecycle", "Creating→Active", "Creating→Failed", "Active→Active", "Killing→Exited", "Active→Exited"),
        *_named("shell", "preferred", "basename", "first", "fallback", "win32"),
        *_named("arguments", "bash", "zsh", "sh", "powershell", "cmd"),
        *_named("cwd", "none", "trim", "null byte", "double slash", "wsl", "normalize", "root", "file", "missing"),
        *_named("environment", "excluded", "rest", "TERM", "COLORTERM", "TERM_PROGRAM", "LANG", "LC_ALL"),
        *_named("output", "OUTPUT_THROTTLE_MS", "OUTPUT_BATCH_SIZE", "MAX_SCROLLBACK_SIZE", "flush", "scrollback"),
        *_named("resize", "size", "suppressOutput", "150ms", "unknown"),
        *_named("kill", "SIGTERM", "SIGKILL", "group", "unknown", "windows"),
        *_named("conpty", "useConpty", "fallback"),
        *_named("events", "data", "exit", "terminal:data", "terminal:exit"),
        *("reconnect", "singleton", "session limits"),
    ),
)
