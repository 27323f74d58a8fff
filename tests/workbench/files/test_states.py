"""No sequence of operations, by agent or person, touches anything outside the workspace or what is closed to agents."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from fourhands.core.errors import FourhandsError
from fourhands.workbench.files.replacement import version_of
from fourhands.workbench.files.workspace import Workspace

CANARY = b"CANARY: nobody inside may see this"
CLOSED = b"CLOSED: no agent may see this"
VERSION = version_of(CANARY)

parts = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "..",
        ".",
        "",
        ".git",
        ".GIT",
        ".env",
        "node_modules",
        "canary",
        "link",
        "deep",
        "a\0",
        "é",
    ]
)
places = st.lists(st.sampled_from(["a", "b", "c", "link", "deep", "..", ".env"]), min_size=1, max_size=2).map("/".join)
relative = st.lists(parts, min_size=1, max_size=6).map("/".join)
paths = st.one_of(
    relative,
    relative.map(lambda path: f"{{ws}}/{path}"),
    relative.map(lambda path: f"{{base}}/outside/{path}"),
    relative.map(lambda path: f"{{base}}/{path}"),
    st.text(max_size=12),
)
targets = st.one_of(
    st.sampled_from(["{base}/outside", "../outside", "../../outside", "../outside/a", "a/../../outside", "a/link"]),
    st.sampled_from(
        ["{base}/outside/canary", "../outside/canary", "../outside/new", "{ws}", "{base}", "/", ".git", ".env"]
    ),
    relative,
    relative.map(lambda path: f"{{ws}}/{path}"),
)


def contents(folder):
    """Everything about a tree that an operation could change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, status.st_nlink, data)
    return found


class Confinement(RuleBasedStateMachine):
    """An agent, a person and somebody with a shell inside take turns; the tree outside must stay as it is."""

    links = Bundle("links")
    # Most paths lead over a link that was put there: blind ones would rarely meet one.
    over = st.tuples(links, st.sampled_from(["", "/canary", "/a/canary", "/deep", "/../a/b", "/new"])).map("".join)
    reached = st.one_of(over, over, paths)

    @initialize(target=links)
    def build(self):
        self.base = Path(os.path.realpath(tempfile.mkdtemp()))
        self.outside, self.ws = self.base / "outside", self.base / "ws"
        for path in ("outside/canary", "outside/a/canary", "outside/deep/hidden"):
            (self.base / path).parent.mkdir(parents=True, exist_ok=True)
            (self.base / path).write_bytes(CANARY)
        (self.ws / ".git").mkdir(parents=True)
        (self.ws / ".git/a").write_bytes(CLOSED)
        (self.ws / ".env").write_bytes(CLOSED)
        (self.ws / "a").mkdir()
        (self.ws / "a/b").write_bytes(b"plain")
        self.agent, self.person = Workspace(self.ws), Workspace(self.ws, person=True)
        self.before = contents(self.outside)
        self.git = contents(self.ws / ".git")
        (self.ws / "out").symlink_to(self.outside)
        (self.ws / "closed").symlink_to(".git")
        return multiple("out", "closed")

    def teardown(self):
        if hasattr(self, "base"):
            shutil.rmtree(self.base)

    def named(self, path):
        return path.replace("{base}", str(self.base)).replace("{ws}", str(self.ws))

    # What somebody with a shell may do inside the workspace.

    @rule(target=links, place=places, aim=targets)
    def link(self, place, aim):
        inside = self.free(place)
        if inside and aim.replace("\0", ""):
            os.symlink(self.named(aim).replace("\0", ""), inside)
            return str(inside.relative_to(self.ws))
        return multiple()

    @rule(place=places)
    def make_directory(self, place):
        inside = self.free(place)
        if inside:
            inside.mkdir()

    @rule(place=places)
    def take_away(self, place):
        inside = self.inside(place)
        if inside and os.path.isdir(inside) and not os.path.islink(inside):
            shutil.rmtree(inside)
        elif inside and os.path.lexists(inside):
            inside.unlink()

    def inside(self, place):
        """Where a shell would go, if that is in the workspace and not in .git."""
        parent, _, name = str(self.ws / place).rpartition("/")
        parent = os.path.realpath(parent)
        ours = f"{parent}/".startswith(f"{self.ws}/") and not f"{parent}/".startswith(f"{self.ws}/.git/")
        return Path(parent, name) if ours and os.path.isdir(parent) and name != ".." else None

    def free(self, place):
        inside = self.inside(place)
        return None if inside is None or os.path.lexists(inside) else inside

    # What agents and people do through the workspace.

    @rule(path=reached)
    def see(self, path):
        for view in (self.agent, self.person):
            for call in (view.read, view.read_text, view.version, view.list, view.stat):
                try:
                    seen = repr(call(self.named(path)))
                except FourhandsError as error:
                    seen = str(error)
                assert "CANARY" not in seen
                assert VERSION not in seen
                assert "hidden" not in seen
                assert view.person or "CLOSED" not in seen

    @rule(path=reached, by_person=st.booleans(), version=st.sampled_from([None, "absent", "0" * 32]))
    def change(self, path, by_person, version):
        view = self.person if by_person else self.agent
        if by_person and "git" in self.named(path).lower():
            return  # a person may, and the invariant on .git would not hold
        try:
            written = view.write(self.named(path), b"written", expected_version=version)
        except FourhandsError:
            return
        assert (self.ws / written.path).read_bytes() == b"written"
        if by_person and written.path.startswith(".git"):
            self.git = contents(self.ws / ".git")

    @rule(path=reached)
    def remove(self, path):
        try:
            self.agent.remove(self.named(path))
        except FourhandsError:
            return

    @invariant()
    def outside_is_untouched(self):
        if hasattr(self, "before"):
            assert contents(self.outside) == self.before
            assert sorted(os.listdir(self.base)) == ["outside", "ws"]
            assert contents(self.ws / ".git") == self.git


class Searching(Confinement):
    """The same with searches, which start programs and are therefore few."""

    @rule(query=st.sampled_from(["CANARY", "CLOSED", "canary", "nobody", "plain", "hidden"]))
    def search(self, query):
        found = self.agent.search(query)
        assert not [match for match in found.matches if "CANARY" in match.text or "CLOSED" in match.text]
        for path in found.results:
            real = os.path.realpath(self.ws / path)
            assert real == str(self.ws / path)


TestConfinement = Confinement.TestCase
TestConfinement.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSearching = Searching.TestCase
TestSearching.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
