"""Every failure code that can occur on the host route, from the real client.

The ends of a subagent (agent_missing, agent_error, agent_stopped, quota) are in
test_ends_in_the_client.py.
"""

import json

import pytest
from aheadclock import AheadClock
from hostworld import bash, code_of, host_world, named, prompts

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
from bridge.testing.stage.replies import Answer, error, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

SLOW = reply("late", delay_s=600)


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


def answers_of_all_kinds(prompt: str, _request: ApiRequest) -> Answer:
    known = (answer for code, answer in ANSWERS.items() if named(code) in prompt)
    echo = reply(prompt) if named("prompt_echo") in prompt else agent_output()
    return next(known, echo)


@pytest.mark.parametrize(("how", "mode"), [("one-shot", "auto"), ("stream", "default")])
def test_the_words_of_an_agent_have_each_their_code(tmp_path, how, mode):
    """Every character of a prompt is given: what is altered would be another hook's."""
    codes = [*ANSWERS, "prompt_echo"]
    if mode == "auto":
        # The client itself refuses an empty report.
        codes.remove("empty_answer")
    with host_world(tmp_path, obedient_model(answers_of_all_kinds)) as world:
        questions = {**prompts(codes), SPECIAL_CHARACTERS: {}}
        *failed, given = world.serve_all(how, questions, mode=mode, max_attempts=1)

    assert [code_of(response) for response in failed] == codes
    assert given.success, given.error


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


def test_error_agent_denied(tmp_path):
    """Of one agent the call fails; of all, the model has no tool for it."""
    with host_world(tmp_path, obedient_model()) as world:
        world.rule("deny", "Agent(general-purpose)")
        of_one = world.serve("one-shot")
        world.rule("deny")
        request = world.submit()
        with world.stream(args=["--disallowedTools", "Agent"]):
            of_all = world.ended(request)

    assert [code_of(of_one), code_of(of_all)] == ["agent_denied"] * 2
    words = [each.error.message for each in (of_one, of_all) if each.error]
    assert "permission rule 'Agent(general-purpose)' from localSettings" in words[0]
    assert "the session was started with --disallowedTools Agent" in words[1]


def test_error_declined_and_no_host(tmp_path):
    """Three offers, then no more; the session goes on. One that has ended is none."""
    with host_world(tmp_path, obedient_model(main=ignoring(99))) as world:
        request = world.submit()
        with world.stream() as session:
            response = world.ended(request)
            after = session.ask("hello again")
            assert len(world.live()) == 1
        with pytest.raises(NoHost) as caught:
            world.bridge.ask("hello")

    assert code_of(response) == "declined"
    assert after["result"] == "ok"
    assert world.main_words().count("hello again") == 1
    assert caught.value.code == "no_host"


def test_error_timeout_and_host_gone_of_agents_that_think_on(tmp_path):
    """Nothing of one is heard: whoever asked ends the request.

    Then the client is killed, and no other try is left; whoever waits is told.
    """
    clock = AheadClock()

    def put_forward(stage):
        if stage is Stage.RUNNING:
            clock.ahead_s = 3600

    with host_world(tmp_path, obedient_model(answering(SLOW))) as world:
        asker = Bridge(world.bridge.settings, world.stage.project, clock=clock)
        with world.stream() as session:
            with pytest.raises(RequestFailed) as timed_out:
                asker.ask("hello", timeout_s=600, on_stage=put_forward)
            request = world.submit("hello", max_attempts=1)
            world.wait_for_run(request)
            session.kill()
            with pytest.raises(RequestFailed) as gone:
                world.bridge.wait(request, timeout_s=60)

    assert (timed_out.value.code, timed_out.value.stage) == ("timeout", "running")
    assert gone.value.code == "host_gone"


def test_agents_that_work_on(tmp_path):
    """One is told twice to answer; then its time is up, and it ends. One answers.

    Another is cancelled: it stops at its next tool call, and nobody hears of it.

    The time for an answer begins at once: the last seconds before a deadline may be too
    few for three tool calls on a busy machine.
    """

    def answers(prompt, request):
        is_warned = "answer now" in request.newest_text
        if is_warned and named("obeys") in prompt:
            return agent_output()
        return bash("sleep 0.2")

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        late, obeys, cancelled = (
            world.submit(named(name), timeout_s=limit_s)
            for name, limit_s in (("late", 60), ("obeys", 60), ("cancelled", 300))
        )
        with world.stream():
            for request in (late, obeys):
                run = world.wait_for_run(request)
                subagent_runs.change(world.store, run, lambda r: r.with_(answer_at=1))
            run = world.wait_for_run(cancelled)
            assert world.bridge.cancel(cancelled)
            responses = [world.ended(each) for each in (late, obeys, cancelled)]
            world.wait_until_forgotten()
            turns = world.api.turns("subagent")

    assert [code_of(each) for each in responses] == ["timeout", None, "cancelled"]
    assert responses[0].error is not None
    assert responses[0].error.message.endswith("the agent went on working")
    assert any(
        "answer now" in t.heard_text and named("late") in t.prompt for t in turns
    )
    assert "<task-id>" not in world.main_words()
    assert len(world.api.turns("subagent")) == len(turns)


def test_error_the_model_of_the_host_is_out_of_reach(tmp_path):
    """An offer was made, and the turn failed: nothing will come of it."""
    refusal = error(429, "rate_limit_error", "Slow down")
    obey = launching()

    def main(request):
        return refusal if "bridge:" in request.newest_text else obey(request)

    with host_world(tmp_path, obedient_model(main=main)) as world:
        with world.stream():
            request = world.submit(wait_quota=False)
            response = world.ended(request)

    assert code_of(response) == "quota"
