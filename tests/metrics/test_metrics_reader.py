"""The journal is read: each end once, whatever else stands in the files."""

import json
import time
from typing import Any

import pytest
from storeworld import FakeClock, path_of, place_in, store_in

from bridge.metrics.counts import Histogram, Tally, Tokens
from bridge.metrics.lines import MOST, OTHERS
from bridge.metrics.metrics import Metrics
from bridge.metrics.reader import read
from bridge.store import journal
from bridge.store.location import open_state
from bridge.store.store import Store

NOW_MS = 1_800_000_000_000
DAY = time.strftime("%Y-%m-%d", time.localtime(NOW_MS / 1000))
USAGE = {
    "inputTokens": 100, "cacheReadTokens": 5000, "cacheWriteTokens": 40,
    "outputTokens": 60, "requests": 2,
}  # fmt: skip


@pytest.fixture
def store(tmp_path):
    store = store_in(tmp_path, clock=FakeClock(NOW_MS * 1000))
    open_state(store.place).close()
    return store


def line(event: str = "completed", request: str = "a", **facts: Any) -> bytes:
    at = facts.pop("at", NOW_MS)
    said = {"at": at, "event": event, "requestId": request, **facts}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def end(request: str = "a", event: str = "completed", **facts: Any) -> bytes:
    known = {"agent": "Explore", "route": "host", "model": "sonnet"}
    return line(event, request, **(known | {"durationMs": 1000} | facts))


def write(store: Store, *lines: bytes, name: str = journal.NAME) -> None:
    path_of(store, name).write_bytes(b"".join(lines))


def metrics(store: Store, *lines: bytes, since_ms: int = 0) -> Metrics:
    write(store, *lines)
    return read(store, since_ms=since_ms)


def only(store: Store, *lines: bytes) -> Tally:
    return metrics(store, *lines).total


def test_an_end_counts_in_its_cell(store):
    found = metrics(
        store,
        end("a", waitMs=20, verified=True, usage=USAGE, retries=1, corrections=2),
        end("b", verified=False, degraded=True),
        end("c", "failed", code="no_json"),
        end("d", code="agent_failed"),
    )

    (cell,) = found.cells
    assert cell[:4] == (DAY, "Explore", "host", "sonnet")
    ends = {"ended": 4, "succeeded": 2, "failures": {"no_json": 1, "agent_failed": 1}}
    tries = {"retries": 1, "corrections": 2}
    worth = {"verifiable": 2, "verified": 1, "degraded": 1}
    usage = {"usage": Tokens(100, 5000, 40, 60, 2), "without_usage": 3}
    times = {"durations": Histogram.of([1000] * 4), "waits": Histogram.of([20])}
    assert cell.tally == Tally(**ends, **tries, **worth, **usage, **times)
    assert (found.events, found.begins_ms, found.until_ms) == (4, NOW_MS, NOW_MS)


def test_an_end_that_two_processes_note_counts_once(store):
    """They may do it in different files, and at different times."""
    write(store, end("a", at=NOW_MS - 5), name="events.1700000000000-0a0b0c0d.jsonl")

    assert only(store, end("a"), end("a", source="sweep"), end("b")).ended == 2


def test_an_id_that_is_used_again_counts_again(store):
    assert only(store, end("a"), end("a", durationMs=2000)).ended == 2


def test_what_was_told_later_replaces_what_the_end_said(store):
    """In the same file or in a newer one; the last counts; a model is told, too."""
    last = USAGE | {"outputTokens": 61}
    told = line("usage", usage=USAGE), line("usage", usage=last, model="opus")
    write(store, end(usage=USAGE | {"inputTokens": 1}), told[0], name="events.1.jsonl")

    (cell,) = metrics(store, told[1], line("usage", "nobody", usage=USAGE)).cells

    assert (cell.model, cell.tally.usage) == ("opus", Tokens(100, 5000, 40, 61, 2))


def test_only_what_lies_in_the_time_counts(store):
    lines = [end(f"r{n}", at=NOW_MS + n) for n in (-3, -2, -1, 0, 1)]

    found = metrics(store, *lines, since_ms=NOW_MS - 2)

    assert (found.total.ended, found.events) == (3, 3)
    assert (found.since_ms, found.begins_ms) == (NOW_MS - 2, NOW_MS - 3)


def test_files_of_every_name_are_read_and_others_are_not(store):
    names = ["events.1.jsonl", "events.1799999999999-01234567.jsonl"]
    others = ["events.jsonl.aside-0a", "events.x.jsonl", "other.1.jsonl"]
    for number, name in enumerate([*names, *others]):
        write(store, end(f"r{number}"), name=name)

    assert only(store, end("now")).ended == 3


HOSTILE = {
    "not JSON": b'{"at":1800000000000,"event":"completed","requestId":"h",\n',
    "not UTF-8": b'{"at":1800000000000,"event":"completed","requestId":"\xff"}\n',
    "half a character": line(request="h", agent="x").replace(b'"x"', b'"\\ud800"'),
    "deep": b'{"at":1800000000000,"event":"completed","requestId":' + b"[" * 10**6
    + b"\n",
    "nobody": line(request=None),
    "a list for an id": line(request=["a"]),
    "inside a text": line("rule", why=end("h").decode()),
    "another event": line("completed twice"),
    "a time of another form": line(at=7),
    "an empty line": b"\n\n",
    "half a line": end("h")[:60],
}  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_broken_line_counts_for_nothing(store, hostile):
    found = metrics(store, end("a"), hostile, b"\n", end("b"))

    assert found.total.ended == 2


WRONG_TYPES = [
    {"agent": ["x"]}, {"agent": None}, {"route": 1}, {"model": {"a": 1}},
    {"usage": "much"}, {"usage": {"inputTokens": "x"}}, {"usage": []},
    {"durationMs": -5}, {"durationMs": 1e99}, {"durationMs": True},
    {"durationMs": 10**30}, {"waitMs": "long"}, {"verified": "yes"},
    {"retries": -1}, {"corrections": 2.5}, {"degraded": 1}, {"code": None},
    {"newer": {"keys": [1]}}, {"usage": {"outputTokens": 2**60}},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_TYPES, ids=str)
def test_a_field_of_a_wrong_type_leaves_the_rest_of_its_line(store, wrong):
    found = only(store, end("a", **wrong), end("b"))

    assert (found.ended, found.succeeded, found.failures) == (2, 2, {})
    assert found.retries == found.corrections == found.degraded == 0
    assert found.usage == Tokens()
    json.dumps(read(store, since_ms=0).to_data())


def test_names_stay_data_short_and_not_too_many(store):
    """Whoever drops requests by hand may name any agent and any model."""
    odd = "\x1b[2J</script>\n" + "x" * 500
    lines = [end(f"r{n}", model=f"m{n}") for n in range(MOST + 20)]

    (first, *_) = metrics(store, end("a", model=odd)).cells
    many = metrics(store, *lines).cells

    assert first.model == "[2J</script> " + "x" * 114 + "…"
    assert len(many) == MOST + 1
    assert next(c for c in many if c.model == OTHERS).tally.ended == 20


def test_lines_of_an_earlier_hostbridge_count(store):
    """They said how a request ended, and nothing of what or how long."""
    found = metrics(
        store,
        line("timeout", code="timeout"),
        line("completed", "b"),
        line("cancelled", "c"),
    )

    (cell,) = found.cells
    assert cell[1:4] == ("", "", "")
    assert cell.tally.failures == {"timeout": 1, "cancelled": 1}
    assert (cell.tally.succeeded, cell.tally.durations) == (1, {})


def test_runs_count_by_their_last_end(store):
    """A run that failed and was gone on with has ended once."""
    run = "r0123456789abcde"
    facts = {"flow": "f", "agents": 3, "tokens": 50}
    found = metrics(
        store,
        line("run begun", run, flow="f"),
        line("run failed", run, durationMs=100, **facts),
        end(f"{run}-node-0-1-1", usage=USAGE),
        line("run completed", run, durationMs=900, **facts),
        line("run paused", "other"),
        line("run cancelled", "r1", durationMs=1, flow=7, agents="x"),
    )

    cancelled, completed = found.flows
    assert (cancelled.name, cancelled.ended) == ("", {"cancelled": 1})
    assert cancelled.agents == 0
    # What its agents told afterwards is more than what the run knew.
    assert (completed.ended, completed.agents, completed.tokens) == (
        {"completed": 1}, 3, 200,
    )  # fmt: skip
    assert completed.durations == Histogram.of([900])


def test_what_happens_to_tasks_is_counted_by_day(store):
    day_ms = 86_400_000
    found = metrics(
        store,
        line("task created", "", task="#1", at=NOW_MS - day_ms),
        *(line(f"task {e}", "", task="#1") for e in ("passed", "failed", "closed")),
        line("task escalated", "", task="#2"),
        line("task eaten", "", task="#2"),
    )

    one, other = found.tasks
    assert (one.created, one.closed) == (1, 0)
    assert (other.closed, other.passed, other.failed, other.escalated) == (1, 1, 1, 1)


def test_a_file_that_becomes_full_while_it_is_read_counts_once(store, monkeypatch):
    """It is read under its old name, renamed, and then found under its new one."""
    write(store, end("a"), line("task created", "", task="#1"))
    listed = journal._older_files

    def rotated(state):
        state.move(journal.NAME, state, "events.1799999999999-0a0b0c0d.jsonl")
        with open(f"{state.path}/events.1799999999999-0a0b0c0d.jsonl", "ab") as file:
            file.write(end("b"))
        return listed(state)

    monkeypatch.setattr(journal, "_older_files", rotated)
    found = read(store, since_ms=0)

    assert (found.total.ended, found.tasks[0].created) == (2, 1)


def test_where_nothing_was_ever_asked_nothing_is_made(tmp_path):
    store = Store(place_in(tmp_path), clock=FakeClock())

    found = read(store, since_ms=0)

    assert (found.cells, found.events, found.begins_ms) == ((), 0, None)
    assert found.since_ms == found.until_ms
    assert not store.place.state.exists()
