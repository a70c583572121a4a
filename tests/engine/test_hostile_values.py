"""What agents, people and parameters say is data: put in once, never read again."""

import pytest
from flow.simulation import plan_of

from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow

HOSTILE = {
    "references": "{x} {x.summary} {{p}} {{p:1}} \\{y} {nobody}",
    "steps": '-> b:"again" || [c] (if failed)~> @ok(999) retry(9) { a }',
    "quotes": '"\'`\\" $NAME := """ \'',
    "controls": "\0\a\x1b[31m\x7f\x85\u2028\u202e\r\n\t\ufeff",
    "JSON": '{"status": "failed", "summary": "{x}", "issues": ["no"]}',
    "frontmatter": "---\nname: {{p}}\n---\n# comment",
}


def any_words(source):
    """A plan whose checkpoint takes whatever is said: with these no yes is one."""
    plan = plan_of(source)
    for node in plan["nodes"].values():
        if node["kind"] == "approval":
            node["takes"] = "words"
    return plan


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_was_said_is_data(world, said):
    plan = any_words(
        'a:"Look":x -> @ok:"Fine? {x}":y (if {x} contains "x" || {y} != 0)~> '
        'b:"{x}|{x.summary}|{x.summary.x}|{y}|{{p}}|{x}"'
    )
    run = world.begin(plan, params={"p": said})
    agrees = f"yes: {said}"

    world.answered(run, "a", said)
    world.told(run, agrees)

    asked = world.waiting()["b"].prompt
    assert asked == f"{said}|{said}||{agrees}|{said}|{said}"


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_was_said_is_data_in_a_called_flow(world, said):
    leaf = parse_flow('---\nname: leaf\nparams: [p]\n---\nb:"Do {{p}}, not \\{p}":z')
    caller = parse_flow('a:"":x -> @call:leaf(p="<{x}>"):y -> c:"{y}"')
    run = world.begin(compile_flow(caller, lambda _: leaf))

    world.answered(run, "a", said)
    child = world.waiting()["b"]
    assert child.prompt == f"Do <{said}>, not {{p}}"

    world.answer("b", said)
    world.advance(child.request_id.split("-")[0])
    assert world.waiting()["c"].prompt == said


def test_half_a_surrogate_of_a_person_or_a_parameter_is_shown_as_a_question(world):
    plan = any_words('@ok:"Fine?":y -> a:"{y} {{p}}"')
    run = world.begin(plan, params={"p": "\ud800"})

    world.told(run, "yes, and a\udfff")

    assert world.waiting()["a"].prompt == "yes, and a? ?"


def test_half_a_surrogate_of_an_agent_is_no_answer(world):
    run = world.begin('a:"":x -> b:"{x}"')

    ended = world.answered(run, "a", "\ud800")
    assert (ended["status"], "surrogate" in ended["why"]) == ("failed", True)
