"""The choices that a person has made for an agent, mode and options: they hold for the next process and chat too.

An agent that is started again, or begins a new chat, is in the mode that it begins with; one that was to plan only
would edit files. What the agent changes by itself, as it leaves its plan, is the choice from then on.
"""

from collections.abc import Iterable, Iterator, Mapping

from fourhands.workbench.agent_options import AgentOption, Choosable

MODE = "mode"
"""The name under which the mode is kept beside the options, as some agents call their option for it."""


class ChosenSettings:
    """The choices for one agent, by the id of the option."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        """All of them, as they are kept for the next server."""

    def mode(self, mode: str) -> None:
        """Note a mode that the person has chosen."""
        self.values[MODE] = mode

    def option(self, option: AgentOption, value: str) -> None:
        """Note a value that the person has chosen; of the option for the mode it is the mode."""
        self.values[MODE if option.category == MODE else option.id] = value

    def moved(self, mode: object, options: Iterable[AgentOption] = ()) -> None:
        """Note what the agent has changed by itself: that is what holds."""
        if MODE in self.values and isinstance(mode, str) and mode:
            self.values[MODE] = mode
        for option in options:
            key = MODE if option.category == MODE else option.id
            if key in self.values:
                self.values[key] = word(option.value)

    def missing(
        self, mode: str, modes: Iterable[Choosable], options: Iterable[AgentOption]
    ) -> Iterator[tuple[AgentOption | None, str]]:
        """Yield what the agent has to be told again, by its option; None is the mode, which comes last.

        What the agent has no longer is left out.
        """
        known = {MODE if option.category == MODE else option.id: option for option in options}
        by_option = mode not in [one.id for one in modes]
        for key, value in sorted(self.values.items(), key=lambda pair: pair[0] == MODE):
            if key == MODE and not by_option:
                if value != mode and value in [one.id for one in modes]:
                    yield None, value
            elif (option := known.get(key)) is not None and word(option.value) != value:
                yield option, value

    def take(self, kept: Mapping[str, str]) -> None:
        """Take over what was chosen before the server was started anew."""
        self.values = {**kept, **self.values}


def word(value: str | bool) -> str:
    """Return a value as a person gives it."""
    return value if isinstance(value, str) else "yes" if value else "no"
