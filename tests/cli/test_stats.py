"""`hostbridge stats`: how it goes, of real requests, flows and tasks."""

import json
import re
import time
from math import log
from typing import Any

import pytest
from runworld import call, submit
from scripted_server import say

from bridge.cli.records.stats_text import stats_lines
from bridge.cli.screen.screen import cells
from bridge.metrics.metrics import DIMENSIONS
from bridge.protocol.response import Response

pytestmark = pytest.mark.slow

CHECKER = """\
name: checker
routes: [endpoint]
prompt: '{{ task }}'
allow: ["Bash(echo *)"]
"""
NOTHING = 'nothing has ended here yet; begin with: hostbridge ask "Which modules '
NOTHING += 'have no test?"\n'


def figures(text: str) -> str:
    """Lengths of time and moments made equal."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "MOMENT", text)
    return re.sub(r"\b\d+(\.\d)? (ms|s|min)", "SPAN", text)


def buckets(*times_ms: int) -> list[list[int]]:
    """As the metrics count them, worked out another way."""
    found: dict[int, int] = {}
    for ms in times_ms:
        bucket = int(log(max(ms, 1)) / log(1.05))
        found[bucket] = found.get(bucket, 0) + 1
    return [list(pair) for pair in sorted(found.items())]


def test_before_anything_was_asked(project):
    project.run("stats").prints(0, NOTHING)
    assert not project.state.exists()


def ended_in_a_session(project, host) -> tuple[str, str, str]:
    """One success, one that is no JSON, one that is cancelled before anybody began."""
    good = project.submit("a", agent="Explore", model="haiku")
    host.answer(host.claim()[0], '{"status": "success", "summary": "fine"}')
    bad = project.submit("b", agent="Explore", schema={"type": "object"})
    host.answer(host.claim()[0], "prose")
    gone = project.submit("c", agent="Plan")
    project.bridge.cancel(gone)
    return good, bad, gone


def ended_at_a_server(endpoint, server) -> str:
    """An agent that runs what it may, and says so."""
    endpoint.write("agents/checker.yaml", CHECKER, own=True)
    server.acts += [
        say(call("run_command", command="echo hi")),
        say(submit(evidence=[{"type": "x", "content": "hi", "command": "echo hi"}])),
    ]
    ran = endpoint.run("ask", "checker", "Does it?", "--route", "endpoint", "--json")
    return str(ran.json["requestId"])


def waited_ms(project, request: str) -> int:
    asked = project.bridge.status(request).request
    return int(asked.claim.launched_at - asked.created_at)


def cell(agent: str, route: str, model: str | None, **more: Any) -> dict[str, Any]:
    nothing = {
        "ended": 1, "succeeded": 0, "failures": {}, "retries": 0, "corrections": 0,
        "verifiable": 0, "verified": 0, "degraded": 0, "withoutUsage": 0, "waits": [],
        "usage": {"inputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0,
                  "outputTokens": 0, "requests": 0},
    }  # fmt: skip
    key = {"day": time.strftime("%Y-%m-%d"), "agent": agent, "route": route}
    return {**key, "model": model or "", **nothing, **more}


def usage_of(ended: Response) -> dict[str, Any]:
    """What a response says that its agent took, as a cell counts it."""
    if ended.usage is None:
        return {"withoutUsage": 1}
    return {"usage": ended.usage.to_data()}


def test_every_figure_of_real_requests(endpoint, host, server):
    """Each is what the records say; nothing but the journal is read for it."""
    good, bad, gone = ended_in_a_session(endpoint, host)
    seen = ended_at_a_server(endpoint, server)
    ends = {each: endpoint.response(each) for each in (good, bad, gone, seen)}
    waits = {each: waited_ms(endpoint, each) for each in (good, bad, seen)}
    for folder in ("done", "responses"):
        for file in (endpoint.state / folder).iterdir():
            file.unlink()

    found = endpoint.run("stats", "--json", "--by", "route").json

    def of(each: str) -> dict[str, Any]:
        times = {"durations": buckets(ends[each].duration)}
        if each in waits:
            times["waits"] = buckets(waits[each])
        return {**usage_of(ends[each]), **times}

    assert found["cells"] == [
        cell("Explore", "host", None, failures={"no_json": 1}, **of(bad)),
        cell("Explore", "host", "haiku", succeeded=1, verifiable=1, **of(good)),
        cell("Plan", "none", None, failures={"cancelled": 1}, **of(gone)),
        cell("checker", "endpoint", ends[seen].model, succeeded=1, verifiable=1,
             verified=1, degraded=int(ends[seen].degraded), **of(seen)),
    ]  # fmt: skip
    assert [(g["route"], g["ended"], g["successRate"]) for g in found["groups"]] == [
        ("host", 2, 0.5), ("endpoint", 1, 1.0), ("none", 1, 0.0),
    ]  # fmt: skip
    assert (found["total"]["ended"], found["total"]["verifiedShare"]) == (4, 0.5)


@pytest.mark.usefixtures("echo")
def test_flows_and_tasks(project):
    (project.folder / "a.flow").write_text('general-purpose:"a" -> Explore:"b"')
    assert project.run("run", "a.flow", "--route", "claude").code == 0
    tasks = project.bridge.tasks
    for title in "xyz":
        tasks.create(title)
    tasks.close(1)
    tasks.close(1)
    tasks.escalate(2, reason="too large")
    tasks.escalate(2, reason="and too vague")

    ran = project.run("stats")

    found = project.run("stats", "--json").json
    (flow,) = found["flows"]
    assert (flow["ended"], flow["agents"]) == ({"completed": 1}, 2)
    assert sum(count for _, count in flow["durations"]) == 1
    assert found["tasks"] == [
        {"day": time.strftime("%Y-%m-%d"), "created": 3, "closed": 1, "passed": 0,
         "failed": 0, "escalated": 1}
    ]  # fmt: skip
    assert "\nFLOW\tENDED\tOK\tP50\tP95\tAGENTS\tTOKENS\n" in ran.out
    assert (
        "tasks: 3 created, 1 closed, 1 escalated; validations: 0 passed, 0 failed\n"
        in ran.out
    )


def test_a_table_for_people(project, host):
    """What most was asked of comes first; below it, why requests failed."""
    ended_in_a_session(project, host)

    assert figures(project.run("stats").out) == (
        "AGENT\tENDED\tOK\tP50\tP95\tWAIT\tVERIFIED\tRETRIES\tCORRECTIONS\tTOKENS\n"
        "Explore\t2\t50 %\tSPAN\tSPAN\tSPAN\t0 %\t\t\t\n"
        "Plan\t1\t0 %\tSPAN\tSPAN\t-\t-\t\t\t\n"
        "(all)\t3\t33 %\tSPAN\tSPAN\tSPAN\t0 %\t\t\t\n\n"
        "failed: cancelled 1, no_json 1\n\nsince MOMENT; the record begins MOMENT\n"
    )
    by = project.run("stats", "--by", "route", "--by", "model").out.splitlines()
    assert by[0].startswith("ROUTE\tMODEL\tENDED\t")
    assert by[1].startswith("host\t(unknown)\t1\t")


def test_nothing_in_the_time_that_was_asked_for(project, host):
    """There is more on record, and the line says how to see it."""
    ended_in_a_session(project, host)
    journal = project.state / "events.jsonl"
    old = re.sub(r'"at":\d{13}', '"at":1700000000000', journal.read_text())
    journal.write_text(old)

    assert figures(project.run("stats").out) == (
        "nothing has ended since MOMENT; the record begins MOMENT: hostbridge stats "
        "--since all\n"
    )
    assert project.run("stats", "--since", "all", "--json").json["total"]["ended"] == 3


def test_a_hostile_name_cannot_control_a_terminal(project, host):
    """Whoever drops a request by hand may name any model."""
    model = "\u202e\x1b]0;owned\x07" + "x" * 300
    project.drop("odd", agentType="Explore", model=model)
    host.answer(host.claim()[0], "prose")

    for words in (["--by", "model"], ["--json"]):
        ran = project.run("stats", *words)
        assert ran.code == 0
        assert not set(ran.out) & {"\x1b", "\x07", "\u202e"}
        assert "x" * 200 not in ran.out


def test_a_table_fits_a_terminal_of_80_columns(project):
    """With the longest names, and every column in use."""
    project.submit("so that there is a journal")
    now_ms = project.bridge.store.now_ms()
    facts = {
        "agent": "a-name-that-is-longer" * 5, "route": "endpoint",
        "model": "a-model-" * 12, "durationMs": 123_456, "waitMs": 65_432,
        "verified": True, "retries": 12_345, "corrections": 54_321,
        "usage": {"inputTokens": 123_456_789},
    }  # fmt: skip
    lines = [
        json.dumps(
            {"at": now_ms, "event": "completed", "requestId": f"r{n}", **facts},
            separators=(",", ":"),
        )
        for n in range(12_000)
    ]
    (project.state / "events.jsonl").write_text("\n".join(lines) + "\n")

    for by in (["agent"], ["agent", "model"], DIMENSIONS):
        found = project.bridge.stats(by=by)
        assert found.total.ended == 12_000
        shown = [*stats_lines(found, 80)]
        parts = [each if isinstance(each, tuple) else (each,) for each in shown]
        assert max(sum(map(cells, each)) for each in parts) <= 80
