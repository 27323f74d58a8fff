"""Settings: what is read from where, what is refused, and what a workspace's own file may not do."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from fourhands.core.errors import BadArgument
from fourhands.safety.shell import ClassifierRules, classify
from fourhands.settings import (
    AgentDefaults,
    BubblewrapSettings,
    ContainerSettings,
    LocalSettings,
    Settings,
    load,
    user_file,
)

DOCS = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.config/fourhands").mkdir(parents=True)
    (tmp_path / "work/.fourhands").mkdir(parents=True)
    return tmp_path


def loaded(home: Path, user: str = "", workspace: str = "", flags: dict[str, object] | None = None) -> Settings:
    env = {"HOME": str(home / "home")}
    Path(user_file(env)).write_text(user)
    (home / "work/.fourhands/settings.toml").write_text(workspace)
    return load(str(home / "work"), env=env, flags=flags)


def test_without_files_there_are_defaults(tmp_path: Path) -> None:
    assert load(str(tmp_path), env={"HOME": str(tmp_path)}) == Settings()


def test_flags_go_over_the_users_file(home: Path) -> None:
    settings = loaded(home, "[server]\nport = 5000\nhost = '127.0.0.2'\n", flags={"server.port": 6000})
    assert (settings.server.port, settings.server.host) == (6000, "127.0.0.2")


def test_the_sources_names_are_kept(home: Path) -> None:
    text = "[agentDefaults]\nprovider = 'bubblewrap'\nbash = { cropOutput = 5, timeoutSeconds = 7 }\n"
    defaults = loaded(home, text + "[agentDefaults.persistent]\nminInterval = 0.5\n").agent_defaults
    assert (defaults.provider, defaults.bash.crop_output, defaults.bash.timeout_s) == ("bubblewrap", 5, 7.0)
    assert defaults.persistent.min_interval == 0.5


SOURCE = r"""
[terminal.agentDefaults]
provider = 'local'
bash = { cropOutput = 10000, timeoutSeconds = 60 }

[terminal.providers]
local = { type = 'local' }

[terminal]
cols = 99
safeCommands = [
  'awk', 'cat', 'cd', 'chdir', 'diff', 'echo', 'find', 'git', 'grep', 'head', 'help', 'hostname', 'id', 'ipconfig',
  'tee', 'ls', 'netstat', 'ps', 'pwd', 'sort', 'tail', 'tree', 'type', 'uname', 'uniq', 'wc', 'which', 'touch', 'mkdir',
  'npm', 'yarn', 'bun', 'tsc', 'node', 'npx', 'bunx', 'vitest',
]
dangerousCommands = [
  '(^|\s)dd\s', '(^|\s)rm.*-.*r', '(^|\s)chmod.*-.*r', '(^|\s)chown.*-.*r', '(^|\s)rmdir\s', 'find.*-(delete|exec)',
  '(^|\s)sudo\s', '(^|\s)del\s', '(^|\s)format\s', '(^|\s)reboot', '(^|\s)shutdown', 'git.*reset',
]

[agents.helper.terminal]
provider = 'local'
bash = { cropOutput = 5000, timeoutSeconds = 30 }
persistent = { minInterval = 1, settleInterval = 2, maxInterval = 30 }
"""


def test_the_terminal_packages_own_arrangement_is_taken(home: Path) -> None:
    settings = loaded(home, SOURCE)
    assert settings.agent_defaults == AgentDefaults(provider="local")
    assert settings.providers == {"local": LocalSettings()}
    assert settings.terminal.cols == 99
    assert (len(settings.safety.safe_commands), len(settings.safety.dangerous_commands)) == (37, 12)
    helper = settings.for_agent("helper", "mcp")
    assert (helper.provider, helper.bash.crop_output, helper.bash.timeout_s) == ("local", 5000, 30.0)


def test_its_dangerous_commands_mean_what_they_say_and_its_safe_ones_never_make_danger_safe(home: Path) -> None:
    safety = loaded(home, SOURCE).safety
    for line, pattern in zip(
        [
            "xx dd y",  # each of these is not dangerous by itself: the list makes it so
            "xx rm --for me",
            "xx chmod --r",
            "xx chown --r",
            "xx rmdir y",
            "refind a -delete",
            "xx sudo y",
            "xx del y",
            "xx format y",
            "xx reboot",
            "xx shutdown",
            "git log reset",
        ],
        safety.dangerous_commands,
        strict=True,
    ):
        alone = ClassifierRules(dangerous_commands=(pattern,))
        assert classify(line, alone).level == "dangerous", (line, pattern)
        assert classify("xx y", alone).level == "unknown"
    rules = ClassifierRules(safe_commands=safety.safe_commands)
    for line, level in [
        ("npm install", "safe"),  # the person's own word: nobody is asked
        ("node server.js", "safe"),
        ("git commit -m x", "safe"),
        ("tee notes.txt", "safe"),
        ("git push --force", "dangerous"),
        ("find . -delete", "dangerous"),
        ("awk 'BEGIN { system(\"id\") }'", "dangerous"),
        ("cat .env", "dangerous"),
        ("npm test && rm -rf /", "dangerous"),
        ("other", "unknown"),
    ]:
        assert classify(line, rules).level == level, line


BOTH = [
    ("[terminal]\nsafeCommands = ['a']\n[safety]\nsafeCommands = []\n", "terminal.safeCommands", "safety.safeCommands"),
    ("[terminal.providers.a]\ntype='local'\n[providers.b]\ntype='local'\n", "terminal.providers", "providers"),
    (
        "[terminal.agentDefaults]\nprovider='a'\n[agentDefaults]\nprovider='a'\n",
        "terminal.agentDefaults",
        "agentDefaults",
    ),
    ("[agents.a]\nprovider='a'\n[agents.a.terminal]\nprovider='a'\n", "agents.a.terminal", "agents.a"),
    ("safety = 4\n[terminal]\ndangerousCommands = ['a']\n", "terminal.dangerousCommands", "safety.dangerousCommands"),
]


@pytest.mark.parametrize(("text", "one", "other"), BOTH, ids=[one for _, one, _ in BOTH])
def test_a_setting_in_two_places_is_an_error_that_names_both(home: Path, text: str, one: str, other: str) -> None:
    with pytest.raises(BadArgument, match=f"sets both {re.escape(one)} and {re.escape(other)}, ") as refused:
        loaded(home, text)
    assert refused.value.hint == f"keep {other}"


def test_an_agents_settings_go_by_its_name_over_its_kind_over_the_defaults(home: Path) -> None:
    text = """
[agentDefaults]
bash = { cropOutput = 1, timeoutSeconds = 1 }
[agents.mcp]
provider = 'bubblewrap'
bash = { cropOutput = 2, timeoutSeconds = 2 }
[agents."my agent"]
bash = { cropOutput = 3 }
persistent = { maxInterval = 7 }
"""
    settings = loaded(home, text)
    for name, kind, expected in [
        ("my agent", "mcp", ("bubblewrap", 3, 2.0, 7.0)),
        ("my agent", "acp", ("auto", 3, 1.0, 7.0)),
        ("another", "mcp", ("bubblewrap", 2, 2.0, 30.0)),
        ("another", "acp", ("auto", 1, 1.0, 30.0)),
    ]:
        found = settings.for_agent(name, kind)
        assert (found.provider, found.bash.crop_output, found.bash.timeout_s, found.persistent.max_interval) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[terminal]\nmaxTerminls = 3\n",
        "[terminal]\ncols = 'wide'\n",
        "nonsense = 1\n",
        "[terminal\n",
        "[terminal]\ncols = 1.5\n",
    ],
)
def test_what_is_wrong_is_named_with_its_file(home: Path, text: str) -> None:
    with pytest.raises(BadArgument, match=r"settings\.toml"):
        loaded(home, text)


WRONG = [
    ("[terminal]\nmaxTerminals = -5\n", "terminal.maxTerminals = -5", "from 1 to 10000"),
    ("[terminal]\nmaxTerminals = 10001\n", "terminal.maxTerminals = 10001", "from 1 to 10000"),
    ("[terminal]\ncols = 'wide'\n", "terminal.cols = 'wide'", "a whole number from 2 to 1000"),
    ("[terminal]\nlingerSeconds = inf\n", "terminal.lingerSeconds = inf", "a number from 0"),
    ("[terminal]\nkeepDays = nan\n", "terminal.keepDays = nan", "a number from 0 to 36500"),
    ("[terminal]\nallowedRoot = 'here'\n", "terminal.allowedRoot = 'here'", "an absolute path"),
    ("[terminal]\nshells = ['/bin/sh', '']\n", "terminal.shells[1] = ''", "a text with something in it"),
    ("[terminal]\nspareShell = 1\n", "terminal.spareShell = 1", "true or false"),
    ("[agentDefaults]\nbash = { timeoutSeconds = 0 }\n", "agentDefaults.bash.timeoutSeconds = 0", "above 0"),
    ("[agentDefaults.persistent]\nminInterval = 40\n", "minInterval = 40", "more than maxInterval = 30"),
    ("[agents.a]\nbash = { cropOutput = -5 }\n", "agents.a.bash.cropOutput = -5", "a whole number from 0 to 10000000"),
    ("[agents.a.persistent]\nminInterval = 40\n", "agents.a.persistent.minInterval = 40", "more than maxInterval = 30"),
    (
        "[agents.a]\nfrob = 1\n",
        "sets agents.a.frob",
        "settings there: mode, maxTokens, contextTokens, price, "
        "provider, cwd, processVariables, allowedHosts, allow, askBy, tools, "
        "acpVersion, additionalDirectories, bash, persistent",
    ),
    ("[agents.a]\nallow = ['see', 'rum']\n", "agents.a.allow[1] = 'rum'", "one of: 'arrange', 'run', 'see', 'write'"),
    ("[agents.a]\nallow = 'see'\n", "agents.a.allow = 'see'", "Expected array"),
    ("[agents.a]\naskBy = 'mail'\n", "agents.a.askBy = 'mail'", "one of: 'forms', 'never', 'page'"),
    ("[agents.a]\ntools = ['']\n", "agents.a.tools[0] = ''", "a text with something in it"),
    ("[agents]\na = 5\n", "agents.a = 5", "table"),
    ("agents = 5\n", "agents = 5", "table"),
    ("[agents.a]\nterminal = 5\n", "agents.a = 5", "table"),
    ("[journal]\nkeepBytes = 0\n", "journal.keepBytes = 0", "from 1048576"),
    ("[server]\nport = 65536\n", "server.port = 65536", "from 0 to 65535"),
    (
        "[providers.b]\ntype='container'\nmaxCpus=-1\n[providers.a]\ntype='local'",
        "providers.b.maxCpus = -1",
        "from 0",
    ),
    ("[providers.b]\ntype='container'\nengine='lxc'\n", "providers.b.engine = 'lxc'", "'docker', 'podman'"),
    ("[providers.b]\ntype='vm'\n", "providers.b.type = 'vm'", "local, bubblewrap, landlock, auto, container"),
    ("[upstreams.openai]\nurl='ftp://x'\n", "upstreams.openai.url = 'ftp://x'", "http:// or https://"),
    ("[upstreams.openai]\nkeyVariable='X'\n", "upstreams.openai = ", "missing required field url"),
    ("terminal = 5\n", "terminal = 5", "table"),
    ("[terminal]\nmaxTerminls = 3\n", "sets terminal.maxTerminls", "not a setting (settings there: maxTerminals, cols"),
    ("[providers.b]\ntype='container'\nfrob=1\n", "sets providers.b.frob", "settings there: image"),
    ("nonsense = 1\n", "sets nonsense", "settings there: terminal"),
    (f"[terminal]\ncols = {'9' * 5000}\n", "cannot read the settings", "digits"),
]


@pytest.mark.parametrize(("text", "what", "allowed"), WRONG, ids=[what for _, what, _ in WRONG])
def test_a_value_that_cannot_be_is_named_with_file_key_value_and_what_is_allowed(
    home: Path, text: str, what: str, allowed: str
) -> None:
    with pytest.raises(BadArgument) as refused:
        loaded(home, text)
    said = str(refused.value)
    assert str(home / "home/.config/fourhands/settings.toml") in said
    assert what in said
    assert allowed in said


def test_every_number_has_a_range() -> None:
    def look(kind: inspect.Type, where: str) -> None:
        if isinstance(kind, inspect.StructType):
            for field in kind.fields:
                look(field.type, f"{where}.{field.encode_name}")
        elif isinstance(kind, inspect.DictType):
            look(kind.value_type, where)
        elif isinstance(kind, inspect.UnionType):
            for one in kind.types:
                look(one, where)
        elif isinstance(kind, inspect.IntType | inspect.FloatType):
            assert kind.le is not None, f"{where} has no largest value"
            assert kind.ge is not None or kind.gt is not None, f"{where} has no smallest value"

    look(inspect.type_info(Settings), "")
    assert msgspec.convert(msgspec.to_builtins(Settings()), Settings) == Settings()


def test_a_file_that_is_no_utf8_says_so_and_a_mark_at_its_beginning_is_no_harm(home: Path) -> None:
    env = {"HOME": str(home / "home")}
    for path in (Path(user_file(env)), home / "work/.fourhands/settings.toml"):
        path.write_bytes(b"[terminal]\n# caf\xe9\ncols = 90\n")
        with pytest.raises(BadArgument, match="not UTF-8 text: byte 0xe9 in line 2") as refused:
            load(str(home / "work"), env=env)
        assert str(path) in str(refused.value)
        path.write_bytes(b"\xef\xbb\xbf[terminal]\r\ncols = 90\r\n")
        assert load(str(home / "work"), env=env).terminal.cols == 90


def test_what_is_wrong_is_put_down_to_where_it_came_from(home: Path) -> None:
    with pytest.raises(BadArgument, match=r"terminal\.cols = -1 in .*work/\.fourhands/settings\.toml"):
        loaded(home, "", "[terminal]\ncols = -1\n")
    with pytest.raises(BadArgument, match=r"server\.port = -1 in the command line"):
        loaded(home, "", flags={"server.port": -1})


def test_a_workspace_may_be_stricter(home: Path) -> None:
    settings = loaded(
        home, "[safety]\ndangerousCommands = ['a']\n", "[safety]\ndangerousCommands = ['b']\nsecretNames = ['*.x']\n"
    )
    assert settings.safety.dangerous_commands == ("a", "b")
    assert settings.safety.secret_names == ("*.x",)


@pytest.mark.parametrize(
    "text",
    [
        "[safety]\nsafeCommands = ['rm']\n",
        "[terminal]\nsafeCommands = ['rm']\n",
        "[terminal.agentDefaults]\nprovider = 'local'\n",
        "[agents.mcp]\nprovider = 'local'\n",
        "[agents.ci]\nallow = ['see', 'run']\n",
        "[agents.ci]\naskBy = 'page'\n",
        "[agents.ci]\ntools = ['all']\n",
        "[agents.mcp.bash]\ntimeoutSeconds = 5\n",
        "[safety]\nredact = false\n",
        "[safety]\nnotSecretNames = ['.env']\n",
        "[safety]\nunknownAnswerSeconds = 9999\n",
        "[agentDefaults]\nprovider = 'local'\n",
        "[agentDefaults]\nvariables = ['AWS_SECRET']\n",
        "[terminal]\nallowedRoot = '/'\n",
        "[terminal]\nshells = ['/tmp/evil']\n",
        "[server]\nhost = '0.0.0.0'\n",
        "[upstreams.openai]\nurl = 'http://evil'\n",
        "plugins = ['evil']\n",
        "[sandbox]\nallowedHosts = ['evil.example']\n",
        "[sandbox]\nnetwork = 'on'\n",
        "[providers.local]\ntype = 'local'\n",
    ],
)
def test_a_workspace_can_never_loosen_anything(home: Path, text: str) -> None:
    with pytest.raises(BadArgument, match="may not set"):
        loaded(home, "", text)


def test_every_setting_is_in_the_manual() -> None:
    text = DOCS.read_text()

    def names(struct: type[msgspec.Struct]) -> list[str]:
        return [field.encode_name for field in msgspec.structs.fields(struct)]

    for group in msgspec.structs.fields(Settings):
        assert group.encode_name in text
        if isinstance(group.default, msgspec.Struct):
            for name in names(type(group.default)):
                assert name in text, f"{group.encode_name}.{name} is not in docs/settings.md"


def test_the_manual_shows_the_defaults(home: Path) -> None:
    text = DOCS.read_text()
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert loaded(home, blocks[0]) == Settings()
    assert loaded(home, blocks[1]).agents.keys() == {"mcp", "my agent", "ci"}
    assert loaded(home, blocks[2]).agents.keys() == {"llama3.1:8b"}
    shown = loaded(home, blocks[3]).providers
    assert shown == {"bubblewrap": BubblewrapSettings(), "container": ContainerSettings()}
