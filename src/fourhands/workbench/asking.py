"""The person's choice of what they are asked about: the setting `safety.ask`, until they choose otherwise here.

Their choice holds for this workspace and over restarts. It lies in the state directory, where no program of an agent
can write; a file that cannot be read is the same as none.
"""

import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.errors import Unavailable
from fourhands.core.event import EventBus, EventData
from fourhands.safety.asking import AskSetting

log = logging.getLogger(__name__)

FILE = "asking.json"


class AskingChanged(EventData, frozen=True, kw_only=True):
    """The person chose what they are asked about: every dangerous line, or only what cannot be undone."""

    event = "asking.changed"
    ask: AskSetting


class _Stored(Struct, frozen=True):
    ask: AskSetting


class AskingChoice:
    """The lines that a person is asked about in one workspace, as a choice of two. Belongs to the event loop."""

    def __init__(self, path: Path, default: AskSetting, events: EventBus) -> None:
        self._file = AtomicFile(path)
        self._events = events
        self.setting: AskSetting = default
        try:
            self.setting = msgspec.json.decode(path.read_bytes(), type=_Stored).ask
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("cannot read what you chose to be asked about, so the settings hold: %s", error)

    async def choose(self, ask: AskSetting) -> None:
        """Ask about this from now on. Raises `Unavailable` if that cannot be stored; nothing has changed then."""
        try:
            await self._file.save(msgspec.json.encode(_Stored(ask)))
        except OSError as error:
            raise Unavailable(f"cannot store your choice: {error.strerror}", hint="make room on the disk") from error
        self.setting = ask
        self._events.emit(AskingChanged(ask=ask))
