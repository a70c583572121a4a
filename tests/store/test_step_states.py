"""Step workflows on disk: one per conversation, moved once per event."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from stepflows import HOLDER, LOOP, after, compiled, conversation, prompt

from bridge.errors import InvalidRequest, NewerSchema
from bridge.policy.rule_set import Whose
from bridge.policy.step_record import StepRecord
from bridge.policy.step_workflow import KEYS, step_of
from bridge.store import step_states
from bridge.store.records import with_seal
from bridge.store.step_states import BrokenState, WorkflowActive
from bridge.store.variables import (
    Holder,
    Kept,
    NotYours,
    Variable,
    read_variables,
    values_of,
)
from bridge.workflows import progress

AGENT = Holder.agent("a-1")
FILE = "sessions/s-1.steps.json"


def begun(store, text=LOOP, **params):
    return progress.begin(
        store, conversation(store), compiled(text), params, by="person"
    )


@pytest.fixture
def there(store):
    """The conversation of the session."""
    return conversation(store)


def files(store):
    folders = ("sessions", "agents")
    return sorted(
        f"{folder}/{file.name}"
        for folder in folders
        for file in (store.place.state / folder).glob("*")
        if not file.name.startswith(".")
    )


def test_a_workflow_begins_with_its_variables(store):
    done = begun(store, target_task_id="#42")

    (said,) = done.messages
    assert said.endswith("Validate #42.")
    assert done.moved == (("", "validate"),)
    known = read_variables(store, HOLDER)
    assert known["target_task_id"] == Variable("#42", "model")
    assert known["validation_passed"] == Variable(None, "tool")
    assert known["validation_iteration"] == Variable(1, "tool")
    assert known["max_iterations"] == Variable(3, "tool")
    assert files(store) == ["sessions/s-1.steps", FILE, "sessions/s-1.vars.json"]


def test_there_is_one_per_conversation(store):
    begun(store)
    with pytest.raises(WorkflowActive, match="validate-and-fix is active in this"):
        begun(store)

    other = conversation(store, holder=AGENT)
    progress.begin(store, other, compiled(LOOP), by="agent")
    assert step_of(step_states.find(store, AGENT)) is not None


def test_what_is_said_stays_until_it_is_told(store, there):
    done = begun(store)
    moved = progress.advance(store, there, after("check", {"is_valid": False}))

    assert len(moved.messages) == 2
    progress.told(store, HOLDER, done.rev)
    again = progress.advance(store, there, after("Read"))
    assert again.messages == moved.messages[1:]
    progress.told(store, HOLDER, again.rev)
    assert progress.advance(store, there, after("Read")).messages == ()


def test_telling_nothing_writes_nothing(store):
    done = begun(store)
    progress.told(store, HOLDER, done.rev)
    before = (store.place.state / FILE).stat()
    progress.told(store, HOLDER, done.rev)
    assert (store.place.state / FILE).stat() == before


def test_an_end_is_told_and_then_put_away(store, there):
    begun(store)
    done = progress.advance(store, there, after("check", {"is_valid": True}))

    assert not done.is_active
    assert "has ended in step passed" in done.messages[-1]
    assert FILE in files(store)
    progress.told(store, HOLDER, done.rev)
    assert files(store) == ["sessions/s-1.steps-ended.json", "sessions/s-1.vars.json"]
    with store.folder("sessions") as folder:
        (ended,) = step_states.earlier(folder, HOLDER)
    assert (ended["name"], ended["step"]) == ("validate-and-fix", "passed")
    assert progress.advance(store, there, prompt()) is None
    assert values_of(store, HOLDER)["validation_passed"] is True


def test_another_begins_after_the_end_with_fresh_variables(store, there):
    begun(store)
    progress.advance(store, there, after("check", {"is_valid": True}))
    done = begun(store)

    # Nothing of the first one was told yet.
    assert len(done.messages) == 4
    assert values_of(store, HOLDER)["validation_passed"] is None


def test_a_person_ends_it_before_its_time(store, there):
    begun(store)

    assert (
        "a person" in progress.end(store, there, "a person has ended it").messages[-1]
    )
    assert progress.end(store, there, "again") is None


def test_it_can_begin_with_the_next_event(store, there):
    done = progress.begin(store, there, compiled(LOOP), by="person", is_here=False)

    assert (done.messages, done.moved) == ((), ())
    assert step_of(done.record) is not None
    assert values_of(store, HOLDER)["validation_iteration"] == 0
    moved = progress.advance(store, there, after("check", {"is_valid": True}))
    assert moved.moved == (("", "validate"),)
    assert values_of(store, HOLDER)["validation_iteration"] == 1


def test_parameters_are_declared_variables(store):
    with pytest.raises(InvalidRequest, match="did you mean 'target_task_id'"):
        begun(store, target_task="#1")
    assert files(store) == []


def test_a_model_gives_no_parameter_that_tools_set(store, there):
    code = compiled(LOOP)
    with pytest.raises(NotYours, match="max_iterations is not a model's to set"):
        progress.begin(store, there, code, {"max_iterations": 99}, by="model")
    progress.begin(store, there, code, {"target_task_id": "#1"}, by="model")


def test_a_variable_of_the_rules_is_not_taken_over(store):
    kept = {"fixed": Kept("person", "the person (rules.yaml)")}
    there = conversation(store, kept=kept)

    with pytest.raises(InvalidRequest, match=r"variable fixed, which belongs to the"):
        progress.begin(store, there, compiled(LOOP), by="person")


def test_what_an_agent_began_with_are_its_parameters(store):
    kept = {"target_task_id": Kept("person", "the person (it began with it)")}
    given = {"target_task_id": "#7", "other": 1}
    there = conversation(store, holder=AGENT, kept=kept, given=given)
    done = progress.begin(store, there, compiled(LOOP), by="agent")

    assert done.messages[0].endswith("Validate #7.")
    known = read_variables(store, AGENT)
    assert known["target_task_id"] == Variable("#7", "person")
    assert "other" not in known


def test_settings_are_first_values(store):
    text = """
        variables: {most: "${{ settings.most }}"}
        steps:
          - name: one
            on_enter: [{inject_message: "{{ most }} {{ settings.most }}"}]
        exit_condition: most > 9
    """
    there = conversation(store, settings={"most": 5})
    done = progress.begin(store, there, compiled(text), by="person")

    assert done.messages[0].endswith("5 5")


@pytest.mark.parametrize("size", [0, 1, 200, -3])
def test_a_record_that_was_cut_is_named_and_can_be_ended(store, there, size):
    begun(store)
    file = store.place.state / FILE
    file.write_bytes(file.read_bytes()[:size])

    with pytest.raises(BrokenState, match=r"s-1\.steps\.json.*hostbridge workflow end"):
        progress.advance(store, there, prompt())
    with pytest.raises(BrokenState):
        progress.end(store, there, "a person has ended it")
    assert progress.advance(store, there, prompt()) is None
    begun(store)


@pytest.mark.parametrize("more", [{"schemaVersion": 2}, {"isSecret": True}], ids=str)
def test_a_newer_record_is_refused_and_stays(store, there, more):
    begun(store)
    file = store.place.state / FILE
    record = json.loads(file.read_text()) | more
    del record["seal"]
    with store.state() as state:
        newer = with_seal(json.dumps(record).encode(), state.key(), "steps").decode()
    file.write_text(newer)

    for act in (
        lambda: progress.advance(store, there, prompt()),
        lambda: progress.end(store, there, "x"),
        lambda: begun(store),
    ):
        with pytest.raises(NewerSchema, match="update hostbridge"):
            act()
    assert file.read_text() == newer
    assert StepRecord.__annotations__.keys() == KEYS


def test_a_newer_record_of_earlier_ones_is_refused_and_stays(store, there):
    begun(store)
    file = store.place.state / "sessions" / "s-1.steps-ended.json"
    file.write_text('{"schemaVersion": 2, "ended": []}')

    said = f"{file}: schemaVersion 2 is newer than 1"
    with store.state() as state:
        record = step_states.load(state, there.holder)
        with pytest.raises(NewerSchema, match=said):
            step_states.put_away(state, there.holder, record)

    assert file.read_text() == '{"schemaVersion": 2, "ended": []}'


def test_events_at_the_same_time_are_counted_one_by_one(store, there):
    text = """
        variables: {n: 0}
        steps: [{name: one, on_tool: {Bash: {increment_variable: n}}}]
        exit_condition: n >= 12
    """
    begun(store, text)

    def call(number):
        return progress.advance(store, there, after("Bash", call=f"t-{number % 12}"))

    with ThreadPoolExecutor(8) as threads:
        [*threads.map(call, range(24))]
    record = step_states.find(store, HOLDER)
    assert values_of(store, HOLDER)["n"] == 12
    assert record["status"] == "ended"


def test_pending_variables_are_finished_by_the_next_event(store, there):
    begun(store)
    file = store.place.state / FILE
    record = step_states.find(store, HOLDER)
    changes = {"fixed": True, "validation_iteration": 2}
    pending = {"call": "x", "changes": changes, "counted": {"validation_iteration": 1}}
    with step_states.changing(store) as state:
        step_states.save(state, HOLDER, record | {"pending": pending})

    progress.advance(store, there, prompt())
    known = read_variables(store, HOLDER)
    assert known["fixed"] == Variable(value=True, owner="model")
    assert known["validation_iteration"] == Variable(2, "tool")
    assert "pending" not in json.loads(file.read_text())


def test_prune_removes_what_nobody_resumes(store, clock):
    # The times of files are the real clock's.
    clock.set_wall(time.time() - clock.now_us() / 1_000_000)
    begun(store)
    for file in (store.place.state / "sessions").iterdir():
        assert file.name.startswith("s-1.")
    from bridge.store.prune import prune

    with store.state() as state:
        prune(state)
    assert FILE in files(store)
    clock.set_wall(3600 * 24 * 400)
    with store.state() as state:
        prune(state)
    assert files(store) == []


def test_a_conversation_without_variables_of_its_own(store, there):
    """Conditions see what `whose` says, whatever is on disk."""
    seen = progress.Conversation(
        there.holder, "", lambda: Whose({"fixed": True}), act=there.act
    )
    begun(store)
    progress.advance(store, there, after("check", {"is_valid": False}))
    assert progress.advance(store, seen, prompt()).moved == (("fix", "validate"),)
