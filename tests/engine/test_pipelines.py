"""Pipelines: typed values, conditions about steps, failures and loops."""

import pytest
from engine.pipeworld import agent, approval, code, pipeline, tool

from bridge.engine import by_hand
from bridge.engine.view import view
from bridge.errors import InvalidRequest


def test_a_value_that_is_an_expression_alone_keeps_its_type(world):
    first = {"found": [1, {"a": None}], "n": 2}
    asked = {
        "alone": "${{ steps.first.output.found }}",
        "inside": "n=${{ steps.first.output.n }} in ${{ inputs.where }}",
        "all": "${{ steps.first }}",
    }
    plan = pipeline(
        first=tool("set", first),
        second=tool("set", asked),
        _inputs={"where": {"type": "string", "default": "there"}},
        _outputs={"got": "${{ steps.second.output.alone }}"},
    )

    run = world.begin(plan)

    assert world.run(run)["status"] == "completed"
    assert world.output(run, "second") == {
        "alone": first["found"],
        "inside": "n=2 in there",
        "all": {"status": "completed", "output": first, "error": None},
    }


def test_a_step_whose_condition_does_not_hold_is_left_out_and_the_line_goes_on(world):
    plan = pipeline(
        check=tool("set", {"is_expanded": True}),
        spawn=tool("set", {"x": 1}, **{"if": "not steps.check.output.is_expanded"}),
        after=tool("set", "${{ steps.spawn.status }} ${{ steps.spawn.output.x }}"),
    )
    run = world.begin(plan)

    assert world.states(run) == {"check": "ok", "spawn": "passed", "after": "ok"}
    assert world.output(run, "after") == "skipped "


def test_a_result_is_asked_by_either_name_and_given_as_it_is(world):
    """Public files ask for `is_expanded`, where our JSON has `isExpanded`."""
    found = {"isExpanded": True, "tasks": [{"closedChildren": 2}]}
    asked = {
        "is": "${{ steps.look.output.is_expanded }}",
        "closed": "${{ steps.look.output.tasks[0].closed_children }}",
        "all": "${{ steps.look.output }}",
    }
    run = world.begin(pipeline(look=tool("set", found), after=tool("set", asked)))
    world.run(run)

    told = world.output(run, "after")
    assert told == {"is": True, "closed": 2, "all": found}


def test_a_condition_that_cannot_be_decided_stops_the_run_and_says_where(world):
    spawn = tool("set", {}, **{"if": "not steps.check.output.is_expanded"})
    run = world.begin(pipeline(check=tool("set", "a text"), spawn=spawn))

    why = "a condition cannot be decided: a text has no field 'is_expanded'"
    ended = world.run(run)
    assert (ended["status"], ended["why"]) == ("failed", f"spawn: test.yaml:2:1: {why}")


def test_a_step_may_fail_where_it_says_so(world):
    broken = tool("fail", {"message": "it is late"}, on_failure="skip")
    after = tool("set", "${{ steps.broken.status }}: ${{ steps.broken.error }}")
    run = world.begin(pipeline(broken=broken, after=after))

    assert world.output(run, "after") == "failed: it is late"


def test_an_agents_answer_is_a_value(world):
    run = world.begin(
        pipeline(
            one=agent("a", "about ${{ inputs.n }}"),
            two=agent("b", "${{ steps.one.output.summary }} ${{ inputs.text }}"),
            _inputs={"n": {"type": "integer"}, "text": {"default": "${{ inputs.n }}"}},
        ),
        params={"n": "7"},
    )
    assert world.waiting()["a"].prompt == "about 7"
    world.answered(run, "a", "found")

    assert world.waiting()["b"].prompt == "found ${{ inputs.n }}", "data stays data"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "pipeline test needs the input 'n': --param n=..."),
        ({"n": "x"}, "the input 'n' must be of type integer, got 'x'"),
        ({"n": True}, "the input 'n' must be of type integer, got True"),
        ({"n": 1, "m": 1}, "pipeline test has no input 'm'; it takes n"),
    ],
)
def test_what_a_pipeline_is_given_is_checked(world, given, why):
    inputs = {"n": {"type": "integer", "required": True}}
    plan = pipeline(one=tool("set"), _inputs=inputs)
    with pytest.raises(InvalidRequest) as caught:
        world.begin(plan, params=given)
    assert why in str(caught.value)


def test_a_loop_goes_round_as_often_as_it_may(world):
    back = [{"to": "first", "when": True, "max": 3, "body": ["first", "last"]}]
    plan = pipeline(first=tool("set"), last=tool("set", back=back))
    run = world.run(world.begin(plan))

    assert run["status"] == "completed"
    assert (run["nodes"]["last"]["visit"], run["done"]) == (4, 8)


def test_loops_in_loops_end(world, monkeypatch):
    monkeypatch.setattr("bridge.engine.budgets.MAX_DONE", 10)
    body = ["first", "last"]
    back = [{"to": "first", "when": None, "max": 1_000_000, "body": body}]
    run = world.begin(pipeline(first=tool("set"), last=tool("set", back=back)))
    assert world.run(run)["status"] == "paused"
    expected = "10 of its steps were done; resume it for as many again"
    assert world.run(run)["why"] == expected

    again = world.advance(run, by_hand.resume)

    assert (again["status"], again["done"]) == ("paused", 10)


def test_a_pipeline_that_is_called_gives_its_outputs(world):
    inner = pipeline(
        "inner",
        only=tool("set", {"twice": ["${{ inputs.x }}", "${{ inputs.x }}"]}),
        _inputs={"x": {"type": "object", "required": True}},
        _outputs="${{ steps.only.output.twice }}",
    )
    call = {"kind": "call", "detail": {"flow": "inner", "given": code({"x": {"k": 1}})}}
    after = tool("set", "${{ steps.call.output }}")
    run = world.begin(pipeline(call=call, after=after, _flows={"inner": inner}))

    assert world.run(run)["status"] == "completed"
    assert world.output(run, "after") == [{"k": 1}, {"k": 1}]


def test_a_question_nobody_answers_in_time_is_no_yes(world):
    plan = pipeline(ask=approval("Go on?", deadline_s=60), after=tool("set"))
    run = world.begin(plan, policy="skip")
    assert [*view(world.store, run).checkpoints()] == [(run, "ask", f"{run}-ask-1-1")]
    world.clock.go_on(61)

    assert world.advance(run)["why"] == "ask: nobody said yes in time"


def test_a_condition_may_be_about_what_a_person_said(world):
    run = world.begin(
        pipeline(
            ask=approval("Which of ${{ inputs.n }}?"),
            after=tool("set", 1, **{"if": "steps.ask.output == 'yes, but the first'"}),
            _inputs={"n": {"default": 2}},
        )
    )
    world.told(run, "yes, but the first")

    assert world.states(run)["after"] == "ok"
