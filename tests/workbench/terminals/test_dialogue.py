"""What is known of an agent's dialogue with the program in front: its prompt, the keys, the statement, an end."""

from dataclasses import dataclass, field

from fourhands.host.log import Chunk
from fourhands.workbench.terminals.dialogue import Dialogue
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.shell.input_line import EMPTY


@dataclass
class PrintedLog:
    """A log in memory."""

    data: bytes = b""
    floor: int = 0

    @property
    def head(self) -> int:
        return len(self.data)

    def read(self, position: int, limit: int) -> Chunk:
        return Chunk(position, self.data[position : position + limit])


@dataclass
class Printed:
    """A terminal that has printed something."""

    log: PrintedLog = field(default_factory=PrintedLog)

    def prints(self, text: str) -> None:
        self.log.data += text.encode()


class Talk:
    """An agent's dialogue with python, and what is printed."""

    def __init__(self) -> None:
        self.terminal = Printed()
        self.words: tuple[str, ...] = ("python3", "-q")
        self.dialogue = Dialogue(self.terminal, lambda group: self.words)  # type: ignore[arg-type]
        self.group = 7

    def state(self) -> PromptState:
        standing = PromptState("program", EMPTY, program="python3", group=self.group)
        return self.dialogue.describe(standing)

    def types(self, text: str) -> None:
        *lines, _ = text.split("\n")
        self.dialogue.agent_types(self.state(), text, tuple(lines))


def test_a_prompt_counts_only_once_the_last_enter_was_taken() -> None:
    talk = Talk()
    assert talk.state().prompt == ""
    talk.terminal.prints(">>> ")
    assert talk.state().prompt == "ready"
    talk.types("6*7\n")
    assert talk.state().prompt == ""  # what stands there is the prompt from before
    talk.terminal.prints("\r>>> ")  # it is drawn again, with the line to come
    assert talk.state().prompt == ""
    talk.terminal.prints("6*7\r\n")
    assert talk.state().prompt == ""
    talk.terminal.prints("42\r\n>>> ")
    assert talk.state().prompt == "ready"


def test_keys_count_until_enter_and_show_behind_the_prompt() -> None:
    talk = Talk()
    talk.terminal.prints(">>> ")
    talk.types("6*")
    assert (talk.state().keys, talk.state().prompt) == ("6*", "")
    talk.terminal.prints("6*")
    assert talk.state().prompt == "ready"
    talk.terminal.prints("8")  # somebody else's, or a completion
    assert talk.state().prompt == ""
    talk.types("\n")
    assert talk.state().keys == ""


def test_the_lines_of_a_statement_are_kept_while_its_rest_is_wanted() -> None:
    talk = Talk()
    talk.terminal.prints(">>> ")
    talk.types("f(\n")
    talk.terminal.prints("f(\r\n... ")
    assert (talk.state().prompt, talk.state().statement) == ("more", ("f(",))
    talk.types("1,\n")
    talk.terminal.prints("1,\r\n... ")
    assert talk.state().statement == ("f(", "1,")
    talk.types(")\n")
    talk.terminal.prints(")\r\n>>> ")
    assert talk.state().statement == ()


def test_what_may_have_ended_a_program_counts_until_its_prompt_is_back() -> None:
    talk = Talk()
    talk.terminal.prints(">>> ")
    talk.types("exit()\n")
    assert talk.state().ended
    talk.terminal.prints("exit()\r\n")
    assert talk.state().ended
    talk.terminal.prints("no, not yet\r\n>>> ")
    assert not talk.state().ended
    talk.types("6*7\n")
    assert not talk.state().ended


def test_what_was_typed_into_one_program_does_not_count_for_the_next() -> None:
    talk = Talk()
    talk.terminal.prints(">>> ")
    talk.types("exit()\n")
    talk.types("6*")
    talk.group = 8
    assert (talk.state().keys, talk.state().statement, talk.state().ended) == ("", (), False)
    talk.types("7")
    assert (talk.state().keys, talk.state().ended) == ("7", False)


def test_what_a_person_types_is_not_taken_for_an_agents() -> None:
    talk = Talk()
    talk.terminal.prints(">>> ")
    talk.types("6*")
    talk.dialogue.person_types(enter=False)
    talk.terminal.prints("6*7")
    assert (talk.state().keys, talk.state().prompt) == ("", "")
    talk.dialogue.person_types(enter=True)
    assert talk.state().prompt == ""
    talk.terminal.prints("\r\n42\r\n>>> ")
    assert talk.state().prompt == "ready"


def test_a_program_that_runs_a_script_has_no_prompt_that_is_certain() -> None:
    talk = Talk()
    talk.words = ("python3", "ask.py")
    talk.terminal.prints(">>> ")
    assert not talk.state().reader.repl
