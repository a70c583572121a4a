"""A label that says nothing: a checkpoint, unless something jumps to it."""

import pytest
from engine.flowworld import World
from flow.simulation import plan_of

from bridge.flow.checks import check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.drawing import drawing_of, graph_of, mermaid_of
from bridge.flow.parser import parse_flow


def kinds(source):
    """Each label of a flow, and whether it asks a person."""
    plan = plan_of(source)
    return {
        detail["label"]: plan["nodes"][name]["kind"]
        for name, detail in plan["details"].items()
        if detail.get("shows") != "jump" and "label" in detail
    }


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ("a -> @review -> b", {"review": "approval"}),
        ("a -> @review", {"review": "approval"}),
        ("@review -> a", {"review": "approval"}),
        ("@review", {"review": "approval"}),
        ("[a -> @one || b -> @two] -> c", {"one": "approval", "two": "approval"}),
        ("retry(2) { a -> @review }", {"review": "approval"}),
        ("a (if passed)~> @review -> b", {"review": "approval"}),
        ("a (if passed)~> @review", {"review": "approval"}),
        ("a -> @check1 -> b -> @check2", {"check1": "approval", "check2": "approval"}),
        ("@l -> a (if failed)~> @l(3)", {"l": "pass"}),
        ("@l -> a -> @l(3) -> @review", {"l": "pass", "review": "approval"}),
        ('@l:"Sure?" -> a (if failed)~> @l', {"l": "approval"}),
    ],
)
def test_what_nothing_jumps_to_asks(source, labels):
    """The commonest checkpoint of public flows has no words of its own."""
    assert kinds(source) == labels
    flow = parse_flow(source)
    found = check_flow(flow)
    assert ([*found.errors], [*found.warnings]) == ([], [])


def test_it_is_drawn_as_the_checkpoint_that_it_is():
    plan = plan_of('a:"Look" -> @review')

    assert [*map(str, drawing_of(plan))][1] == "node-1  @review: Go on?"
    assert '    node-1[/"@review: Go on?"/]' in mermaid_of(plan)
    assert graph_of(plan)["nodes"][1] == {
        "id": "node-1", "type": "checkpoint", "label": "review",
        "instruction": "Go on?",
    }  # fmt: skip


def test_a_bare_label_of_a_called_flow_asks(tmp_path):
    """It waits in the run of its own; the caller goes on after the yes."""
    world = World(tmp_path)
    leaf = parse_flow("@review")
    caller = parse_flow('@call:leaf -> a:"1"')
    run = world.begin(compile_flow(caller, lambda _: leaf))

    assert (world.advance(run)["status"], world.waiting()) == ("running", {})
