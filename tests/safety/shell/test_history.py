"""History expansion: what a shell does to a line that is typed, and not to one in a script."""

from tests.kit.table import table

from fourhands.safety.shell import classify
from fourhands.safety.shell.history import recalls


@table("text", ["!!", 'echo "!rm"', "^a^rm", "ls\n^a^b", "echo a!b", 'echo "a" !x', 'echo "!?x?"'])
@table("shell", ["bash", "zsh", ""])
def test_history_is_noticed(text: str, shell: str) -> None:
    assert recalls(text, shell)
    assert classify(text, interactive=shell or True).level == "dangerous"


@table("text", ["echo '!rm'", "! true", "[ a != b ]", "echo \\!x", "a^b", "echo hi!"])
@table("shell", ["bash", "zsh", ""])
def test_a_plain_exclamation_mark_is_no_history(text: str, shell: str) -> None:
    assert not recalls(text, shell)
    assert classify(text, interactive=shell or True) == classify(text)


def test_zsh_takes_a_quote_away_behind_an_exclamation_mark() -> None:
    line = 'echo "x!" "; rm -rf ~; "'
    assert not recalls(line, "bash")
    assert classify(line, interactive="bash").level == "safe"
    assert classify(line, interactive="zsh").level == classify(line, interactive=True).level == "dangerous"


def test_in_a_script_double_quotes_hold_text() -> None:
    assert classify('echo "!?x?"').level == "safe"
    assert classify('echo "!?x?"', interactive=True).rule == "C2.6"
