"""The options of a workspace's host, as the settings of its terminals say."""

from fourhands.host.archive import Retention
from fourhands.host.lifecycle import HostOptions
from fourhands.settings import TerminalSettings


def host_options(settings: TerminalSettings) -> HostOptions:
    """Return the way a new host is started; one that runs already keeps its own."""
    return HostOptions(settings.linger_s, settings.log_budget, Retention(settings.keep_days, settings.keep_bytes))
