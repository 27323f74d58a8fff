"""No sequence of operations, by agent or person, touches anything outside the workspace or what is closed to agents."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fourhands.core.errors import FourhandsError
from fourhands.workbench.file import Workspace

CANARY = b"CANARY: nobody inside may see this"
CLOSED = b"CLOSED: no agent may see this"

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
        "x" * 300,
        "a\0",
        "é",
    ]
)
places = st.lists(st.sampled_from(["a", "b", "c", "link", "deep", "..", ".env"]), min_size=1, max_size=4).map("/".join)
relative = st.lists(parts, min_size=1, max_size=6).map("/".join)
paths = st.one_of(
    relative,
    relative.map(lambda path: f"{{ws}}/{path}"),
    relative.map(lambda path: f"{{base}}/outside/{path}"),
    relative.map(lambda path: f"{{base}}/{path}"),
    st.text(max_size=12),
)
targets = st.one_of(
    relative,
    st.sampled_from(
        ["{base}/outside", "{base}/outside/canary", "../outside", "../../outside/canary", "{ws}", "{base}", "/"]
    ),
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

    @initialize()
    def build(self):
        self.base = Path(os.path.realpath(tempfile.mkdtemp()))
        self.outside, self.ws = self.base / "outside", self.base / "ws"
        for path in ("outside/canary", "outside/a/canary", "outside/deep/er/canary"):
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

    def teardown(self):
        if hasattr(self, "base"):
            shutil.rmtree(self.base)

    def view(self, by_person):
        return self.person if by_person else self.agent

    def named(self, path):
        return path.replace("{base}", str(self.base)).replace("{ws}", str(self.ws))

    # What somebody with a shell may do inside the workspace.

    @rule(place=places, aim=targets)
    def link(self, place, aim):
        inside = self.free(place)
        if inside and aim.replace("\0", ""):
            os.symlink(self.named(aim).replace("\0", ""), inside)

    @rule(place=places)
    def make_directory(self, place):
        inside = self.free(place)
        if inside:
            inside.mkdir()

    @rule(place=places)
    def take_away(self, place):
        inside = self.inside(place)
        if inside and inside.is_dir() and not inside.is_symlink():
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

    @rule(path=paths, by_person=st.booleans())
    def read(self, path, by_person):
        try:
            data = self.view(by_person).read(self.named(path))
        except FourhandsError as error:
            data = str(error).encode(errors="replace")
        assert CANARY not in data
        assert by_person or CLOSED not in data

    @rule(path=paths, by_person=st.booleans(), version=st.sampled_from([None, "absent", "0" * 32]))
    def write(self, path, by_person, version):
        if by_person and "git" in self.named(path).lower():
            return  # a person may, and the invariant on .git would not hold
        try:
            written = self.view(by_person).write(self.named(path), b"written", expected_version=version)
        except FourhandsError:
            return
        assert (self.ws / written.path).read_bytes() == b"written"
        if by_person and written.path.startswith(".git"):
            self.git = contents(self.ws / ".git")

    @rule(path=paths)
    def remove(self, path):
        try:
            self.agent.remove(self.named(path))
        except FourhandsError:
            return

    @rule(path=paths, by_person=st.booleans())
    def look(self, path, by_person):
        view = self.view(by_person)
        for call in (view.list, view.stat, view.read_text, view.version):
            try:
                seen = call(self.named(path))
            except FourhandsError:
                continue
            assert b"CANARY" not in repr(seen).encode(errors="replace")
            assert not (isinstance(seen, list) and "er" in [entry.name for entry in seen])

    @invariant()
    def outside_is_untouched(self):
        if hasattr(self, "before"):
            assert contents(self.outside) == self.before
            assert sorted(os.listdir(self.base)) == ["outside", "ws"]
            assert contents(self.ws / ".git") == self.git


class Searching(Confinement):
    """The same with searches, which start programs and are therefore few."""

    @rule(query=st.sampled_from(["CANARY", "CLOSED", "canary", "nobody", "plain", "er"]))
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
