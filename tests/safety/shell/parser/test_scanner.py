"""The scanner: line continuations, and how much of a text is read."""

from fourhands.safety.shell import classify, parse
from fourhands.safety.shell.parser.scanner import scan


def test_a_line_continuation_is_removed_before_anything_is_read() -> None:
    assert classify("ls $\\\nAPI_KEY").rule == "C5.4"
    assert parse("ls &\\\n& pwd") == ["ls", "pwd"]
    assert classify("i\\\nf true; then ls; fi").level == "safe"
    assert parse("echo $\\\n(rm x)") == ["echo $(rm x)", "rm x"]


def test_a_line_continuation_in_single_quotes_is_text() -> None:
    assert classify("echo '$\\\nAPI_KEY'").level == "safe"
    assert classify("cat <<'E'\n$\\\nAPI_KEY\nE").level == "safe"
    assert classify("cat <<E\n$\\\nAPI_KEY\nE").rule == "C5.4"


def test_no_more_than_asked_for_is_read() -> None:
    found = scan("a 'b';" * 1_000, left=10)
    assert found.left < 0
    assert found.broken
    assert len(found.script.tokens) <= 10
