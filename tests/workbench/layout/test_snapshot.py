import msgspec
import pytest

from fourhands.workbench.layout.editors import Range
from fourhands.workbench.layout.snapshot import BadSnapshot, Snapshot, decode, encode
from fourhands.workbench.layout.state import WorkbenchState

DEEP = b'{"layout":{"root":' + b'{"kind":"split","children":[' * 100_000


def busy() -> WorkbenchState:
    state = WorkbenchState()
    state.open_editor("src/a.py", owner="person", line=4)
    state.open_editor("src/b.py", owner="agent", split_direction="vertical")
    state.open("terminal", "term_1", owner="agent", title="build", split_direction="horizontal")
    state.highlight("src/a.py", [Range(start_line=1, end_line=2)], owner="agent", color="gold", label="here")
    state.set_draft("src/a.py", "print('ä')\n", "v1")
    return state


def broken(change) -> bytes:
    data = msgspec.json.decode(encode(busy().snapshot()))
    change(data)
    return msgspec.json.encode(data)


def test_a_restart_brings_everything_back():
    state = busy()
    again = WorkbenchState(saved=decode(encode(state.snapshot())))
    assert again.snapshot() == state.snapshot()
    assert again.draft("src/a.py") == state.draft("src/a.py")
    step = again.open_editor("src/c.py", owner="person")
    assert step.change is not None
    assert step.change.rev == state.rev + 1


def test_the_wire_has_camel_case_and_kinds():
    data = msgspec.json.decode(encode(busy().snapshot()))
    assert data["layout"]["activePane"].startswith("pane_")
    root = data["layout"]["root"]
    assert (root["kind"], root["direction"], root["sizes"]) == ("split", "vertical", [50.0, 50.0])
    assert root["children"][0]["kind"] == "pane"
    assert data["highlights"][0]["ranges"][0]["startLine"] == 1
    assert data["drafts"][0]["baseVersion"] == "v1"


def test_a_snapshot_to_show_has_no_unsaved_text():
    assert b"print" not in encode(busy().snapshot(drafts=False))


def test_an_empty_workbench_is_valid():
    assert WorkbenchState(saved=decode(encode(Snapshot()))).panes() == ()


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"null", b"[]", b'{"layout": 5}', b'{"rev": "x"}', b"\xff\xfe", b'{"rev": -1}', b'{"format": 9}', DEEP],
)
def test_what_is_no_snapshot_is_refused(data):
    with pytest.raises(BadSnapshot, match="the saved workbench cannot be"):
        decode(data)


def set_in(*path):
    def change(data):
        for key in path[:-2]:
            data = data[key]
        data[path[-2]] = path[-1]

    return change


def drop(*path):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


def same_direction(data):
    data["layout"]["root"]["children"][1]["direction"] = "vertical"


def twice_the_id(data):
    first, second = data["layout"]["root"]["children"]
    second["children"][0]["id"] = first["id"]


def twice_the_file(data):
    tabs = data["layout"]["root"]["children"][0]["tabs"]
    tabs.append({**tabs[0], "id": "tab_other"})


def no_tabs(data):
    data["layout"]["root"]["children"][0]["tabs"] = []


def too_deep(data):
    node = data["layout"]["root"]["children"][0]
    for n in range(100):
        other = {**node, "id": f"p{n}", "tabs": [{**t, "id": f"t{n}", "content": f"c{n}"} for t in node["tabs"]]}
        other["activeTab"] = f"t{n}"
        direction = "vertical" if n % 2 else "horizontal"
        data["layout"]["root"] = {
            "kind": "split",
            "id": f"s{n}",
            "direction": direction,
            "sizes": [2.0, 98.0],
            "children": [other, data["layout"]["root"]],
        }


@pytest.mark.parametrize(
    "change",
    [
        set_in("layout", "activePane", "pane_x"),
        set_in("layout", "activePane", None),
        set_in("layout", "root", None),
        set_in("layout", "root", "sizes", [50.0, 50.1]),
        set_in("layout", "root", "sizes", [50.05, 49.95]),
        set_in("layout", "root", "sizes", [0.0, 100.0]),
        set_in("layout", "root", "sizes", [-10.0, 110.0]),
        set_in("layout", "root", "sizes", [100.0]),
        set_in("layout", "root", "sizes", [99.9, 0.1, 0.0]),
        set_in("layout", "root", "direction", "diagonal"),
        set_in("layout", "root", "id", ""),
        drop("layout", "root", "children", 0),
        same_direction,
        twice_the_id,
        twice_the_file,
        no_tabs,
        too_deep,
        set_in("layout", "root", "children", 0, "activeTab", "tab_x"),
        set_in("layout", "root", "children", 0, "tabs", 0, "type", "whiteboard"),
        set_in("layout", "root", "children", 0, "tabs", 0, "title", "a\nb"),
        set_in("editors", 0, "path", "src/b.py"),
        set_in("editors", 0, "line", 0),
        set_in("editors", 0, "dirty", False),
        set_in("editors", []),
        set_in("drafts", []),
        set_in("highlights", 0, "color", "url(x)"),
        set_in("highlights", 0, "ranges", []),
        lambda data: data["highlights"].append(data["highlights"][0]),
        lambda data: data["editors"][1].update(id=data["editors"][0]["id"]),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(change):
    with pytest.raises(BadSnapshot):
        decode(broken(change))


def test_a_state_refuses_a_bad_snapshot_of_its_own_kind():
    with pytest.raises(BadSnapshot, match="format 7"):
        WorkbenchState(saved=Snapshot(format=7))
