"""What agents, people and parameters say is data: put in once, never read again."""

from __future__ import annotations

from functools import partial

import pytest
from engine.flowworld import World
from flow.simulation import plan_of

from bridge.engine import by_hand
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


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def say(world, run, text):
    world.advance(run, partial(by_hand.say, node=None, text=text, by="a test"))


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_was_said_is_data(world, said):
    plan = plan_of(
        'a:"Look":x -> @ok:"Fine? {x}":y (if {x} contains "x" || {y} != 0)~> '
        'b:"{x}|{x.summary}|{x.summary.x}|{y}|{{p}}|{x}"'
    )
    run = world.begin(plan, params={"p": said})

    world.answer("a", said)
    world.advance(run)
    say(world, run, said)

    asked = world.waiting()["b"].prompt
    assert asked == f"{said}|{said}||{said}|{said}|{said}"


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_was_said_is_data_in_a_called_flow(world, said):
    leaf = parse_flow('---\nname: leaf\nparams: [p]\n---\nb:"Do {{p}}, not \\{p}":z')
    caller = parse_flow('a:"":x -> @call:leaf(p="<{x}>"):y -> c:"{y}"')
    run = world.begin(compile_flow(caller, lambda _: leaf))

    world.answer("a", said)
    world.advance(run)
    child = world.waiting()["b"]
    assert child.prompt == f"Do <{said}>, not {{p}}"

    world.answer("b", said)
    world.advance(child.request_id.split("-")[0])
    assert world.waiting()["c"].prompt == said


def test_half_a_surrogate_of_a_person_or_a_parameter_is_shown_as_a_question(world):
    run = world.begin('@ok:"Fine?":y -> a:"{y} {{p}}"', params={"p": "\ud800"})

    say(world, run, "a\udfff")

    assert world.waiting()["a"].prompt == "a? ?"


def test_half_a_surrogate_of_an_agent_is_no_answer(world):
    run = world.begin('a:"":x -> b:"{x}"')

    world.answer("a", "\ud800")

    ended = world.advance(run)
    assert (ended["status"], "surrogate" in ended["why"]) == ("failed", True)
