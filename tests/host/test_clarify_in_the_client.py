"""The real client: task-expansion leads a session, asks its person, and lasts."""

import json
import sys

import pytest
from dialogs import answer
from hostworld import host_world
from mcpstage import register
from polling import wait_until
from taskstage import SPEC, ours, setting, through

from bridge.testing.stage.models import obedient_model

pytestmark = pytest.mark.host

ACTIVATE = (
    f"{sys.executable} -m bridge workflow activate task-expansion "
    "--param 'target_task_id=#1'"
)
BEGIN = [("Bash", {"command": ACTIVATE})]
RESEARCH = "is to be divided into subtasks"
CLARIFY = "Ask the person, with AskUserQuestion"
DESIGN = "Plan the subtasks of"
SAVE = [ours("save_expansion_spec", task_id="#1", spec=SPEC)]
WHO = "Who is greeted?"
OPTIONS = {"The user": "by name", "Everybody": "the world"}
QUESTION = {
    "question": WHO, "header": "Greeting", "multiSelect": False,
    "options": [{"label": k, "description": v} for k, v in OPTIONS.items()],
}  # fmt: skip
ASK = {
    "please": BEGIN,
    RESEARCH: [setting(needs_clarification=True)],
    CLARIFY: [("AskUserQuestion", {"questions": [QUESTION]})],
    DESIGN: SAVE,
}


def session(tmp_path, steps, **more):
    """A world whose main thread goes through these steps; task #1 is there."""
    main = through(steps, "That is all.")
    return host_world(tmp_path, obedient_model(main=main), **more)


def prepare(world):
    register(world)
    world.allow("Bash", "mcp__hostbridge")
    world.bridge.tasks.create("It greets")


def subtasks(world):
    return [task.title for task in world.bridge.tasks.list(parent="#1")]


def newest(world):
    """What the model has before it, in lines that do not break."""
    words = json.dumps(world.api.turns("main")[-1].body["messages"])
    return words.replace("\\n", " ")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        pytest.param(["Down"], "Everybody", id="chosen", marks=pytest.mark.full),
        pytest.param(["Down", "Down", "only admins"], "only admins", id="typed"),
    ],
)
def test_what_the_person_answers_decides_the_plan(tmp_path, keys, said):
    with session(tmp_path, ASK) as world:
        prepare(world)
        with world.terminal() as terminal:
            terminal.submit("please")
            answer(terminal, WHO[:-1], *keys, "Enter")
            wait_until(lambda: "has ended" in newest(world), what="its end")
        words = newest(world)
        made = subtasks(world)

    decided = words.index("The person decided")
    assert said in words[decided : decided + 200]
    assert words.index(CLARIFY) < decided
    assert made == ["greet() says hello", "greet() is tested"]


def test_who_wants_to_talk_is_not_stuck(tmp_path):
    """Esc, then an answer in words: the model says what was decided."""
    decided = {"needs_clarification": False, "clarification": "the user alone"}
    steps = {**ASK, "greet the user alone": [setting(**decided)]}
    with session(tmp_path, steps) as world:
        prepare(world)
        with world.terminal() as terminal:
            terminal.submit("please")
            answer(terminal, WHO[:-1], "Escape")
            terminal.wait_for_text("Declined to answer")
            terminal.submit("greet the user alone")
            wait_until(lambda: "has ended" in newest(world), what="its end")
        words = newest(world)

    assert "The person decided: the user alone" in words


def test_after_compaction_the_plan_goes_on(tmp_path):
    """The step is said again, and what is saved then becomes subtasks."""
    steps = {
        "please": BEGIN,
        RESEARCH: [setting(research_complete=True)],
        "now save it": SAVE,
    }
    with session(tmp_path, steps, record=["SessionStart"]) as world:
        prepare(world)
        with world.stream(greet=False) as opened:
            opened.ask("please")
            wait_until(lambda: DESIGN in newest(world), what="the plan's step")
            opened.ask("/compact")
            wait_until(
                lambda: world.events[-1]["source"] == "compact", what="the compaction"
            )
            before = len(world.api.turns("main"))
            opened.ask("now save it")
            wait_until(lambda: "is divided" in newest(world), what="its end")
        first = json.dumps(world.api.turns("main")[before].body["messages"])

    assert DESIGN in first
    assert RESEARCH not in first
    assert len(subtasks(world)) == 2
