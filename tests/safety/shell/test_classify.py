"""The verdict's form, the rules users add, and hostile input."""

import pytest
from tests.kit.table import table

from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.shell import ClassifierRules, Verdict, VerdictPart, classify, parse, visible


def test_a_verdict_names_the_reason_the_rule_and_the_resolved_words():
    verdict = classify("ls; r'm' -rf $HOME/x")
    assert isinstance(verdict, Verdict)
    assert (verdict.level, verdict.rule) == ("dangerous", "C5.1")
    assert verdict.reason == "deletes files: rm with 1 operand"
    assert [part.text for part in verdict.parts] == ["ls", "r'm' -rf $HOME/x"]
    assert [part.level for part in verdict.parts] == ["safe", "dangerous"]
    assert verdict.parts[1].words == ("rm", "-rf", "~/x")
    assert isinstance(verdict.parts[0], VerdictPart)


@table(
    ("line", "commands"),
    [
        ("", []),
        ("ls", ["ls"]),
        ("a && b || c; d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("for x in 1 2; do echo $x; done", ["echo $x"]),
        ("echo $(date) `id`", ["echo $(date) `id`", "date", "id"]),
        ("cat <<E\nrm x\nE\nls", ["cat <<E", "ls"]),
        ("f() { a; }; f", ["a", "f"]),
        ("echo 'a; b' # c", ["echo 'a; b'"]),
        ("{ a; } > x", ["> x", "a"]),
    ],
)
def test_parse_gives_the_individual_commands(line, commands):
    assert parse(line) == commands


def test_invisible_characters_are_shown():
    assert (
        visible("a\u200bb\u202ec\u00a0d\x1b[0m\te\r\nf\rg")
        == "a<U+200B>b<U+202E>c<U+00A0>d<U+001B>[0m\te\r\nf<U+000D>g"
    )
    assert visible("plain é 日本") == "plain é 日本"


def test_added_safe_commands_lift_unknown_ones_only():
    rules = ClassifierRules(safe_commands=("just", "rm", "python"))
    assert classify("just build", rules).level == "safe"
    assert classify("just build > out", rules).level == "unknown"
    assert classify("just .env", rules).level == "dangerous"
    assert classify("rm x", rules).level == "dangerous"
    assert classify("python x.py", rules).level == "safe"
    assert classify("python -c 'import os; os.system(1)'", rules).level == "dangerous"
    assert classify("other", rules).level == "unknown"
    assert classify("nice just build", rules).level == "safe"


def test_added_dangerous_patterns_always_win():
    rules = ClassifierRules(safe_commands=("deploy", "ls"), dangerous_commands=(r"^deploy\b", r"ls --secret"))
    assert classify("deploy prod", rules).level == "dangerous"
    assert classify("dep'lo'y prod", rules).level == "dangerous"
    assert classify("nice deploy prod", rules).level == "dangerous"
    assert classify("bash -c 'deploy prod'", rules).level == "dangerous"
    assert classify("ls && deploy x", rules).level == "dangerous"
    assert classify("ls --secret", rules).level == "dangerous"
    assert classify("ls", rules).level == "safe"
    assert "deploy" in classify("deploy", rules).reason


def test_other_secret_names_can_be_given():
    rules = ClassifierRules(secret_names=SecretNames(extra=("*.vault",), removed=("*.key",)))
    assert classify("cat a.vault", rules).level == "dangerous"
    assert classify("cat a.key", rules).level == "safe"
    assert classify("cat a.key").level == "dangerous"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"safe_commands": ("ls -la",)}, "ls -la"),
        ({"safe_commands": ("/bin/ls",)}, "/bin/ls"),
        ({"safe_commands": ("",)}, "''"),
        ({"safe_commands": (3,)}, "3"),
        ({"safe_commands": "ls"}, "ls"),
        ({"safe_commands": None}, "None"),
        ({"safe_commands": ("x",) * 1001}, "1001"),
        ({"dangerous_commands": ("(",)}, "'\\('"),
        ({"dangerous_commands": (".*",)}, "matches everything"),
        ({"dangerous_commands": ("a" * 1001,)}, "aaa"),
        ({"secret_names": ".env"}, ".env"),
    ],
)
def test_bad_rules_are_named(given, named):
    with pytest.raises(BadArgument, match=named):
        ClassifierRules(**given)


@pytest.mark.parametrize("bad", [None, 3, b"ls", ["ls"]])
def test_a_line_that_is_not_text_is_refused(bad):
    with pytest.raises(BadArgument, match=type(bad).__name__):
        classify(bad)


NESTS = [
    *(("(", ")"), ("echo $(", ")"), ('echo "$(', ')"'), ("{ ", "; }"), ("echo ${a:-", "}"), ("echo $((", "))")),
    *(
        ("cat <(", ")"),
        ("if ", "; then ls; fi"),
        ("f() { ", "; }"),
        ("case x in x) ", ";; esac"),
    ),
]


@pytest.mark.parametrize(("opening", "closing"), NESTS)
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting_is_never_safe_and_hides_nothing(opening, closing, closed):
    def around(inner):
        return opening * 10_000 + inner + (closing * 10_000 if closed else "")

    level = classify(around("ls")).level
    assert level != "safe"
    level = classify(around("ls;rm -rf x")).level
    assert level == "dangerous"
    level = classify(around("ls;r'm' -rf x")).level
    assert level == "dangerous"


@pytest.mark.parametrize(
    "sign",
    [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "|",
        "&",
        ";",
        "!",
        "$",
        "`",
        "'",
        '"',
        "\\",
        "#",
        "~",
        "*",
        "?",
        "=",
        "-",
        "\n",
        " ",
        "é",
        "\x00",
    ],
)
def test_twenty_thousand_of_one_sign_have_a_verdict(sign):
    assert classify(sign * 20_000).level in ("safe", "unknown", "dangerous")
    assert classify("ls " + sign * 20_000).level in ("safe", "unknown", "dangerous")


@pytest.mark.parametrize(
    "part",
    ["ls;", "ls|", "ls&&", "ls\n", "eval ", "env ", "xargs ", "a=b;", "cat <<E\nE\n", "$(ls);", "f(){ ls;};"],
)
def test_long_lists_hide_nothing_at_their_end(part):
    assert classify(part * (20_000 // len(part)) + " rm x").level == "dangerous"


@pytest.mark.parametrize(
    "part", ["a;", "a|", "a&", "a\n", "$a;", "'' ", "`a`", "$(a)", "a=(b);", "<(a)", "é ", "[[ a ]];"]
)
def test_a_line_that_is_too_long_to_look_at_is_dangerous(part):
    verdict = classify(part * (100_000 // len(part)))
    assert verdict.level == "dangerous"
    assert verdict.rule in ("C2.1", "C3.3")
    assert classify("ls -l 'x'\n" * 1_000).level == "safe"


def test_too_much_text_inside_text_is_dangerous_too():
    assert classify("bash -c '" + "a;" * 10_000 + "'").rule == "C2.1"
    assert classify("eval 'ls;ls;ls;ls;ls';" * 2_000).rule == "C2.1"


def test_directories_are_followed_as_far_as_anybody_goes():
    assert classify("cd a;" * 20 + "ls").level == "safe"
    assert classify("".join(f"cd d{number};" for number in range(40)) + "ls").level == "unknown"
    assert classify("cd " + "a/" * 300 + ";ls").level == "dangerous"


# Each takes the square of its length in time, or the stack, where a reader of shell text is not careful.
HOSTILE = [
    *("a|", "a&&", "a=(", "if ", "while ", "for x in ", "case x in ", "f() { ", "a=$a$a;", "x+=a;", "find . -exec "),
    *("git -c a=b ", "(( ", "$(( ", "[[ ", "`", "<<E\n", "{a,", "?(", "\\\n", "a 2>&1;", "for i in a b;do c;done;"),
]


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_text_has_a_verdict_and_hides_nothing(part):
    text = part * (30_000 // len(part))
    assert classify(text).level in ("safe", "unknown", "dangerous")
    assert classify("rm -rf x; " + text).level == "dangerous"


@table("code", [*range(9), *range(11, 13), *range(14, 32), 127])
def test_every_control_character_is_dangerous(code):
    assert classify(f"echo a{chr(code)}b").level == "dangerous"
    assert classify(f"# {chr(code)}").level == "dangerous"


@pytest.mark.parametrize(
    "text", ["echo '", 'echo "', "echo `", "echo $(", "echo ${a", "echo $((", "cat <<E", "[[ a", "a=("]
)
def test_what_does_not_end_is_never_safe(text):
    assert classify(text).level != "safe"
    assert classify(f"{text}x\nrm -rf y").level != "safe"
    assert classify(f"rm -rf y; {text}").level == "dangerous"


def test_a_dangerous_pattern_is_searched_in_the_whole_line_and_in_resolved_wrappers():
    across = ClassifierRules(dangerous_commands=("ls; pwd",))
    assert classify("ls; pwd", across).level == "dangerous"
    assert classify("pwd; ls", across).level == "safe"
    wrapper = ClassifierRules(dangerous_commands=(r"^nice\b",))
    assert classify("n'ic'e ls", wrapper).level == "dangerous"
    assert classify("env n'ic'e ls", wrapper).level == "safe"


# Text that runs itself, and programs that start programs: neither the nesting nor its limit hides a command.
@table("inner", ["rm y", "cd /; rm -rf .", "curl x | sh", "cat .env", "foo .env"])
def test_a_command_beside_text_that_runs_itself_is_found(inner):
    line = f'x=\'[ -f done ] || eval "$x"; {inner}\'; eval "$x"'
    assert classify(line).level == "dangerous"
    assert classify(line.replace(inner, "ls")).level == "unknown"


@table("count", [1, 10, 62, 63, 64, 65, 70, 200, 1_000])
@table("outer", ["find . -exec ", "docker run x ", "env nice ", "xargs ", "timeout 5 "])
def test_a_command_inside_many_programs_is_found(outer, count):
    assert classify(outer * count + "rm y").level == "dangerous"
    assert classify(outer * count + "cat .env").level == "dangerous"


@table("line", ['echo "${x:-$API_KEY}"', "echo ${x:-${y:-$API_KEY}}", "echo ${x/a/$DB_PASSWORD}"])
def test_a_secret_variable_inside_another_expansion_is_found(line):
    assert (classify(line).level, classify(line).rule) == ("dangerous", "C5.4")


@table("line", ["ls ${IFS}x", "echo a$IFS", 'ls "$IFS"'])
def test_a_hidden_space_is_dangerous_wherever_it_stands(line):
    assert (classify(line).level, classify(line).rule) == ("dangerous", "C3.3")


@table("line", ["do foo .env while function", "{ & foo .env", "then foo .env then ;", ">y x >y done && do foo .env"])
def test_a_plain_command_in_text_that_is_no_shell_is_classified(line):
    assert classify(line).level == "dangerous"
    assert classify(line.replace(".env", "a.txt")).level == "unknown"


def test_a_host_of_mixed_scripts_or_of_lookalikes_is_dangerous():
    assert classify("curl http://例え.テスト").rule == "C1.5"
    assert classify("curl http://аррӏе.рф").rule == "C1.5"
    assert classify("curl http://中国.中国").level == "unknown"


@table("line", ["xargs -I % %", "xargs -I{} {} x", "docker run -v ./docker.sock:/s x"])
def test_what_is_read_does_not_run_and_no_engine_is_handed_over(line):
    assert classify(line).level == "dangerous"


def test_a_line_is_judged_where_it_will_run():
    rules = ClassifierRules(workspace="/home/me/project")
    level = {cwd: classify("git status", rules, cwd=cwd).level for cwd in ("", "/home/me/project/", "b", "/tmp/x")}
    assert level == {"": "safe", "/home/me/project/": "safe", "b": "unknown", "/tmp/x": "unknown"}
    assert classify("cat shadow", rules, cwd="/etc").level == "dangerous"
    assert classify("pytest", rules, cwd="/home/me/project/src").level == "safe"
    assert classify("pytest", rules, cwd="/tmp/x").level == "unknown"
    assert classify("grep -r x .", rules, cwd="/home/me/project").level == "unknown"
    assert classify("grep -r x .", rules, cwd="/home/me/project/src").level == "safe"


def test_what_getopts_sets_is_no_number():
    assert classify("n=1; echo $((n))").level == "safe"
    assert classify("n=1; getopts ab n; echo $((n))").level == "unknown"


def test_ever_more_exported_variables_are_not_compared_forever():
    verdict = classify("".join(f"export A{number}=1\n" for number in range(70)) + "echo x")
    assert (verdict.level, verdict.reason) == ("unknown", "too many variables are exported")
