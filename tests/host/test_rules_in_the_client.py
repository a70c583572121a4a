"""Rules in the real client: what its model is told, and what runs."""

import json

import pytest
from hostworld import host_world
from ruleworld import calling, define_rules, variables_of

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


PUSH = """
on_before_tool:
  - name: no-push
    when: runs(command, "git push")
    block: Ask before {{ command }}.
"""


@pytest.mark.parametrize(
    ("how", "mode"),
    [("one-shot", "default"), ("one-shot", "auto"), ("one-shot", "acceptEdits"),
     ("stream", "default"), ("terminal", "auto")],
)  # fmt: skip
def test_a_blocked_call_does_not_run(tmp_path, how, mode):
    """In every way in which a session is open, and whatever it is allowed."""
    command = "cd . && git push; touch made"
    with host_world(tmp_path, obedient_model(main=calling(command))) as world:
        define_rules(world, PUSH)
        world.allow("Bash")
        world.tell(how, mode=mode, turns=3)
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert not made
    assert "Ask before cd . && git push; touch made." in words
    assert "[rule no-push (" in words


def test_a_command_of_a_monitor_is_one_of_a_shell(tmp_path):
    """Which runs no call of Bash, though the client shows its beginning as one."""
    more = {"description": "d", "timeout_ms": 5000}
    turns = [
        tool_use("ToolSearch", {"query": "select:Monitor", "max_results": 9}),
        tool_use("Monitor", {"command": "git push; touch made", **more}),
        tool_use("Monitor", {"command": "echo x", **more}),
    ]
    seen = 'set_variable: {seen: "${{ tool_name }}"}'
    after = f"on_after_tool: [{{when: 'runs(command, \"echo\")', {seen}}}]\n"

    def script(_request):
        return reply(turns.pop(0)) if turns else reply("ok")

    with host_world(tmp_path, obedient_model(main=script)) as world:
        define_rules(world, PUSH + after)
        world.allow("Bash", "Monitor")
        world.tell("one-shot")
        words = world.main_words()
        known = variables_of(world)

    assert not (world.stage.project / "made").exists()
    assert "Ask before git push; touch made." in words
    assert known == {"seen": "Monitor"}


@pytest.mark.parametrize("prompt", ["go", "/helper"])
def test_a_command_in_a_skill_is_one_of_a_shell(tmp_path, prompt):
    """Whether the model uses the skill, or its user types its name."""
    turns = [tool_use("Skill", {"skill": "helper"})] if prompt == "go" else []

    def script(_request):
        return reply(turns.pop(0)) if turns else reply("ok")

    with host_world(tmp_path, obedient_model(main=script)) as world:
        define_rules(world, PUSH)
        world.allow("Bash", "Skill")
        world.add_skill("!`git push; touch pushed` !`touch made`")
        world.tell("one-shot", prompt)
        words = world.main_words()

    assert world.made() == {"made"}
    assert "Ask before git push; touch pushed." in words


EVERYWHERE = """
on_session_start:
  - inject_context: Say please. [start {{ event.source }}]
on_user_prompt:
  - when: '"secret" in prompt'
    block: Keep that to yourself.
  - increment_variable: prompts
    inject_context: Prompt number one. [prompt]
on_before_tool:
  - tools: [Bash]
    when: command == "ls"
    set_variable: {listed: "${{ command }}"}
    inject_context: It lists. [before]
on_after_tool:
  - when: variables.listed == "ls" and tool_output is not None
    inject_context: Listed, {{ variables.prompts }} prompt. [after]
on_stop:
  - when: variables.listed and not variables.stopped
    set_variable: {stopped: true}
    block: Not yet. [stop]
"""


@pytest.mark.parametrize("how", ["one-shot", "stream"])
def test_every_event_of_the_main_conversation(tmp_path, how):
    """Each in its place, once, and the variables are seen from hook to hook."""
    with host_world(tmp_path, obedient_model(main=calling("ls"))) as world:
        define_rules(world, EVERYWHERE)
        world.allow("Bash")
        world.tell(how)
        words = json.dumps(world.api.turns("main")[-1].body["messages"])
        known = variables_of(world)

    said = ["[start startup]", "[prompt]", "[before]", "1 prompt. [after]", "[stop]"]
    assert [words.count(each) for each in said] == [1] * 5
    assert known == {"prompts": 1, "listed": "ls", "stopped": True}


def test_a_blocked_prompt_reaches_no_model(tmp_path):
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, EVERYWHERE)
        with world.stream(greet=False) as session:
            session.ask("the secret is 42", timeout_s=300)
            session.ask("hello", timeout_s=300)
        words = world.main_words()

    assert "secret is 42" not in words
    assert "hello" in words


INSIDE = """
variables: {limit: 1}
on_before_tool:
  - name: no-write
    when: tool_name == "Write" and limit and depth > 0
    block: "{{ agent }} writes nothing here."
on_after_tool:
  - when: command == "ls" and agent == "worker"
    increment_variable: seen
    inject_context: Seen {{ variables.seen }}. [inside]
on_subagent_stop:
  - name: look-first
    when: agent == "worker" and not variables.seen
    block: Look first.
"""
WORKER = """\
prompt: 'Task: {{ task }}'
allow: [Bash, Write]
lifecycle_variables: {limit: 2}
"""


def test_rules_bind_an_agent_with_its_own_variables(tmp_path):
    """Of a null, which switches a rule off, test_seed_in_the_client.py tells."""
    made = tmp_path / "project" / "made"

    def answers(_prompt, request):
        turn = sum(item.get("role") == "assistant" for item in request.messages)
        if turn == 1:
            return reply(tool_use("Bash", {"command": "ls"}))
        if turn == 2:
            return reply(tool_use("Write", {"file_path": str(made), "content": "x"}))
        return reply('{"status": "success", "summary": "s", "evidence": []}')

    with host_world(tmp_path, obedient_model(answers)) as world:
        define_rules(world, INSIDE)
        world.define("worker", WORKER)
        response = world.serve("stream", agent="worker")
        words = world.subagent_words()

    assert response.success
    assert not made.exists()
    assert "worker writes nothing here." in words
    # It wanted to end before it had looked.
    assert "Look first." in words
    assert "[inside]" in words


def test_an_error_in_rules_is_on_the_users_screen_and_nowhere_else(tmp_path):
    """The call that it is about is refused, and names the way out."""
    text = "on_before_tool: [{when: tool_nam == 'Bash', block: x}]"
    with host_world(tmp_path, obedient_model(main=calling("touch made"))) as world:
        define_rules(world, text)
        world.allow("Bash")
        with world.terminal() as terminal:
            terminal.wait_for_text("1 error in rules, see `hostbridge rules check`")
            terminal.submit("go")
            world.wait_for_turns(3)
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert not made
    assert "1 error in rules" not in words
    assert "unknown name 'tool_nam'" in words
    assert "Until it is fixed, it blocks this" in words
