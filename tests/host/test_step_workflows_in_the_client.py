"""Step workflows in the real client: what its model is told, and what runs."""

import json

import forkserver
import pytest
from hostworld import host_world
from polling import wait_until

from bridge.testing.stage.models import launch, new_tokens, obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

STEPS = """
name: two
variables: {seen: false, done: false}
steps:
  - name: look
    allowed_tools: [Read, Bash, Agent]
    on_enter: [{inject_message: Look around first.}]
    transitions: [{to: work, when: seen}]
  - name: work
    on_enter: [{inject_message: Now change it.}]
    transitions: [{to: complete, when: done}]
  - name: complete
exit_condition: current_step == 'complete'
"""
NAGS = f"{STEPS}on_premature_stop: {{message: Set seen., max: 2}}\n"
ACTIVATE = "hostbridge workflow activate two"
SEEN = "hostbridge vars set seen:=true"
DONE = "hostbridge vars set done:=true"
REFUSED = "step look of the workflow two does not allow Write"
LOOK, WORK = "Look around first.", "Now change it."


def define(world, text=STEPS):
    folder = world.bridge.settings.home / "workflows"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "two.yaml").write_text(text)


def shell(command):
    command = command.replace("hostbridge", forkserver.program())
    return tool_use("Bash", {"command": command})


def write(world, name="made"):
    path = str(world.stage.project / name)
    return tool_use("Write", {"file_path": path, "content": "x"})


def doing(calls, *, word="go"):
    """A main thread that makes these calls, one a turn, once it is told `word`."""

    def script(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if calls and word in json.dumps(request.messages):
            return reply(calls.pop(0))
        return reply("ok")

    return script


def made(world, name="made"):
    return (world.stage.project / name).exists()


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_a_step_refuses_says_why_and_its_transition_opens(tmp_path, how):
    calls = []
    with host_world(tmp_path, obedient_model(main=doing(calls))) as world:
        define(world)
        world.allow("Bash", "Write")
        calls += [shell(ACTIVATE), write(world, "early"), shell(SEEN), write(world)]
        calls += [shell(DONE)]
        world.tell(how, words="has ended")
        words = world.main_words()
        left = [*(world.store.place.state / "sessions").glob("*.steps*")]

    assert (made(world, "early"), made(world)) == (False, True)
    assert REFUSED in words
    assert "to work when seen" in words
    assert words.index(LOOK) < words.index(WORK)
    assert "The workflow two has ended" in words
    assert [each.name for each in left if "ended" not in each.name] == []


def test_clear_compaction_and_resume_keep_the_step(tmp_path):
    """It is said again each time, and binds on."""
    calls = []
    with host_world(
        tmp_path, obedient_model(main=doing(calls)), record=["SessionStart"]
    ) as world:
        define(world)
        world.allow("Bash", "Write")
        with world.stream() as opened:
            calls.append(shell(ACTIVATE))
            opened.ask("go")
            assert LOOK in world.main_words()
            for command, source in (("/compact", "compact"), ("/clear", "clear")):
                opened.ask(command)
                wait_until(
                    lambda source=source: world.events[-1]["source"] == source,
                    what=source,
                )
                before = len(world.api.turns("main"))
                calls.append(write(world))
                opened.ask("go on")
                turns = world.api.turns("main")[before:]
                assert any(REFUSED in json.dumps(each.messages) for each in turns)
                last = json.dumps(world.api.turns("main")[-1].body["messages"])
                assert LOOK in last
            (session,) = world.live()
        calls += [write(world), shell(SEEN), write(world, "late")]
        args = ["--resume", session.session_id]
        before = len(world.api.turns("main"))
        assert run_print(world.stage, "go", args=args).exit_code == 0
        resumed = json.dumps(world.api.turns("main")[-1].body["messages"])

    assert (made(world), made(world, "late")) == (False, True)
    assert LOOK in resumed
    assert WORK in resumed


@pytest.mark.parametrize("how", ["one-shot", "stream"])
def test_a_turn_that_ends_early_is_told_to_go_on(tmp_path, how):
    calls = []
    with host_world(tmp_path, obedient_model(main=doing(calls))) as world:
        define(world, NAGS)
        world.allow("Bash")
        calls.append(shell(ACTIVATE))
        world.tell(how)
        last = json.dumps(world.api.turns("main")[-1].body["messages"])

    assert last.count("step look of the workflow two is not done. Set seen.") == 2


OWN = "prompt: 'Task: {{ task }}'\nallow: [Bash, Write]\n"
WORKER = "prompt: 'Task: {{ task }}'\nallow: [Bash, Write]\nworkflow: two\n"
OUTPUT = '{"status": "success", "summary": "s", "evidence": []}'


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
@pytest.mark.parametrize("name", ["two", "worker"])
def test_an_agent_of_ours_works_through_its_own(tmp_path, how, name):
    """Of a file, or of its definition; and the session that it runs in is free."""
    left = []

    def answers(_prompt, _request):
        return reply(left.pop(0)) if left else reply(OUTPUT)

    with host_world(tmp_path, obedient_model(answers)) as world:
        define(world, NAGS)
        world.allow("Bash", "Write")
        own = OWN + STEPS.replace("name: two\n", "")
        world.define("worker", WORKER if name == "two" else own)
        left += [shell("ls"), write(world, "early"), shell(SEEN), write(world)]
        left += [shell(DONE)]
        response = world.serve(how, agent="worker")
        words, main = world.subagent_words(), world.main_words()

    assert response.success
    assert (made(world, "early"), made(world)) == (False, True)
    assert f"You work through the step workflow {name}." in words
    assert REFUSED.replace("two", name) in words
    assert words.index(LOOK) < words.index(WORK)
    assert LOOK not in main
