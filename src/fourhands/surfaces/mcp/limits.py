"""The limits and times of the MCP surface."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Limits of one server's MCP clients; tests pass smaller ones."""

    idle_s: float = 30 * 60.0
    """The longest silence of a client over HTTP before its session ends."""

    sessions: int = 64
    """MCP sessions over HTTP at once."""

    retry_ms: int = 1000
    """The delay after which a client whose stream broke should reconnect."""

    replay_bytes: int = 1024 * 1024
    """Sent messages stored for each MCP session; the last one is stored whatever its length."""

    progress_s: float = 3.0
    """The interval of progress reports of a running call."""

    suspended_s: float = 600.0
    """The time in which a client of the newer generation must return with an answer."""

    task_after_s: float = 5.0
    """The time after which a running call becomes a task, for a client of the newer generation that takes tasks."""

    task_ttl_s: float = 3600.0
    """The time from its creation for which a task is kept, unless its client names another."""

    task_most_ttl_s: float = 24 * 3600.0
    """The longest time that a client may name."""

    task_after_end_s: float = 60.0
    """The shortest time for which the result of a task is kept after its end, whatever its client named."""

    tasks: int = 100
    """Ended tasks that are kept of one session."""

    task_bytes: int = 4 * 1024 * 1024
    """Their results together; the newest is kept whatever its length."""

    caused: int = 100
    """Events of one call that wait to be sent to its client."""

    watched: int = 100
    """Resources that one client may watch."""

    watch_interval_s: float = 1.0
    """The shortest time between two notifications of the same resource."""

    backlog: int = 200
    """Notifications that wait for one client; those beyond are dropped."""

    streams: int = 128
    """Open streams of the newer generation."""

    page: int = 250
    """Entries of one page: more than most workbenches have, since some clients never ask for a second page."""


DEFAULT = McpLimits()
