"""The ladder: the first sandbox that works is taken and kept, and what failed above it is said with its remedy."""

from collections.abc import AsyncIterator

import pytest
from tests.kit.isolation import Yard, new_yard
from tests.kit.table import table

from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.providers import registry
from fourhands.providers.auto import LINES, Auto, Ladder, recognise
from fourhands.providers.base import Isolation, Launch, Probe
from fourhands.providers.local import Local
from fourhands.settings import Settings


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


class Rung(Local):
    """A sandbox that works or fails as it is told."""

    isolation = Isolation.SANDBOX
    enclose = "there"

    def __init__(self, complaint: str = "") -> None:
        super().__init__(name="rung")
        self.complaint = complaint
        self.probes = 0

    async def probe(self) -> Probe:
        self.probes += 1
        return Probe(not self.complaint, self.complaint or "works")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        if self.complaint:
            raise Unsupported(self.complaint)


@table(
    ("said", "reason", "remedy"),
    [
        ("bubblewrap is not installed", "not installed", "apt install bubblewrap"),
        ("bubblewrap is not installed", "not installed", "fourhands[sandbox]"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor", "apparmor-profiles"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor", "apparmor_parser"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "/proc of its own", "unmask=ALL"),
        ("bwrap: No permissions to create new namespace, likely because", "forbids user namespaces", "sysctl"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "forbids user namespaces", "sysctl"),
        ("bubblewrap can isolate here, but its limits cannot be kept: 512", "limits", "systemd-run"),
        ("bwrap: something new", "", ""),
    ],
)
def test_known_failures_have_a_reason_and_a_remedy(said: str, reason: str, remedy: str) -> None:
    found = recognise(said, sysctl=lambda _: "", in_container=False)
    assert reason in found[0]
    assert remedy in found[1]
    assert bool(reason) is bool(found[0])


def test_the_remedy_fits_the_machine() -> None:
    said = "bwrap: No permissions to create new namespace"
    values = {"user/max_user_namespaces": "0"}
    assert "max_user_namespaces=" in recognise(said, sysctl=lambda name: values.get(name, ""), in_container=True)[1]
    assert "seccomp=unconfined" in recognise(said, sysctl=lambda _: "1", in_container=True)[1]


async def test_the_first_that_works_is_taken_and_kept() -> None:
    first, second = Rung("bwrap: setting up uid map: Permission denied"), Rung()
    auto = Auto({"bubblewrap": first, "landlock": second})
    assert (auto.rung, auto.isolation) == ("none", Isolation.NONE)
    told: list[Ladder] = []
    auto.on_change = told.append
    probe = await auto.probe()
    await auto.probe()
    assert (first.probes, second.probes, len(told)) == (1, 1, 1)
    assert (auto.rung, auto.isolation, auto.enclose) == ("landlock", Isolation.SANDBOX, "there")
    assert probe.works
    assert probe.detail.startswith("Agents run in a weaker sandbox: ")
    assert "AppArmor" in probe.detail
    assert "apparmor_parser" in probe.detail
    best = Auto({"bubblewrap": Rung(), "landlock": second})
    assert (await best.climb()).line == "Agents run in a sandbox"
    assert second.probes == 1  # what is below is not even tried


async def test_without_any_it_says_so_and_has_nothing_of_a_sandbox() -> None:
    auto = Auto({"bubblewrap": Rung("bubblewrap is not installed"), "landlock": Rung("this kernel has no Landlock")})
    ladder = await auto.climb()
    assert ladder.line == LINES["none"]
    assert ladder.line == "No sandbox here: agents' programs run as you. Unknown commands are asked about."
    assert ladder.failed is not None
    assert "apt install bubblewrap" in ladder.failed.remedy
    assert not hasattr(auto, "enclose")
    launch = Launch("/bin/true", ("true",), "/", {})
    await auto.prepare("/", ())
    assert auto.wrap(launch, terminal=True) is launch


async def test_a_sandbox_that_goes_away_is_an_error_and_never_less() -> None:
    first, second = Rung(), Rung()
    auto = Auto({"bubblewrap": first, "landlock": second})
    await auto.prepare("/", ())
    first.complaint = "bubblewrap cannot build a sandbox: bwrap: No permissions to create new namespace"
    with pytest.raises(Unavailable, match="can no longer be built") as refused:
        await auto.prepare("/", ())
    assert "sysctl" in refused.value.hint or "container" in refused.value.hint
    assert (auto.rung, second.probes) == ("bubblewrap", 0)


async def test_it_is_used_after_it_was_decided() -> None:
    with pytest.raises(FourhandsError, match="prepare"):
        Auto({}).wrap(Launch("/bin/true", ("true",), "/", {}), terminal=True)


async def test_a_terminal_says_which_rung_it_is_on(yard: Yard) -> None:
    settings = yard.settings({})
    async with yard.terminals({}) as terminals:
        auto = terminals.providers["auto"]
        assert isinstance(auto, Auto)
        terminal = await terminals.create(argv=["true"], provider="auto")
        await terminal.wait(exit=True, deadline_s=40)
        assert (terminal.isolation, terminal.meta["rung"]) == (str(auto.isolation), auto.rung)
    assert isinstance(registry.build(Settings())["auto"], Auto)
    assert settings.providers == {}
