"""Source 002: a terminal service for agents with providers, safety levels, one-shot and persistent tools.

The document has no ids of its own: these are made of its headings. R4, R5 and R6 are sections of requirements.md.
"""

from tests.sources.contract import Document


def _named(heading: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{heading} {name}" for name in names)


DOCUMENT = Document(
    "002",
    "Terminal service for agents",
    ids=(
        *("installation", "dependencies", "R4", "R5", "R6"),
        *_named("features", *map(str, range(1, 13))),
        *_named("service", "name", "description", "defaultProvider", "terminalProviderRegistry"),
        *_named("service", "run", "attach", "executeCommand", "runScript", "getCommandSafetyLevel"),
        *_named("service", "parseCompoundCommand", "requireActiveTerminal", "setActiveTerminal"),
        *_named("service", "registerTerminalProvider", "requireTerminalProviderByName"),
        *_named("provider", "executeCommand", "runScript", "startInteractiveSession", "sendInput"),
        *_named("provider", "collectOutput", "terminateSession", "getSessionStatus", "getIsolationLevel"),
        *_named("isolation", "none", "sandbox", "container"),
        *_named("options", "input", "timeoutSeconds", "env", "workingDirectory"),
        *_named("result", "ok", "output", "exitCode", "stdout", "stderr", "error"),
        *_named("state", "providerName", "bash", "reset", "serialize", "deserialize", "show"),
        *_named("bash", "command", *map(str, range(1, 8)), "unknown", "dangerous"),
        *_named("terminal_start", "command", "stdin", *map(str, range(1, 5)), "text"),
        *_named("terminal_continue", "sessionId", "stdin", *map(str, range(1, 6)), "text"),
        *_named("terminal_stop", "sessionId", "1", "2", "text"),
        *_named("terminal_list", "text"),
        *_named("configuration", "plugin", "schema", "strict", "agent", "safeCommands", "dangerousCommands"),
        *_named("persistent", "minInterval", "settleInterval", "maxInterval"),
        *_named("lifecycle", "start", "continue", "stop", "list"),
        *_named("cleanup", "1", "2", "3"),
        *_named("example", "execution", "safety", "compound", "provider", "bash", "session", "shell"),
        *("plugin", "testing", "license"),
    ),
)
