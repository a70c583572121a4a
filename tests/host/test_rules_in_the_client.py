"""Rules in the real client: what its model is told, and what runs."""

from __future__ import annotations

import json
import time

import pytest
from hostworld import host_world
from polling import wait_until
from stage.models import launch, new_tokens, obedient_model
from stage.oneshot import run_print
from stage.replies import reply, tool_use

pytestmark = pytest.mark.host


def define_rules(world, text):
    home = world.bridge.settings.home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "rules.yaml").write_text(text)


def calling(*commands, closing="ok"):
    """A main thread that runs commands, one a turn, and launches what it is told to."""
    left = list(commands)

    def script(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if left and "go" in request.last_user_text:
            return reply(tool_use("Bash", {"command": left.pop(0)}))
        return reply(closing)

    return script


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
        if how == "one-shot":
            assert world.print("go", mode=mode).exit_code == 0
        elif how == "stream":
            with world.stream(mode=mode, greet=False) as session:
                session.ask("go", timeout_s=60)
        else:
            with world.terminal(mode=mode) as terminal:
                terminal.submit("go")
                world.wait_for_turns(3)
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert not made
    assert "Ask before cd . && git push; touch made." in words
    assert "[rule no-push (" in words
    assert world.complaints() == ""


SEED = """
on_before_tool:
  - when: tool_name == "Bash" and ("pytest" in command or "ruff" in command or "mypy" in command)
    spawn_agent:
      agent: validation-runner
      prompt: "Run and report: {{ tool_input.command }}"
"""  # noqa: E501 - word for word


def test_the_seeds_rule_end_to_end(tmp_path):
    """Blocked, handed over, run unblocked inside, and answered in the same turn."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "touch made # pytest"}))
        seen = {"type": "command_output", "content": "ok", "passed": True}
        seen["command"] = "touch made # pytest"
        output = {"status": "success", "summary": "all passed", "evidence": [seen]}
        return reply(json.dumps(output))

    with host_world(
        tmp_path, obedient_model(answers, main=calling("pytest -q"))
    ) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        printed = world.print("go")
        (response,) = world.responses()
        made = (world.stage.project / "made").exists()
        words = world.main_words()

    assert printed.exit_code == 0
    assert response.success, (response.error, response.raw_output)
    assert made
    assert "all passed" in words
    assert "Run and report: pytest -q" in world.subagent_words()
    assert world.complaints() == ""


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
        if how == "one-shot":
            assert world.print("go").exit_code == 0
        else:
            with world.stream(greet=False) as session:
                session.ask("go", timeout_s=60)
        last = world.api.turns("main")[-1].body["messages"]
        words = json.dumps(last)
        known = known_variables(world)

    said = [
        "[start startup]",
        "[prompt]",
        "[before]",
        "Listed, 1 prompt. [after]",
        "[stop]",
    ]
    assert [words.count(each) for each in said] == [1] * 5
    assert known == {"prompts": 1, "listed": "ls", "stopped": True}
    assert world.complaints() == ""


def known_variables(world):
    (file,) = (world.store.place.state / "sessions").glob("*.vars.json")
    found = json.loads(file.read_bytes())["variables"]
    return {name: each["value"] for name, each in found.items()}


def test_a_blocked_prompt_reaches_no_model(tmp_path):
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, EVERYWHERE)
        with world.stream(greet=False) as session:
            session.ask("the secret is 42", timeout_s=60)
            session.ask("hello", timeout_s=60)
        words = world.main_words()

    assert "secret is 42" not in words
    assert "hello" in words


def test_variables_outlive_the_end_of_a_session_that_is_resumed(tmp_path):
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, EVERYWHERE)
        world.print("one")
        (session,) = (world.store.place.state / "sessions").glob("*.vars.json")
        name = session.name.removesuffix(".vars.json")
        run_print(world.stage, "two", args=["--resume", name])
        known = known_variables(world)

    assert known["prompts"] == 2


def test_variables_outlive_clear(tmp_path):
    """They go with the session to its new id."""
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, EVERYWHERE)
        with world.terminal() as terminal:
            terminal.submit("/clear")
            terminal.submit("again")
            world.wait_for_turns(2)
        known = known_variables(world)

    assert known["prompts"] >= 2


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
lifecycle_variables: {limit: %s}
"""


@pytest.mark.parametrize("limit", ["2", "null"])
def test_rules_bind_an_agent_with_its_own_variables(tmp_path, limit):
    """A null in its definition switches a rule off for it, and only for it."""
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
        world.define("worker", WORKER % limit)
        response = world.serve("stream", agent="worker")
        words = world.subagent_words()

    assert response.success
    assert made.exists() is (limit == "null")
    assert ("worker writes nothing here." in words) is (limit == "2")
    # It wanted to end before it had looked.
    assert "Look first." in words
    assert "[inside]" in words
    assert world.complaints() == ""


LOOP = """
on_before_tool:
  - when: '"pytest" in command'
    spawn_agent: {agent: general-purpose, prompt: "Run {{ command }}"}
"""


def test_without_any_variable_the_loop_cannot_happen(tmp_path):
    """The agent's own call runs, and the user is told why."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "touch made # pytest"}))
        return reply('{"status": "success", "summary": "s", "evidence": []}')

    with host_world(tmp_path, obedient_model(answers, main=calling("pytest"))) as world:
        define_rules(world, LOOP)
        world.allow("Bash")
        assert world.print("go").exit_code == 0
        made = (world.stage.project / "made").exists()
        (response,) = world.responses()

    assert made
    assert response.success


def verified(command, words="all passed"):
    """An agent that runs a command, and shows it."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": command}), delay_s=1)
        seen = {"type": "command_output", "content": "ok", "passed": True}
        seen["command"] = command
        output = {"status": "success", "summary": words, "evidence": [seen]}
        return reply(json.dumps(output))

    return answers


@pytest.mark.parametrize(
    ("how", "mode"),
    [("stream", "default"), ("terminal", "default"), ("terminal", "auto")],
)
def test_the_answer_reaches_the_same_turn(tmp_path, how, mode):
    """The call of Agent is held until it is there, and no notice repeats it."""
    main = calling("pytest -q", closing="that was it")
    model = obedient_model(verified("touch made # pytest"), main=main)
    with host_world(tmp_path, model) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        if how == "stream":
            with world.stream(greet=False) as session:
                session.ask("go", timeout_s=90)
                world.wait_until_forgotten()
        else:
            with world.terminal(mode=mode) as terminal:
                terminal.submit("go")
                # The greeting, the command, the call of Agent, and the end.
                world.wait_for_turns(4)
                world.wait_until_forgotten()
        turns = world.api.turns("main")
        words = [json.dumps(turn.body["messages"]) for turn in turns]
        (response,) = world.responses()

    assert response.success
    # The turn that follows the call of Agent has the answer.
    called = next(i for i, each in enumerate(words) if '"prompt": "bridge:' in each)
    assert "validation-runner answered" in words[called]
    assert "all passed" in words[called]
    assert words[-1].count("all passed") == 1
    assert "<task-notification>" not in words[-1]
    assert world.complaints() == ""


CHILD = """\
prompt: 'Task: {{ task }}'
allow: [Bash]
"""


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_a_call_of_an_agent_is_handed_over_too(tmp_path, how):
    """An agent of an agent: started by its call, answered into its turn."""
    check = verified("touch made # pytest")

    def answers(prompt, request):
        if "Run and report" in prompt:
            return check(prompt, request)
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "pytest -q"}))
        output = {"status": "success", "summary": "told", "evidence": []}
        return reply(json.dumps(output))

    with host_world(tmp_path, obedient_model(answers)) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        world.define("worker", CHILD)
        if how == "terminal":
            with world.terminal():
                response = world.ended(world.submit(agent="worker"))
        else:
            response = world.serve(how, agent="worker")
        words = world.subagent_words()
        ended = {r.request_id: r for r in world.responses()}

    assert response.success, (response.error, response.raw_output)
    assert len(ended) == 2
    assert all(each.success for each in ended.values()), [
        e.error for e in ended.values()
    ]
    assert (tmp_path / "project" / "made").exists()
    assert "all passed" in words
    assert world.complaints() == ""


TWO = """
on_before_tool:
  - when: runs(command, "pytest", "ruff")
    spawn_agent: {agent: general-purpose, prompt: "Run {{ command }}"}
"""


def summary(prompt, _request):
    """An agent that repeats its task, a second later."""
    task = prompt.partition("Run ")[2].split()[0]
    output = {"status": "success", "summary": f"{task} is done", "evidence": []}
    return reply(json.dumps(output), delay_s=1)


def test_two_calls_at_once_are_answered_in_one_turn(tmp_path):
    def main(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if request.own_calls or "go" not in request.last_user_text:
            return reply("ok")
        return reply(*(tool_use("Bash", {"command": c}) for c in ("pytest", "ruff")))

    with host_world(tmp_path, obedient_model(summary, main=main)) as world:
        define_rules(world, TWO)
        world.allow("Bash")
        with world.terminal() as terminal:
            terminal.submit("go")
            world.wait_for_turns(4)
            world.wait_until_forgotten()
        turns = [json.dumps(t.body["messages"]) for t in world.api.turns("main")]

    assert turns[3].count("pytest is done") == turns[3].count("ruff is done") == 1
    assert len(turns) == 4
    assert world.complaints() == ""


def test_escape_ends_the_wait_and_the_answer_still_comes(tmp_path):
    """The agent goes on; its notice carries what the turn no longer waits for."""

    def slow(_prompt, _request):
        output = {"status": "success", "summary": "done at last", "evidence": []}
        return reply(json.dumps(output), delay_s=12)

    main = calling("pytest")
    with host_world(tmp_path, obedient_model(slow, main=main)) as world:
        define_rules(world, TWO)
        world.allow("Bash")
        with world.terminal() as terminal:
            terminal.submit("go")
            turn = world.wait_for_turns(3)[2]
            assert turn is not None
            wait_until(lambda: world.api.turns("subagent"), what="the agent")
            time.sleep(2)
            terminal.key("Escape")
            time.sleep(2)
            before = len(world.api.turns("main"))
            (request,) = [r.request_id for r in world.store.claimed()]
            response = world.ended(request)
            terminal.submit("and now?")
            wait_until(lambda: "done at last" in world.main_words(), what="the answer")
            history = terminal.history()

    assert response.success
    assert before == 3, history
