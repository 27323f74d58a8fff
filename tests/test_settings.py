"""Settings: what is read from where, what is refused, and what a workspace's own file may not do."""

from pathlib import Path

import msgspec
import pytest

from fourhands.core.errors import BadArgument
from fourhands.settings import Settings, load, user_file

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
