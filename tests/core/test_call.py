import msgspec

from fourhands.core.call import Actor, Call, Result
from fourhands.core.errors import Denied, TimedOut


def test_a_success_puts_its_data_beside_the_flag():
    assert Result(success=True, data={"paneId": "p1"}).to_wire() == {"success": True, "paneId": "p1"}


def test_data_cannot_claim_failure_or_success():
    assert Result(success=True, data={"success": False}).to_wire() == {"success": True}


def test_a_failure_has_error_code_and_hint_and_what_was_there():
    wire = Result.failure(TimedOut("too slow", hint="wait longer", output="half")).to_wire()
    assert wire == {
        "success": False,
        "error": "too slow",
        "code": "timeout",
        "hint": "wait longer",
        "data": {"output": "half"},
    }
    assert "data" not in Result.failure(Denied("no")).to_wire()


def test_a_result_says_the_isolation_in_force():
    assert Result(success=True, isolation="sandbox").to_wire()["isolation"] == "sandbox"


def test_severity_tells_decisions_from_faults():
    assert Result(success=True).severity == "info"
    assert Result(success=False, code="denied").severity == "warning"
    assert Result(success=False, code="limit").severity == "warning"
    assert Result(success=False, code="internal").severity == "error"
    assert Result(success=False, code="not-found").severity == "error"


def test_only_an_agents_call_has_a_session():
    assert Call(command="x", actor=Actor.agent("s1", "Ada")).session == "s1"
    assert Call(command="x", actor=Actor.person()).session is None
    assert Call(command="x", actor=Actor.system()).session is None


def test_a_call_survives_the_wire():
    call = Call(
        command="openspace.a.b", args={"x": [1]}, actor=Actor.agent("s1", "Ada"), origin="block", answer_id="r1"
    )
    text = msgspec.json.encode(call)
    assert b'"answerId":"r1"' in text
    assert msgspec.json.decode(text, type=Call) == call


def test_two_calls_never_share_an_id():
    assert Call(command="x", actor=Actor.person()).id != Call(command="x", actor=Actor.person()).id
