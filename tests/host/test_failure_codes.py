"""Every failure code that can occur on the host route, from the real client.

The ends of a subagent (agent_missing, agent_error, agent_stopped, quota) are in
test_ends_in_the_client.py.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from aheadclock import AheadClock
from hostworld import bash, code_of, host_world
from polling import wait_until

from bridge.api.bridge import Bridge
from bridge.errors import NoHost
from bridge.protocol.response import RequestFailed
from bridge.protocol.status import Stage
from bridge.store import subagent_runs
from bridge.testing.stage.models import (
    agent_output,
    answering,
    ignoring,
    launching,
    obedient_model,
)
from bridge.testing.stage.replies import error, reply

if TYPE_CHECKING:
    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

SLOW = reply("late", delay_s=600)


def working(_prompt: str, _request: ApiRequest) -> Answer:
    """Call a tool, and another, and never answer."""
    return bash("sleep 0.2")


def says(**output: object) -> Answer:
    return reply(json.dumps({"summary": "s", **output}))


CLAIM = {"type": "test", "content": "ran", "command": "pytest -q", "passed": True}
ANSWERS = {
    "empty_answer": reply(" "),
    "no_json": reply("All is well."),
    "schema_mismatch": says(status="great"),
    "unverified": says(status="success", evidence=[CLAIM]),
    "agent_failed": says(status="failed"),
    "agent_blocked": says(status="blocked"),
}


# Controls, line ends of three kinds, marks that clients strip, an astral one, tags.
SPECIAL_CHARACTERS = (
    "a\tb\r\nc\x1b[31m\x07\x00\u2028\u2029\ufeff\u200b\U0001f600 e\u0301 \x85\x7f "
    "<system-reminder>x</system-reminder> </task-notification> \\ \" ' end  \n\n"
)


@pytest.mark.parametrize("code", ANSWERS)
def test_error_code_of_an_answer(tmp_path, code):
    with host_world(tmp_path, obedient_model(answering(ANSWERS[code]))) as world:
        response = world.serve("stream", max_attempts=1)

    assert (code_of(response), response.success) == (code, False)


def test_error_prompt_echo(tmp_path):
    model = obedient_model(lambda prompt, _: reply(prompt))
    with host_world(tmp_path, model) as world:
        response = world.serve("stream")

    assert code_of(response) == "prompt_echo"


@pytest.mark.parametrize(("how", "mode"), [("one-shot", "auto"), ("stream", "default")])
def test_error_prompt_replaced(tmp_path, how, mode):
    """Of two hooks that rewrite a call, the last to finish wins: it was not ours.

    The agent ends at once, in the foreground before the event of its call tells what
    it was given.
    """
    call: dict[str, object] = {"description": "d", "prompt": "Sing."}
    call |= {"subagent_type": "general-purpose", "run_in_background": how == "stream"}
    output = {"hookEventName": "PreToolUse", "updatedInput": call}
    words = json.dumps({"hookSpecificOutput": output})

    sung = says(status="success")
    with host_world(tmp_path, obedient_model(answering(sung))) as world:
        world.add_command("PreToolUse", f"sleep 5; echo '{words}'", "Agent")
        response = world.serve(how, mode=mode)

    assert code_of(response) == "prompt_replaced"


@pytest.mark.parametrize(("how", "mode"), [("one-shot", "auto"), ("stream", "default")])
def test_every_character_of_a_prompt_is_given(tmp_path, how, mode):
    """What the client alters in a prompt would look like another hook's."""
    with host_world(tmp_path) as world:
        response = world.serve(how, SPECIAL_CHARACTERS, mode=mode)

    assert response.success, response.error


def test_error_declined(tmp_path):
    """Three offers, then no more; the session goes on."""
    with host_world(tmp_path, obedient_model(main=ignoring(99))) as world:
        request = world.submit()
        with world.stream() as session:
            response = world.ended(request)
            after = session.ask("hello again")

    assert code_of(response) == "declined"
    assert after["result"] == "ok"
    assert world.main_words().count("hello again") == 1


def test_error_no_host(tmp_path):
    """A session that has ended does not count."""
    with host_world(tmp_path) as world:
        with world.stream():
            assert len(world.live()) == 1
        with pytest.raises(NoHost) as caught:
            world.bridge.ask("hello")

    assert caught.value.code == "no_host"


def test_error_host_gone(tmp_path):
    """The client is killed, and no other try is left; whoever waits is told."""
    with host_world(tmp_path, obedient_model(answering(SLOW))) as world:
        request = world.drop(prompt="hello", maxAttempts=1)
        with world.stream() as session:
            world.wait_for_run(request)
            session.kill()
            with pytest.raises(RequestFailed) as caught:
                world.bridge.wait(request, timeout_s=60)

    assert caught.value.code == "host_gone"


def test_error_timeout_of_an_agent_that_works_on(tmp_path):
    """It is told twice to answer; then its time is up, and it ends.

    The time for its answer begins at once: the last seconds before a deadline may be
    too few for three tool calls on a busy machine.
    """
    with host_world(tmp_path, obedient_model(working)) as world:
        world.allow("Bash")
        request = world.submit(timeout_s=60)
        with world.stream():
            run = world.wait_for_run(request)
            subagent_runs.change(world.store, run, lambda r: r.with_(answer_at=1))
            response = world.ended(request)
            world.wait_until_forgotten()

    assert code_of(response) == "timeout"
    assert response.error is not None
    assert response.error.message.endswith("the agent went on working")
    assert "answer now" in world.subagent_words()


def test_an_agent_answers_when_its_time_is_nearly_up(tmp_path):
    def answers(prompt: str, request: ApiRequest) -> Answer:
        is_warned = "answer now" in request.newest_text
        return agent_output() if is_warned else working(prompt, request)

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        request = world.submit(timeout_s=60)
        with world.stream():
            run = world.wait_for_run(request)
            subagent_runs.change(world.store, run, lambda r: r.with_(answer_at=1))
            response = world.ended(request)

    assert response.success


def test_error_timeout_of_an_agent_that_thinks_on(tmp_path):
    """Nothing of it is heard: whoever asked ends the request."""
    clock = AheadClock()

    def put_forward(stage: Stage) -> None:
        if stage is Stage.RUNNING:
            clock.ahead_s = 3600

    with host_world(tmp_path, obedient_model(answering(SLOW))) as world:
        asker = Bridge(world.bridge.settings, world.stage.project, clock=clock)
        with world.stream(), pytest.raises(RequestFailed) as caught:
            asker.ask("hello", timeout_s=600, on_stage=put_forward)

    assert (caught.value.code, caught.value.stage) == ("timeout", "running")


def test_error_cancelled(tmp_path):
    """The agent stops at its next tool call, and nobody hears of it."""
    with host_world(tmp_path, obedient_model(working)) as world:
        world.allow("Bash")
        request = world.submit()
        with world.stream():
            world.wait_for_run(request)
            assert world.bridge.cancel(request)
            response = world.ended(request)
            world.wait_until_forgotten()
            asked = len(world.api.turns("subagent"))

    assert code_of(response) == "cancelled"
    assert "<task-id>" not in world.main_words()
    assert len(world.api.turns("subagent")) == asked


def test_error_budget(tmp_path):
    with host_world(tmp_path, env={"BRIDGE_AGENTS_PER_HOUR": "1"}) as world:
        first, second = world.submit(), world.submit()
        with world.stream():
            one = world.ended(first)
            two = world.ended(second)

    assert (code_of(one), code_of(two)) == (None, "budget")


def test_error_depth_of_agents_that_ask_for_agents(tmp_path):
    """A asks for B, B for A: the third from the top may not ask any more."""
    script = (
        "from bridge import Bridge\nprint('asked', Bridge.open().submit('again'))\n"
    )

    def answers(_prompt: str, request: ApiRequest) -> Answer:
        if not request.own_calls:
            return bash(f"{sys.executable} ../ask.py")
        heard = " ".join(result.text for result in request.tool_results)
        return says(status="success", summary=heard[-300:])

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        (world.stage.root / "ask.py").write_text(script)
        request = world.submit("begin")
        with world.stream():
            world.ended(request)
            ended = wait_until(lambda: r if len(r := world.responses()) == 3 else None)
            world.wait_until_forgotten()

    summaries = [response.parsed_output["summary"] for response in ended]
    assert [("DepthExceeded" in summary) for summary in summaries].count(True) == 1
    assert world.store.waiting() == []


def test_error_the_model_of_the_host_is_out_of_reach(tmp_path):
    """An offer was made, and the turn failed: nothing will come of it."""
    refusal = error(429, "rate_limit_error", "Slow down")
    obey = launching()

    def main(request: ApiRequest) -> Answer:
        return refusal if "bridge:" in request.newest_text else obey(request)

    with host_world(tmp_path, obedient_model(main=main)) as world:
        with world.stream():
            request = world.submit(wait_quota=False)
            response = world.ended(request)

    assert code_of(response) == "quota"
