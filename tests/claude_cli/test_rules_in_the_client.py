"""Rules in `claude -p` of ours, and agents that a hook runs by it: the real client."""

import json
import threading
import time
from contextlib import contextmanager

import pytest
from claudeworld import SUCCESS, answered, ask, runs, submits, turns
from hostworld import host_world
from polling import wait_until
from ruleworld import calling, define_rules
from seedwords import DEFINITION
from seedwords import RULE as SEED
from thoroughness import crossed

from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

BLOCK = """
variables: {strict: true}
on_before_tool:
  - name: no-touch
    when: strict and runs(command, "touch")
    increment_variable: refused
    block: No {{ command }} in {{ agent }}.
on_after_tool:
  - when: command == "ls"
    inject_context: "[after ls, refused {{ variables.refused }}]"
on_subagent_stop:
  - name: look-first
    when: not variables.looked
    set_variable: {looked: true}
    block: Look once more.
"""
WORKER = "prompt: 'Task: {{ task }}'\nallow: [Bash]\n"


def words_of(world) -> str:
    return json.dumps([turn.body["messages"] for turn in world.api.turns("main")])


@pytest.mark.parametrize(("kinds", "trusted"), crossed([(), ("user",)], [False, True]))
def test_rules_bind_an_agent_of_claude_p(tmp_path, kinds, trusted):
    """Once, also where the user's own settings have our hooks."""
    ends = submits(SUCCESS)
    model = turns(runs("touch made"), runs("ls"), ends, ends, reply("done"))
    with host_world(tmp_path, model, kinds=kinds) as world:
        define_rules(world, BLOCK)
        world.define("worker", WORKER)
        if not trusted:
            (world.stage.home / ".claude.json").unlink(missing_ok=True)
        ran = ask(world, "worker", "Go.")
        words = words_of(world)
        made = (world.stage.project / "made").exists()

    answer = answered(ran)
    assert answer["success"] is True, ran
    assert ("does not trust" in ran.stderr) is not trusted
    assert not made
    assert "No touch made in worker." in words
    assert "[after ls, refused 1]" in words
    assert "Look once more." in words
    # Nothing is left of an agent that has ended.
    assert list((world.store.place.state / "agents").glob("*.vars")) == []


@pytest.mark.parametrize(
    "off",
    [
        "lifecycle_variables: {strict: null}",
        pytest.param("lifecycle_workflow: null", marks=pytest.mark.full),
    ],
)
def test_a_definition_switches_rules_off(tmp_path, off):
    ends = submits(SUCCESS)
    model = turns(runs("touch made"), ends, ends, reply("done"))
    with host_world(tmp_path, model) as world:
        define_rules(world, BLOCK)
        world.define("worker", WORKER + off)
        ran = ask(world, "worker", "Go.")
        made = (world.stage.project / "made").exists()

    assert answered(ran)["success"] is True
    assert made


SEEDS_AGENT = f"{DEFINITION}\nallow: [Bash]\n"
SWITCHED = "variables: {validation_model: haiku}\n" + SEED.replace(
    "when: tool_name", "when: validation_model and tool_name"
)


@contextmanager
def seeded(folder, script, rules=SWITCHED):
    """A world with the seed's rule and its agent, which a hook runs by `claude -p`."""
    with host_world(folder, script) as world:
        define_rules(world, rules)
        world.define("validation-runner", SEEDS_AGENT)
        world.allow("Bash")
        world.set_env(BRIDGE_CLAUDE=str(world.stage.program))
        yield world


def both(command):
    """The session's model, and that of the agent which the hook runs."""
    agent = turns(runs(command), submits({**SUCCESS, "summary": "all passed"}))
    main = calling("pytest -q", closing="that was it")

    def script(request):
        first = json.dumps(request.messages[0])
        return agent(request) if "Run and report" in first else main(request)

    return script


@pytest.mark.parametrize(
    ("how", "rule"),
    [("one-shot", "switched"), ("stream", "switched"), ("terminal", "switched"),
     ("terminal", "seed")],
)  # fmt: skip
def test_the_seeds_rule_with_its_headless_agent(tmp_path, how, rule):
    """One turn: the hook runs the agent, and the denial holds the typed answer.

    Inside, the agent's pytest runs unblocked: by its null, or since the loop cannot
    happen, which the user is told.
    """
    rules = SWITCHED if rule == "switched" else SEED
    with seeded(tmp_path, both("touch made # pytest"), rules) as world:
        with world.told(how, words="which answered:") as session:
            if how == "terminal":
                time.sleep(2)
                screen = session.history()
        (response,) = world.responses()
        made = (world.stage.project / "made").exists()
        words = [json.dumps(t.body["messages"]) for t in world.api.turns("main")]

    assert (response.success, response.route) == (True, "claude"), response.error
    assert made
    # The request after the refused call has the answer: no other stands between.
    told = [each for each in words if "which answered:" in each]
    assert told
    assert "all passed" in told[0]
    assert '"prompt": "bridge:' not in words[-1]
    if how == "terminal":
        plain = " ".join(screen.split())
        assert ("did not start validation-runner" in plain) is (rule == "seed")


def wait_for_words(world, words):
    wait_until(lambda: words in world.main_words(), what=words)


def slowly(wait):
    """An agent that takes its time, and a session that runs pytest and ruff at once."""
    done = submits({**SUCCESS, "summary": "done at last"})

    def script(request):
        if "Run and report" in json.dumps(request.messages[0]):
            wait()
            return done
        if request.own_calls or "go" not in request.last_user_text:
            return reply("ok")
        commands = ("pytest -q", "ruff check")
        return reply(*(tool_use("Bash", {"command": c}) for c in commands))

    return script


def test_two_calls_in_one_message_are_two_agents_and_one_turn(tmp_path):
    with seeded(tmp_path, slowly(lambda: time.sleep(1))) as world:
        world.tell("stream")
        answers = world.responses()
        last = json.dumps(world.api.turns("main")[-1].body["messages"])

    assert [each.success for each in answers] == [True, True]
    assert last.count("which answered:") == 2


def test_escape_ends_the_wait_and_the_answer_wakes_the_session(tmp_path):
    """Measured on 2.1.330: the client ends the hook, and the agent goes on."""
    is_seen = threading.Event()
    with seeded(tmp_path, slowly(lambda: is_seen.wait(300))) as world:
        with world.terminal() as terminal:
            terminal.submit("go")
            wait_until(world.store.claimed, what="the agent")
            time.sleep(1)
            terminal.key("Escape")
            terminal.wait_for_text("Interrupted", timeout_s=300)
            assert world.responses() == []
            is_seen.set()
            wait_until(world.responses, what="the answer")
            wait_for_words(world, "gave a call of yours")


def test_a_rule_is_asked_about_a_command_in_a_skill(tmp_path):
    uses = reply(tool_use("Skill", {"skill": "helper"}))
    ends = submits(SUCCESS)
    with host_world(tmp_path, turns(uses, ends, ends, reply("done"))) as world:
        define_rules(world, BLOCK)
        world.add_skill("!`touch made`")
        world.define("worker", WORKER.replace("[Bash]", "[Bash, Skill]"))
        ran = ask(world, "worker", "Go.")

    assert answered(ran)["success"] is True, ran
    assert "No touch made in worker." in words_of(world)
    assert world.made() == set()
