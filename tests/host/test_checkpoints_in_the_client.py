"""Checkpoints in the real client: its person is asked on the screen, and answers."""

import json
import re

import pytest
from dialogs import answer
from flowruns import begun, now, say, texts, wait_for_end, waiting
from hostworld import host_world
from polling import wait_until

from bridge.api.flow_result import result_of_run
from bridge.testing.stage.models import launching, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

G = "general-purpose"
TWICE = f'@ok:"Is \\"it\\" fine?":word -> {G}:"do {{word}}":x -> @more:"And {{x}}?"'
LOOP = f'@look:"Which?":word -> {G}:"do {{word}}" (if issues)~> @look(2)'
CALL = re.compile(r'\{"questions".*\}')
OBEY = launching()


def asking(request):
    """A main thread that makes the calls that it is told to make."""
    told = [json.loads(each) for each in CALL.findall(request.newest_text)]
    calls = [tool_use("AskUserQuestion", each) for each in told]
    return reply(*calls) if calls else OBEY(request)


def report(prompt, _request):
    """An agent finds an issue in its first round."""
    issues = ["one"] if "one" in prompt.splitlines()[0] else []
    done = {"status": "success", "summary": prompt.splitlines()[0], "issues": issues}
    return reply(json.dumps(done))


@pytest.fixture
def world(tmp_path):
    with host_world(tmp_path, obedient_model(report, main=asking)) as world:
        yield world


def test_the_person_answers_with_keys_and_the_flow_goes_on(world):
    """After /clear, too; and the next session asks what a killed one had on its screen.

    A question that another terminal has answered first stays on the screen; its answer
    does not count, in a loop too.
    """
    with world.terminal() as terminal:
        run = begun(world, TWICE)
        answer(terminal, 'Is "it" fine', "Down", "Down", "yes, but slowly", "Enter")
        answer(terminal, r"And do yes, but slowly\?", "Enter")
        wait_for_end(world, run)

        assert texts(world, run) == ["yes, but slowly", "yes"]
        # The words went past the model, until they were answered.
        first = str(world.api.turns("main")[1].body["messages"])
        assert 'Is \\"it\\" fine' not in first
        assert world.api.turns("subagent")

        run = begun(world, LOOP)
        terminal.wait_for_text("Which?")
        say(world, run, "yes: one")
        answer(terminal, r"Which\?", "2")
        terminal.wait_for_text("this checkpoint was answered before")
        # The agent could be asked only now; then it is the second round.
        wait_until(lambda: now(world, run).run["loops"], what="the second round")
        answer(terminal, r"Which\?", "Down", "Down", "yes: at last", "Enter")
        wait_for_end(world, run)

        assert texts(world, run) == ["yes: one", "yes: at last"]

        terminal.submit("/clear")
        wait_until(lambda: world.live()[0].former_ids, what="another session id")
        run = begun(world, '@ok:"Clear?"')
        answer(terminal, r"Clear\?", "Enter")
        wait_for_end(world, run)

        run = begun(world, '@ok:"Fine?"')
        terminal.wait_for_text("Fine?")
        terminal.kill()
    with world.terminal() as terminal:
        answer(terminal, r"Fine\?", "Enter")
        wait_for_end(world, run)

    assert texts(world, run) == ["yes"]


@pytest.mark.parametrize("mode", ["plan", "acceptEdits", "auto"])
def test_in_every_mode_that_asks(world, mode):
    with world.terminal(mode=mode) as terminal:
        run = begun(world, '@ok:"Fine?"')
        answer(terminal, r"Fine\?", "2")
        wait_for_end(world, run, "failed")

    assert texts(world, run) == ["no"]


def test_esc_leaves_it_to_hostbridge_approve(world):
    with world.terminal() as terminal:
        run = begun(world, '@ok:"Fine?"')
        answer(terminal, r"Fine\?", "Escape")
        terminal.wait_for_text("Declined to answer")
        turns = len(world.api.turns("main"))
        terminal.submit("go on")
        world.wait_for_turns(turns + 1)

        assert waiting(world, run)
        assert "Esc to cancel" not in terminal.screen()


def test_a_model_cannot_answer_itself(tmp_path):
    """It asks something nice, with answers of its own, and names the checkpoint."""
    token = re.compile(r"bridge:[\w-]+-node-[\w-]+")

    def main(request):
        found = token.search(json.dumps(request.body["messages"]))
        if not found or len(request.own_calls) > 1:
            return reply("ok")
        yes, no = ({"label": each, "description": ""} for each in ("yes", "no"))
        mine = {"question": "Nice day?", "header": "h", "options": [yes, no]}
        fields = {"questions": [mine], "answers": {"Nice day?": "yes"}}
        if request.own_calls:
            fields |= {"metadata": {"source": found[0]}}
        return reply(tool_use("AskUserQuestion", fields))

    with host_world(tmp_path, obedient_model(main=main)) as world:
        with world.terminal() as terminal:
            run = begun(world, '@ok:"Delete all?"')
            answer(terminal, r"Nice day\?", "Enter")
            assert texts(world, run) == []
            answer(terminal, r"Delete all\?", "2")
            wait_for_end(world, run, "failed")

    assert result_of_run(world.store, world.bridge.settings, run).text == ""
