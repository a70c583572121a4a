"""One machine asks and another answers: the records of both, and what travels."""

import threading
import time

import pytest
from remoteworld import Machine, acting, until
from servingworld import GOOD, saying, until_stopped

from bridge.api.result import result_of
from bridge.cli.asking.answer_text import by_whom
from bridge.protocol import plain_json
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.protocol.question import Asked
from bridge.protocol.response import failed
from bridge.remote import take
from bridge.remote.forward import commit_of
from bridge.remote.keys import Needs

A = RequestId("a")


@pytest.fixture
def here(tmp_path, address):
    return Machine(tmp_path / "here", address)


@pytest.fixture
def there(tmp_path, address):
    return Machine(tmp_path / "there", address)


def forwarding(machine: Machine, name: str = "a") -> threading.Thread:
    thread = threading.Thread(target=machine.forward, args=(name,), daemon=True)
    thread.start()
    return thread


def test_the_answer_is_in_both_records_under_one_id(here, there):
    here.asks(prompt="what?", arguments={}, requester="a program")

    with there.serving() as taker:
        answer = here.forward()

    assert (answer.success, answer.route) == (True, "remote")
    assert answer.parsed_output["summary"] == "fine"
    assert there.response().parsed_output == answer.parsed_output
    found = there.store.find(A)
    assert found.request.prompt == "what?"
    assert found.request.route == "claude"
    assert found.request.requester.endswith(": a program")
    served_by = result_of(answer).served_by
    assert by_whom(result_of(answer)).endswith(f", by claude on {taker.here.name}")
    assert (served_by.machine, served_by.route) == (taker.here.name, "claude")
    assert served_by.project == here.settings.queue.partition("=")[2]
    assert [each.request_id for each, _ in there.ended] == ["a"]


def test_clones_are_one_project_and_say_which_commit(here, there):
    here.commit()
    there.commit(like=here)

    with there.serving():
        here.asks()
        answer = here.forward()

    assert answer.error is None
    assert answer.served_by.commit == commit_of(here.project)
    assert answer.served_by.is_dirty in (False, None)
    (kept,) = here.store.place.state.glob("remote.json")
    assert plain_json.loads(kept.read_bytes())["root"] == answer.served_by.project


@pytest.mark.parametrize("what", ["project", "digest", "agents", "commit", "trust"])
def test_what_a_machine_lacks_is_left_to_others(here, there, what):
    """And the overview says what waits for what."""
    how = {"agents": frozenset({"other"})} if what == "agents" else {}
    fields = {}
    if what == "project":
        here.commit()
    if what == "commit":
        here.commit()
        there.commit(like=here)
        there.commit_again()
        how["same_commit"] = True
    if what in ("digest", "trust"):
        here.agent("lint")
        fields["agent_type"] = "lint"
    if what == "digest":
        there.agent("lint", "Look again.")
    if what == "trust":
        text = (here.settings.home / "agents" / "lint.yaml").read_text()
        (there.project / ".bridge" / "agents").mkdir(parents=True)
        (there.project / ".bridge" / "agents" / "lint.yaml").write_text(text)

    with there.serving(**how) as taker:
        here.asks(timeout=6000, **fields)
        answer = here.forward()
        seen = taker.queue.look()

    assert answer.error.code == "timeout"
    assert answer.error.message.endswith("nobody has taken it from the queue")
    assert there.store.find(A) is None
    assert [machine.machine for machine, _ in seen.machines] == [taker.here.name]


def test_the_same_definition_is_applied_there(here, there):
    for each in (here, there):
        each.agent("lint", "Check this.", "model: haiku\n")
    here.asks(agent_type="lint", prompt="x")
    asked = []

    def act(request, _control):
        asked.append(request)
        return Outcome(GOOD)

    with there.serving(acting(act)):
        answer = here.forward()

    assert answer.success
    assert asked[0].definition.prompt.startswith("Check this.")
    assert asked[0].model == "haiku"


def test_nothing_but_what_was_asked_comes_over(here, there):
    """No definition, no folder, no session; and no variable that rules would obey."""
    for each in (here, there):
        each.agent("lint", more="default_variables:\n  depth: 1\n")
    variables = {"depth": 2, "deploy": True}
    here.asks(agent_type="lint", variables=variables, dedup_key="k", depth=1)

    with there.serving():
        assert here.forward().success

    record = there.store.find(A).request
    assert record.variables == {"depth": 2}
    assert (record.dedup_key, record.session, record.folder) == (None, None, None)
    assert (record.max_attempts, record.wait_quota) == (1, False)


def test_a_failed_try_is_made_again_by_whoever_asked(here, there):
    """Each try is an entry, and a request there, of its own."""
    tries = iter([Outcome(code="agent_error", detail="API Error 500"), Outcome(GOOD)])
    here.asks(max_attempts=2)

    with there.serving(acting(lambda *_: next(tries))):
        answer = here.forward()

    assert answer.success
    assert there.response("a").error.code == "agent_error"
    assert there.response("a-2").success


def test_one_machine_may_ask_itself(here):
    here.asks()

    with here.serving():
        answer = here.forward()

    assert answer.success
    assert here.response("a-2").parsed_output == answer.parsed_output


def test_a_cancelled_request_stops_the_agent_there(here, there):
    here.asks()
    with there.serving(acting(until_stopped)):
        thread = forwarding(here)
        until(lambda: there.store.find(A))
        began_s = time.monotonic()
        request = here.store.find_unfinished(A)
        end = failed(request, "cancelled", "by its user", now_ms=here.store.now_ms())
        here.store.publish(end, source="cancel")
        until(lambda: there.store.find(A).response)
        took_s = time.monotonic() - began_s
        thread.join()

    assert there.response().error.code == "cancelled"
    assert took_s < 20


def test_a_question_travels_and_so_does_the_reply(here, there):
    def act(_request, control):
        exchange = control.ask(Asked("which?", {"type": "string"}))
        return Outcome(GOOD.replace("fine", exchange.reply))

    here.asks(may_ask=True)
    with there.serving(acting(act)):
        thread = forwarding(here)
        (question,) = until(here.store.open_questions)
        here.store.reply(A, "blue", by="a person", number=None)
        thread.join(timeout=30)

    assert question.words == "which?"
    assert here.response().parsed_output["summary"] == "blue"


def test_who_leaves_hands_back_what_it_holds(here, there, tmp_path, address):
    other = Machine(tmp_path / "other", address)
    here.asks()
    with there.serving(acting(until_stopped)):
        thread = forwarding(here)
        until(lambda: there.store.find(A))
        # Leaving the block is what SIGTERM does.
    with other.serving():
        thread.join(timeout=30)

    assert here.response().error is None
    assert here.response().served_by.machine.endswith(other_name(other))
    assert any(each.startswith("handed back a") for each in there.said)


def other_name(machine: Machine) -> str:
    from bridge.remote.forward import machine_of

    return machine_of(machine.store)[:4]


def test_a_machine_that_was_killed_goes_on_with_its_own_request(here, there):
    """It has the same entry again, and does not begin another request for it."""
    here.asks()
    with there.serving(saying(GOOD)):
        answer = here.forward()
    taken = there.store.find(A).request.queue_entry
    assert answer.success
    taker = there.taker()
    request = there.store.find(A).request

    name = taker.here.submit(request.with_(queue_entry=taken))
    other = taker.here.submit(request.with_(queue_entry=f"{'b' * 16}.a.0"))

    assert (name, other) == ("a", "a-2")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ('{"status": "success"}', "schema_mismatch"),
        ("not JSON", "no_json"),
        ("", "empty_answer"),
        ('{"status": "failed", "summary": "no"}', "agent_failed"),
    ],
)
def test_an_answer_that_does_not_count_is_named(here, there, said, code):
    here.asks(max_attempts=1)

    with there.serving(saying(said)):
        answer = here.forward()

    assert answer.error.code == code
    assert answer.raw_output == said
    assert answer.served_by.route == "claude"


def test_a_late_answer_is_evidence_on_both_ends(
    here, there, tmp_path, address, monkeypatch
):
    monkeypatch.setattr(take, "LEASE_S", 0.3)
    monkeypatch.setattr(take, "RENEW_S", 1000.0)
    other, gate = Machine(tmp_path / "other", address), threading.Event()

    def slow(*_):
        gate.wait(30)
        return Outcome(GOOD.replace("fine", "late"))

    here.asks()
    with there.serving(acting(slow)):
        thread = forwarding(here)
        until(lambda: there.store.find(A))
        time.sleep(0.5)
        with other.serving():
            thread.join(timeout=30)
        gate.set()
        until(lambda: there.store.evidence(A))
    here.asks("b", timeout=300)
    here.forward("b")

    assert here.response().parsed_output["summary"] == "fine"
    (mine,) = there.store.evidence(A)
    assert mine["reason"] == "another machine had answered, or nobody waits"
    (late,) = here.store.evidence(A)
    assert late["reason"].endswith("answered when it was over")
    assert "late" in late["rawOutput"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"agent_type": "$own"}, "an agent of a flow's own is on this machine alone"),
        ({"folder": "/w"}, "its agent works in /w, on this machine"),
        ({"model": "/m/x.gguf"}, "the file of its model is on this machine"),
        (
            {"session": "s"},
            "it goes on with a conversation of this machine",
        ),
    ],
)
def test_error_what_no_other_machine_can_answer(here, fields, why):
    from bridge.remote.forward import why_not

    assert why_not(here.asks(**fields)) == why


def test_work_of_one_route_needs_that(here):
    from bridge.remote.forward import needs_of

    def route(model):
        return needs_of(here.asks(f"r{model[0]}", model=model), None, "p", None).route

    assert [route("haiku"), route("openai:m"), route("x.gguf"), route("claude-o")] == [
        None, "endpoint", "local", "claude",
    ]  # fmt: skip
    assert Needs(agent="a", route="local") != Needs(agent="a")


def test_drain_finishes_what_runs(here, there):
    """Whoever is told to leave takes nothing more, and hands nothing back."""
    gate = threading.Event()

    def slow(*_):
        gate.wait(60)
        return Outcome(GOOD)

    here.asks()
    with there.serving(acting(slow), drain=True) as taker:
        thread = forwarding(here)
        until(lambda: there.store.find(A))
        taker.leave()
        gate.set()
        thread.join(timeout=60)

    assert here.response().success
    assert there.said == []


def test_once_serves_what_waits_and_ends(here, there):
    here.asks()
    thread = forwarding(here)
    queue = there.taker().queue
    until(lambda: queue.look().kinds)

    there.taker(once=True).run()

    thread.join(timeout=60)
    assert here.response().success
    assert queue.look().machines == ()
