"""What must hold for every line: nothing added makes it look better, nothing hides it, nothing breaks the judge."""

import shlex

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.safety.shell.corpus import CASES

from fourhands.safety.shell import classify, parse, visible
from fourhands.safety.shell.levels import LEVELS
from fourhands.safety.shell.tables.names import WRAPPERS

ONE_LINE = [
    (line, level)
    for line, level, _ in CASES
    if "\n" not in line and "\r" not in line and line.strip() and "<<" not in line
]
WHOLE = [
    (line, level)
    for line, level in ONE_LINE
    if not classify(line).rule.startswith(("C2.1", "C2.6")) and "#" not in line
]
HARMLESS = ["ls", "true", "echo hi", "pwd", "git status"]
DANGEROUS = [
    ["rm", "-rf", "build"],
    ["dd", "if=a", "of=b"],
    ["git", "push", "--force"],
    ["cat", ".env"],
    ["sudo", "ls"],
    ["mkfs.ext4", "/dev/sda"],
]
SIMPLE = [
    ["ls", "-la"],
    ["rm", "x"],
    ["frobnicate"],
    ["git", "push", "-f"],
    ["cat", ".env"],
    ["kill", "1"],
    ["make"],
    ["docker", "rm", "x"],
]
# How each wrapper is written in front of a command.
PREFIXES = {
    "repeat": ["repeat", "2"],
    "sched": ["sched", "+1"],
    "timeout": ["timeout", "5"],
    "nice": ["nice", "-n", "5"],
    "flock": ["flock", "/tmp/lock"],
    "taskset": ["taskset", "1"],
    "chrt": ["chrt", "5"],
    "setarch": ["setarch", "x86_64"],
    "cpulimit": ["cpulimit", "-l", "5"],
    "choom": ["choom", "-n", "5"],
    "ld.so": ["/lib64/ld-linux-x86-64.so.2"],
}


def rank(line: str) -> int:
    return LEVELS.index(classify(line).level)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(WHOLE), st.sampled_from(HARMLESS), st.sampled_from([" && ", "; ", " || ", "\n"]), st.booleans())
def test_a_harmless_part_never_lowers_the_level(case, harmless, joint, first):
    line, level = case
    both = f"{harmless}{joint}{line}" if first else f"{line}{joint}{harmless}"
    assert rank(both) >= LEVELS.index(level), both


def spelled(word: str, how: list[int]) -> str:
    out = []
    for sign, kind in zip(word, how * len(word), strict=False):
        out.append([sign, f"'{sign}'", f'"{sign}"', f"\\{sign}", f"$'{sign}'", f"''{sign}", f'{sign}""'][kind])
    return "".join(out)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(DANGEROUS),
    st.lists(st.integers(0, 6), min_size=1, max_size=9),
    st.sampled_from([" ", "  ", "\t", " \\\n ", "   \t"]),
    st.sampled_from(["", " ", "\t", "\n"]),
)
def test_quoting_and_spacing_never_hide_a_dangerous_command(words, how, blank, around):
    line = around + blank.join(spelled(word, how) for word in words) + around
    assert rank(line) == 2, line


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SIMPLE), st.lists(st.sampled_from(sorted(set(WRAPPERS) - {"ts", "-"})), min_size=1, max_size=4))
def test_no_wrapper_lowers_the_level(words, wrappers):
    prefix = [word for name in wrappers for word in PREFIXES.get(name, [name])]
    line = " ".join([*prefix, *words])
    assert rank(line) >= rank(" ".join(words)), line


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(DANGEROUS),
    st.lists(st.sampled_from(["sh -c", "bash -ec", "eval", "watch", "env -S"]), min_size=1, max_size=4),
)
def test_text_for_later_is_judged_however_deep(words, shells):
    line = " ".join(words)
    for shell in shells:
        line = f"{shell} {shlex.quote(line)}"
    assert rank(line) == 2, line


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(DANGEROUS),
    st.lists(
        st.sampled_from(
            [
                "$({})",
                "`{}`",
                "echo $({})",
                'echo "$({})"',
                "({})",
                "{{ {}; }}",
                "if {}; then ls; fi",
                "while {}; do ls; done",
                "cat <({})",
                "A=$({})",
            ]
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_structure_never_hides_a_dangerous_command(words, shapes):
    line = " ".join(words)
    for shape in shapes:
        if "`" in line and "`" in shape:
            continue
        line = shape.format(line)
    assert rank(line) == 2, line


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_a_verdict(text):
    verdict = classify(text)
    assert verdict.level in LEVELS
    assert all(isinstance(part, str) for part in parse(text))
    visible(text)


@settings(max_examples=500, deadline=None)
@given(st.text("rmls $(){}[]<>|&;'\"`\\\n!#=*?~-/0:x", max_size=40))
def test_any_shell_like_text_has_a_verdict(text):
    verdict = classify(text)
    assert verdict.level in LEVELS
    worst = max((LEVELS.index(part.level) for part in verdict.parts), default=0)
    assert LEVELS.index(verdict.level) >= worst


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CASES), st.integers(0, 80))
def test_a_cut_line_has_a_verdict(case, cut):
    assert classify(case[0][:cut]).level in LEVELS
