"""Environment of people's and agents' programs: safety-policy.md E."""

import os
import platform
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.table import table

import fourhands
from fourhands.core.errors import BadEnv
from fourhands.safety.environment import (
    AGENT_PAGERS,
    check_variables,
    for_agent,
    for_person,
    has_locale,
    terminal_variables,
    withheld,
)
from fourhands.safety.variables import changes_execution

SECRET = [
    *("API_KEY", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "TOKEN"),
    *("CLIENT_SECRET", "SECRETS", "DB_PASSWORD", "DB_PASSWD", "GPG_PASSPHRASE", "DB_PASS", "PGPASSWORD", "MYSQL_PWD"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "CREDENTIAL", "BASIC_AUTH", "AUTH_HEADER", "SESSION_ID", "COOKIE", "COOKIES"),
    *("PRIVATE_DATA", "SENTRY_DSN", "DATABASE_URL", "TEST_DATABASE_URL", "AZURE_CONNECTION_STRING", "github_token"),
    *("OPENAI_APIKEY", "API_KEY2", "HF_ACCESSTOKEN", "SSHPASS"),
]
PLAIN = [
    *("EDITOR", "XAUTHORITY", "KEYBOARD", "KEYMAP", "TOKENIZERS_PARALLELISM", "MONKEY", "AUTHOR", "COMPASS_HOME"),
    *("DISPLAY", "PWD", "OLDPWD", "LD_LIBRARY_PATH", "PYTHONPATH", "PRIVATEER", "PASSENGER", "BYPASS", "URL"),
]


@table("name", SECRET)
def test_secret_names_reach_nobody_and_are_redacted(name):
    base = {name: "s3cret-value", "HOME": "/home/ada"}
    assert for_person(base) == {"HOME": "/home/ada"}
    assert for_agent(base, [name]) == {"HOME": "/home/ada"}
    assert withheld(base) == ["s3cret-value"]


@table("name", PLAIN)
def test_a_person_keeps_everything_else(name):
    assert for_person({name: "value"}) == {name: "value"}
    assert withheld({name: "value"}) == []


@pytest.mark.parametrize("value", ["redis://:hunter22@cache:6379", "http://ada:hunter22@proxy:3128/"])
def test_a_value_with_a_password_in_its_address_is_secret(value):
    base = {"GOPROXY": value}
    assert for_person(base) == {}
    assert for_agent(base, ["GOPROXY"]) == {}
    assert withheld(base) == [value, "hunter22"]


@pytest.mark.parametrize("value", ["http://proxy:3128/", "https://ada@host/", "http://host:80/a@b", "a:b@c", "x://"])
def test_an_address_without_a_password_is_not(value):
    assert for_person({"GOPROXY": value}) == {"GOPROXY": value}


def test_the_servers_own_variables_reach_nobody():
    base = {"FOURHANDS_PORT": "4404", "FOURHANDS_WORKSPACE": "/home/ada/project", "FOURHANDS_TERMINAL": "term_1"}
    assert for_person(base) == {"FOURHANDS_TERMINAL": "term_1"}
    assert for_agent(base, base) == {"FOURHANDS_TERMINAL": "term_1"}
    assert withheld(base) == []


def test_the_servers_own_secrets_are_redacted():
    assert withheld({"FOURHANDS_TOKEN": "0123456789"}) == ["0123456789"]


def test_addresses_of_agents_and_buses_stay_with_the_person():
    base = {"SSH_AUTH_SOCK": "/tmp/ssh/agent.1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
    assert for_person(base) == base
    assert for_agent(base) == {}
    assert withheld(base) == []


def test_the_ssh_agent_only_on_request():
    base = {"SSH_AUTH_SOCK": "/tmp/ssh/agent.1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
    assert for_agent(base, ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"]) == {"SSH_AUTH_SOCK": "/tmp/ssh/agent.1"}


def test_words_of_the_desktop_are_not_redacted():
    base = {"DESKTOP_SESSION": "cinnamon", "XDG_SESSION_DESKTOP": "cinnamon", "SESSION_MANAGER": "local/host:@/tmp/x"}
    assert withheld(base) == []


def test_an_agent_gets_what_is_listed():
    names = (
        "PATH HOME USER LOGNAME SHELL LANG LC_TIME TERM COLORTERM TZ TMPDIR PWD CARGO_HOME GOPATH JAVA_HOME NVM_DIR "
        "VIRTUAL_ENV CI NO_COLOR FORCE_COLOR"
    )
    base = dict.fromkeys(names.split(), "value")
    assert for_agent(base | {"SOMETHING": "else", "DISPLAY": ":0", "XDG_RUNTIME_DIR": "/run/user/1"}) == base


def test_the_user_adds_by_exact_name():
    base = {"GOPROXY": "direct", "GOPROXY_X": "1", "goproxy": "2"}
    assert for_agent(base, ["GOPROXY", "MISSING"]) == {"GOPROXY": "direct"}


@pytest.mark.parametrize("extra", ["PATH", None, 7, ["A B"], [None], ["X="], [""]])
def test_added_names_must_be_a_list_of_names(extra):
    with pytest.raises(BadEnv):
        for_agent({}, extra)


CHANGING = [
    *("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "IFS", "PS4", "SHELLOPTS"),
    *("PROMPT_COMMAND", "BASHOPTS", "PAGER", "MANPAGER", "LESSOPEN", "EDITOR", "VISUAL", "BROWSER", "GIT_SSH"),
    *("GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS"),
    *("GIT_EXEC_PATH", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "NODE_OPTIONS", "PYTHONSTARTUP"),
    *("PYTHONPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH", "SYSTEMD_PAGER"),
]


@table("name", CHANGING)
def test_variables_that_change_what_runs_are_known_and_kept_from_agents(name):
    assert changes_execution(name)
    assert for_agent({name: "x"}, [name]) == ({"PATH": "x"} if name == "PATH" else {})
    assert for_person({name: "x"}) == {name: "x"}


@table("name", ["CI", "HOME", "GIT_AUTHOR_NAME", "GIT_DIR", "LDFLAGS", "path", "ENVIRONMENT", ""])
def test_other_variables_do_not_change_what_runs(name):
    assert not changes_execution(name)


def test_every_pager_is_defused():
    assert {"PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"} <= AGENT_PAGERS.keys()
    assert {value for name, value in AGENT_PAGERS.items() if name.endswith("PAGER")} == {"cat"}
    assert AGENT_PAGERS["LESSSECURE"] == "1"  # no shell, editor or file from inside less


@given(st.dictionaries(st.sampled_from(SECRET + PLAIN + CHANGING), st.text(max_size=12)))
def test_an_agent_never_gets_more_than_a_person(base):
    assert for_agent(base, base).items() <= for_person(base).items()


def test_good_variables_pass():
    check_variables({})
    check_variables({"A": "", "_b1": "x=y\nz é", "GONE": None, "BYTES": os.fsdecode(b"\xff")})


@pytest.mark.parametrize("name", ["", "1A", "A B", "A=B", "A\0", "É", "A-B", "a.b", "A\n", None, 7, "x y" * 99])
def test_a_bad_name_is_named(name):
    with pytest.raises(BadEnv, match="is not a valid environment variable name") as caught:
        check_variables({name: "x"})
    assert repr(name)[:20] in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\0b", "NUL at position 1"),
        (7, "is 7, not text"),
        (True, "is True, not text"),
        (b"x", "not text"),
        (["x"], "not text"),
        ("x\ud800", "not valid UTF-8 at position 1"),
        ("x" * 131_072, "131072 bytes"),
    ],
)
def test_a_bad_value_is_named(value, reason):
    with pytest.raises(BadEnv, match=reason) as caught:
        check_variables({"GOOD": "x", "NAME": value})
    assert "NAME" in str(caught.value)


def test_the_longest_value_that_passes_can_be_handed_over():
    value = "x" * (131_072 - len("NAME=") - 3)
    check_variables({"NAME": value})
    assert subprocess.run(["true"], env={"NAME": value}, check=False).returncode == 0


@pytest.mark.parametrize("env", [None, [("A", "b")], "A=b", 7])
def test_variables_must_be_an_object(env):
    with pytest.raises(BadEnv, match=type(env).__name__):
        check_variables(env)


def test_our_terminal_describes_itself():
    given = terminal_variables({"LANG": "de_AT.UTF-8", "TERM": "dumb"})
    assert given == {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TERM_PROGRAM": "fourhands",
        "TERM_PROGRAM_VERSION": fourhands.__version__,
        "LANG": "de_AT.UTF-8",
        "LC_ALL": "de_AT.UTF-8",
    }


@pytest.mark.parametrize(
    ("base", "lang", "lc_all"),
    [
        ({"LANG": "de_AT.UTF-8", "LC_ALL": "C.UTF-8"}, "de_AT.UTF-8", "C.UTF-8"),
        ({"LC_ALL": "C.UTF-8"}, "C.UTF-8", "C.UTF-8"),
        ({"LANG": "de_AT.UTF-8", "LC_ALL": ""}, "de_AT.UTF-8", "de_AT.UTF-8"),
    ],
)
def test_the_users_language_is_kept(base, lang, lc_all):
    given = terminal_variables(base)
    assert (given["LANG"], given["LC_ALL"]) == (lang, lc_all)


@pytest.mark.parametrize(("installed", "chosen"), [(True, "en_US.UTF-8"), (False, "C.UTF-8")])
def test_without_a_language_one_that_is_installed_is_chosen(installed, chosen):
    given = terminal_variables({}, lambda name: installed)
    assert (given["LANG"], given["LC_ALL"]) == (chosen, chosen)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries accept any locale")
def test_only_an_installed_locale_is_found():
    assert has_locale("C")
    assert not has_locale("xx_YY.nothing")
    assert terminal_variables({})["LANG"] in ("en_US.UTF-8", "C.UTF-8")


def test_without_the_c_librarys_answer_no_locale_is_assumed():
    def refuse():
        raise OSError("no such library")

    assert not has_locale("en_US.UTF-8", refuse)
    assert not has_locale("C", refuse)
