"""Which providers there are: built in, configured, brought by plugins."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.providers.base import Isolation, Launch, Provider
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.providers.local import Local
from fourhands.providers.registry import GROUP, build
from fourhands.settings import BubblewrapSettings, LocalSettings, Settings

EXAMPLE = Path(__file__).parents[2] / "examples" / "nice_provider"


def plugin(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "nice_provider", raising=False)
    return plugin("nice", "nice_provider:Nice")


def test_the_built_in_ones_are_always_there() -> None:
    found = build(plugins=[])
    assert {name: provider.isolation for name, provider in found.items()} == {
        "auto": Isolation.NONE,  # until it is decided
        "local": Isolation.NONE,
        "bubblewrap": Isolation.SANDBOX,
        "landlock": Isolation.SANDBOX,
        "container": Isolation.CONTAINER,
    }
    assert all(provider.name == name for name, provider in found.items())


def test_settings_add_and_replace_by_name() -> None:
    settings = Settings(providers={"open": BubblewrapSettings(network=True), "bare": LocalSettings()})
    found = build(settings, plugins=[])
    assert isinstance(found["open"], Bubblewrap)
    assert isinstance(found["bare"], Local)
    assert (found["open"].name, found["bare"].name) == ("open", "bare")
    assert "bubblewrap" in found


@pytest.mark.parametrize("name", ["", "a b", "../x", "a\n"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(BadArgument, match="provider's name"):
        build(Settings(providers={name: LocalSettings()}), plugins=[])


def test_plugins_are_loaded_only_when_named(example: EntryPoint) -> None:
    assert "nice" not in build(plugins=[example])
    assert "nice_provider" not in sys.modules
    assert build(Settings(plugins=("nice",)), plugins=[example])["nice"].name == "nice"


async def test_the_example_is_a_whole_provider(example: EntryPoint, tmp_path: Path) -> None:
    provider: Provider = build(Settings(plugins=("nice",)), plugins=[example])["nice"]
    assert (await provider.probe()).works
    await provider.prepare(str(tmp_path), ())
    wrapped = provider.wrap(Launch("/bin/true", ("true", "x"), str(tmp_path), {}), terminal=False)
    assert wrapped.argv[-2:] == ("/bin/true", "x")
    await provider.end("m")
    assert await provider.explain("m", 1, "") is None
    await provider.clean_up()


def test_a_name_taken_twice_is_an_error(example: EntryPoint) -> None:
    twice = plugin("local", example.value)
    with pytest.raises(Conflict, match="'local'"):
        build(Settings(plugins=("local",)), plugins=[twice])


def test_an_unknown_plugin_is_named_with_those_there_are(example: EntryPoint) -> None:
    with pytest.raises(NotFound, match="did you mean 'nice'"):
        build(Settings(plugins=("nic",)), plugins=[example])


def test_other_kinds_of_plugins_are_somebody_elses() -> None:
    assert "other" not in build(Settings(plugins=("other",)), plugins=[plugin("other", "json:dumps")])


def a_provider() -> Provider:
    return Local()


class Half:
    isolation = Isolation.NONE

    def wrap(self) -> None: ...


def test_a_function_that_makes_a_provider_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "made_up", sys.modules[__name__])
    found = build(Settings(plugins=("made",)), plugins=[plugin("made", "made_up:a_provider")])
    assert found["made"].name == "made"
    with pytest.raises(BadArgument, match="lacks shells, probe, prepare"):
        build(Settings(plugins=("half",)), plugins=[plugin("half", "made_up:Half")])
