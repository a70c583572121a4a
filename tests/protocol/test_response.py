"""How a request ended: what each kind of end records."""

import itertools
from typing import get_args

import pytest

from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.failure_codes import CURES, SeedCode, cure_of
from bridge.protocol.record import as_json, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Failure, RequestFailed, Response, answered, failed
from bridge.protocol.status import Stage, Status, move

HOST = HostProcess(pid=1, start_time="1", boot="b")
CLAIM = Claim(session="s", host=HOST, at=2, route="claude", agent_id="agent-7")
REQUEST = Request(request_id="a", prompt="Which?", created_at=10, task_id="t")


ENDS = {"timeout": "timeout", "cancelled": "cancelled", "no_json": "failed"}


@pytest.mark.parametrize(("code", "status"), ENDS.items())
def test_a_failure(code, status):
    end = failed(REQUEST.with_(claim=CLAIM), code, "why", now_ms=17, raw="words")

    assert (end.success, end.status, end.raw_output) == (False, status, "words")
    assert end.error == Failure(code=code, message="why", stage=Stage.OFFERED)
    assert (end.route, end.agent_id) == ("claude", "agent-7")
    assert (end.completed_at, end.duration, end.task_id) == (17, 7, "t")
    assert end.request_digest == REQUEST.digest
    assert not end.own_form


def test_a_failure_that_nobody_worked_on():
    """The clock may have been set back since the request was made."""
    end = failed(REQUEST, "timeout", "why", now_ms=5, stage=Stage.NO_HOST)

    assert (end.route, end.agent_id, end.duration) == ("none", None, 0)
    assert end.error.stage is Stage.NO_HOST
    raised = RequestFailed(end)
    assert str(raised) == (
        "request a failed: why. What to do: start `claude` in the project first; "
        "see all of it: hostbridge show a"
    )
    assert (raised.code, raised.stage) == ("timeout", Stage.NO_HOST)
    assert (raised.request_id, raised.response) == ("a", end)


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_an_answer(schema):
    request = REQUEST.with_(answer_schema=schema)

    end = answered(
        request, raw="{}", parsed={"n": 1}, now_ms=17, route="host", agent_id="x"
    )

    assert (end.success, end.status, end.error) == (True, Status.COMPLETED, None)
    assert (end.raw_output, end.parsed_output, end.agent_id) == ("{}", {"n": 1}, "x")
    assert end.own_form is (schema is not None)


def test_an_answer_that_reports_failure():
    failure = Failure(code="agent_failed", message="no", stage=Stage.RUNNING)

    end = answered(REQUEST, raw="", parsed={}, now_ms=17, route="host", failure=failure)

    assert (end.success, end.status, end.error) == (False, Status.COMPLETED, failure)


def test_a_record_of_an_earlier_version_is_read():
    """It has the name of the first description as its code; both names are shown."""
    old = failed(REQUEST, "timeout", "why", now_ms=17).to_data()
    old["error"] = {"code": "AGENT_005", "message": "why", "stage": "running"}

    read = parse(Response, as_json(old))

    assert (read.error.code, read.error.alias) == ("timeout", "AGENT_005")
    assert parse(Response, read.to_json()) == read


@pytest.mark.parametrize("alias", get_args(SeedCode))
def test_every_old_code_has_a_name_of_today(alias):
    said = {"code": alias, "message": "why", "stage": "running"}
    failure = Failure.model_validate(said)

    assert failure.alias == alias
    assert Failure.model_validate(failure.to_data()) == failure


def test_error_a_code_that_nobody_gave():
    with pytest.raises(ValueError, match="code"):
        Failure.model_validate({"code": "odd", "message": "", "stage": "running"})


# What to do about a failure


@pytest.mark.parametrize(
    ("code", "stage", "cure"),
    [
        ("timeout", Stage.NO_HOST, "start `claude` in the project first"),
        ("timeout", Stage.RUNNING, "ask with a longer deadline (--timeout)"),
        ("no_host", Stage.NO_HOST, CURES["no_host"]),
        ("unverified", Stage.RUNNING, "see its evidence: hostbridge show 01k3-n-7f"),
    ],
)
def test_the_cure_depends_on_the_stage_and_names_the_request(code, stage, cure):
    assert cure_of(code, stage, "01k3-n-7f", "host") == cure


@pytest.mark.parametrize(
    ("route", "also"),
    [
        ("host", "; /status in the session"),
        ("claude", "; `claude` in a terminal, and /status there"),
        ("endpoint", "; look at the server's own log"),
        ("local", ""),
    ],
)
def test_no_session_has_to_do_with_what_a_server_says(route, also):
    cure = f"read the error: hostbridge show r1{also}"
    assert cure_of("agent_error", Stage.RUNNING, "r1", route) == cure


# The life of a request: every transition in the table


LEGAL = {
    "pending": "processing completed failed timeout cancelled",
    "processing": "pending completed failed timeout cancelled",
}


@pytest.mark.parametrize(("start", "end"), list(itertools.product(Status, Status)))
def test_a_request_moves_only_as_the_table_says(start, end):
    if end in LEGAL.get(start, "").split():
        assert move(start, end) is end
        return

    with pytest.raises(ValueError, match="cannot go") as caught:
        move(start, end)

    assert str(caught.value) == f"a request cannot go from {start} to {end}"
