"""The schemas of plain mappings name every key that is written, and no other."""

import json
from typing import Any

import jsonschema
import pytest
from stepflows import LOOP, Deeds, after, compiled, conversation

from bridge.api.record_schemas import schema_for
from bridge.engine.results import put_result
from bridge.shipped import optional_folder
from bridge.store.live_runs import RUNS
from bridge.workflows import progress
from bridge.workflows.reader import read_workflow

# Whatever a step may have.
ALL = """
    name: all
    variables: {n: 0, place: "${{ settings.research_agent }}", found: null}
    owners: {n: tool}
    steps:
      - name: one
        status_message: "{{ n }}"
        allowed_tools: [Read]
        allowed_mcp_tools: ["x:y"]
        blocked_tools: [Bash]
        blocked_mcp_tools: ["x:z"]
        blocked_commands: [{pattern: "git push*"}]
        rules: [{when: n > 5, message: "Enough.", tools: [Read], action: warn}]
        on_enter:
          - {inject_message: "Go.", when: n == 0}
          - increment_variable: n
          - call_tool: {tool: get_task, arguments: {task_id: "#1"}, into: found}
          - spawn_agent: {agent: researcher, prompt: "Look.", into: found}
        on_exit: [{set_variable: {found: null}}]
        on_tool: {Read: {when: n > 0, ok: any, set_variable: {found: tool_output}}}
        on_premature_stop: {message: "Go on.", max: 2}
        transitions: [{to: two, when: found, on_transition: [{inject_message: "!"}]}]
      - {name: two, exit_when: n > 1}
      - {name: three}
    exit_condition: current_step == 'three'
    on_premature_stop: "Go on."
"""


def strict(part: Any) -> Any:
    """A schema that takes no key that it does not name."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: strict(value) for key, value in part.items()}
    return {"additionalProperties": False} | found if "properties" in part else found


def check(name: str, value: Any) -> None:
    jsonschema.validate(value, strict(schema_for(name)))


@pytest.mark.parametrize("text", [LOOP, ALL], ids=["loop", "all"])
def test_the_record_of_a_step_workflow_satisfies_its_schema(store, text):
    """When it begins, after an event, and at its end."""
    here = conversation(store, Deeds({"get_task": {"id": "#1"}}))
    file = store.place.state / "sessions" / "s-1.steps.json"

    progress.begin(store, here, compiled(text), by="person", is_here=False)
    check("step-workflow", json.loads(file.read_text()))
    for number in range(2):
        event = after("Read", {"is_valid": False}, call=f"t-{number}")
        progress.advance(store, here, event)
        check("step-workflow", json.loads(file.read_text()))
    progress.end(store, here, "enough")
    check("step-workflow", json.loads(file.read_text()))


def test_every_shipped_workflow_satisfies_the_schema():
    """What it compiles to is part of the record."""
    schema = strict(schema_for("step-workflow"))
    compiled_one = {**schema, **schema["$defs"]["CompiledWorkflow"]}
    files = sorted(optional_folder("workflows").glob("task-*.yaml"))

    for file in files:
        found = read_workflow(file.read_text(), file, "built-in")
        jsonschema.validate(json.loads(json.dumps(found.compiled())), compiled_one)

    assert len(files) > 1


def test_pending_changes_satisfy_the_schema():
    """They are on disk only while variables are written."""
    schema = strict(schema_for("step-workflow"))
    pending = {"call": "s-1-2", "changes": {"n": 1}, "counted": {"n": 1}}

    jsonschema.validate(pending, {**schema, **schema["$defs"]["Pending"]})


def test_a_result_satisfies_its_schema(store):
    """It is read by whoever goes on with the run."""
    with store.state() as state:
        state[RUNS].folder("r-1").close()
        put_result(state, "r-1", "a-1", {"how": "ok", "why": "", "output": [1]})

    file = store.place.state / RUNS / "r-1" / "results" / "a-1.json"
    check("step-result", json.loads(file.read_text()))
