"""What the shipped texts tell a model to use is there, and is granted to it."""

import asyncio
import json
import re

import pytest
import yaml
from grants import granted

from bridge.agents.load import load
from bridge.config import Settings
from bridge.mcp.server import Server
from bridge.policy.rule_set import Whose
from bridge.policy.step_workflow import refusal
from bridge.policy.tool_lists import permits
from bridge.policy.tool_names import KNOWN, LOCAL_NAMES
from bridge.shipped import agents_folder, optional_folder
from bridge.workflows.reader import find_workflow

OURS = "mcp__hostbridge__"
# Names of tools that are words as well; these are meant only where nothing else can be.
WORDS = {"Agent", "Bash", "Edit", "Monitor", "Read", "Skill", "Task", "Write"}
WORDS |= {"Workflow"}
ENGLISH = {"status"}
NAMES = sorted(file.stem for file in agents_folder().glob("*.yaml"))
FLOWS = ("task-expansion", "task-validation")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The tools of our MCP server."""
    folder = tmp_path_factory.mktemp("project")
    return {tool.name for tool in asyncio.run(Server(folder, 1).list_tools())}


def named(text: str, own: set[str]) -> set[str]:
    """The tools that a text names, ours at least once by their whole names."""
    words = {*re.findall(r"[A-Za-z_]+", text)}
    unclear = {word for word in words & own if OURS + word not in words} - ENGLISH
    assert not unclear, f"by their whole names: {unclear}"
    return words & (KNOWN - WORDS - {*LOCAL_NAMES}) | {
        word for word in words if word.startswith("mcp__")
    }


def definition_of(name):
    return load(agents_folder() / f"{name}.yaml", "built-in").definition


def may_use(definition, tool):
    """Whether it has the tool, and nobody has to be asked about it."""
    is_free = not tool.startswith("mcp__") or granted(*definition.allow, tool=tool)
    return permits(definition.tools, definition.blocked_tools, tool) and is_free


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_has_what_its_prompt_names(name, own):
    definition = definition_of(name)
    tools = named(definition.prompt, own)

    assert {tool for tool in tools if not may_use(definition, tool)} == set()
    assert {tool.removeprefix(OURS) for tool in tools if OURS in tool} <= own


@pytest.mark.parametrize("name", NAMES)
def test_an_agents_own_tools_are_there_and_granted(name, own):
    """What `tools` lists of our server needs no approval: nobody could give it."""
    definition = definition_of(name)
    ours = [tool for tool in definition.tools or () if tool.startswith(OURS)]

    assert {tool.removeprefix(OURS) for tool in ours} <= own
    assert all(may_use(definition, tool) for tool in ours)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"flow-designer"}))
def test_a_prompt_names_only_fields_of_its_answer(name):
    """In backticks: what the schema has, at any depth."""
    definition = definition_of(name)
    fields = set(re.findall(r"`([a-z_]+)`", definition.prompt))
    known = re.findall(r'"([a-z_]+)": *\{', json.dumps(definition.output_schema or {}))

    assert fields <= {*known, "status", "summary", "evidence"}


def messages(step):
    """All that a step may say to its model."""
    for action in step.get("on_enter", ()):
        if "inject_message" in action:
            yield action["inject_message"]
    if "on_premature_stop" in step:
        yield step["on_premature_stop"]["message"]


def read(flow):
    return yaml.safe_load((optional_folder("workflows") / f"{flow}.yaml").read_text())


def steps_of(flow):
    return {step["name"]: step for step in read(flow)["steps"]}


@pytest.mark.parametrize(
    ("flow", "step"), [(flow, step) for flow in FLOWS for step in steps_of(flow)]
)
def test_a_step_allows_what_it_tells_to_use(flow, step, own, tmp_path):
    """By its own gate, and by the agent that goes through it."""
    found = find_workflow(Settings(home=tmp_path), tmp_path, flow)
    record = {"status": "active", "code": found.compiled(), "step": step}
    tools = named("\n".join(messages(steps_of(flow)[step])), own)

    why = {
        tool: refusal(record, {"tool_name": tool, "tool_input": {}}, lambda: Whose({}))
        for tool in tools
    }
    assert {said for said in why.values() if said} == set()
    assert all(may_use(definition_of("task-ops"), tool) for tool in tools)
    assert {tool.removeprefix(OURS) for tool in tools if OURS in tool} <= own


@pytest.mark.parametrize("flow", FLOWS)
def test_a_step_asks_for_no_variable_that_is_not_the_models(flow):
    """`set_variables` would refuse it, and the step could not be left."""
    whole = read(flow)
    for step in whole["steps"]:
        for text in messages(step):
            asked = re.findall(r"values\s+(\{[^}]*\})", text)
            for name in {name for each in asked for name in json.loads(each)}:
                assert whole["owners"].get(name) == "model", (step["name"], name)


# What each is to have, by its plan: steps in this order, and these variables.
STEPS = {
    "task-expansion": "check_resume research clarify design execute complete",
    "task-validation": """
        gather_context validate fix re_validate passed escalate external_review complete
    """,
}
VARIABLES = {
    "task-expansion": """
        target_task_id research_complete spec_saved needs_clarification
        expansion_complete
    """,
    "task-validation": """
        target_task_id validation_passed validation_iteration max_iterations escalated
    """,
}


@pytest.mark.parametrize("flow", FLOWS)
def test_steps_and_variables_are_those_of_the_plan(flow, tmp_path):
    """Whoever sets them from outside, or waits for a step, goes by these names."""
    code = find_workflow(Settings(home=tmp_path), tmp_path, flow).compiled()

    assert [*code["steps"]] == STEPS[flow].split()
    assert set(VARIABLES[flow].split()) <= set(code["variables"])
    assert code["first"] == STEPS[flow].split()[0]
    assert code["exit"] is not None
