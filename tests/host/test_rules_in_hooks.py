"""Rules at each event: what the client is told, and what is written down."""

import json
import os
from subprocess import PIPE, Popen

import pytest
from defining import started
from hookprocesses import words as words_of
from rulehooks import bash, put_in_force
from seedwords import RULE as SEED

from bridge.host.hook_table import HOOKS
from bridge.host.offers import open_offers
from bridge.rules.compiled import compile_rules

PUSH = """\
on_before_tool:
  - name: no-push
    when: runs(command, "git push")
    block: Ask before {{ command }}.
"""


def test_a_blocked_call_says_why_and_where(world):
    put_in_force(world, PUSH)

    said = bash(world, "cd x && git push -f")

    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"] == (
        "Ask before cd x && git push -f.\n[rule no-push (~/.hostbridge/rules.yaml:2)]"
    )
    assert bash(world, "git log") == {}


def test_a_refused_call_brings_what_other_rules_tell(world):
    put_in_force(world, "on_before_tool: [{block: stop, inject_context: try make}]")

    said = bash(world, "ls")

    assert said["permissionDecision"] == "deny"
    assert said["additionalContext"] == "try make"


def test_the_seeds_own_rule_hands_the_call_over(world):
    put_in_force(world, SEED)

    said = bash(world, "pytest -q 'a {{ b }}'\n")

    assert said["permissionDecision"] == "deny"
    ((request, _claim),) = open_offers(_hook(world))
    assert request.prompt == "Run and report: pytest -q 'a {{ b }}'\n"
    assert f"bridge:{request.request_id}" in said["permissionDecisionReason"]
    again = bash(world, "pytest -q 'a {{ b }}'\n")
    assert again == said
    agent = world.start(world.launch(request.request_id))
    inside = bash(world, "pytest -q", agent_id=agent)
    assert "permissionDecision" not in inside


def _hook(world):
    from bridge.host.context import HookContext
    from bridge.host.events import HookEvent

    (session,) = world.live()
    return HookContext(world.bridge.settings, world.store, HookEvent({}), session, [])


SETS = {"rules.yaml": "usual", "rules/strict.yaml": "strict"}
RULE = "on_before_tool: [{inject_context: %s %s}]\n"


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("", ["user usual"]),
        ("lifecycle_workflow: strict\n", ["user strict"]),
        ("lifecycle_workflow: null\n", []),
    ],
)
def test_an_agent_has_the_rule_set_that_its_definition_chooses(world, field, told):
    """lifecycle_workflow: NAME, or null for none."""
    home = world.bridge.settings.home
    for name, words in SETS.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(RULE % ("user", words))
    world.define("child", field)
    compile_rules(world.bridge.settings, world.store)
    _, _, agent = world.begin(agent="child")

    inside = bash(world, "ls", agent_id=agent).get("additionalContext", "")

    assert inside.splitlines() == told
    assert bash(world, "ls")["additionalContext"] == "user usual"


BELOW = """
variables: {limit: null}
on_before_tool:
  - {when: limit, block: "{{ agent }} at depth {{ depth }}, limit {{ limit }}."}
"""


def test_a_rule_binds_an_agent_of_an_agent(world):
    """With the variables of the agent that started it."""
    put_in_force(world, BELOW)
    nested = world.nest(started(world, "lifecycle_variables: {limit: 2}\n"))

    said = bash(world, "ls", agent_id=nested)["permissionDecisionReason"]

    assert said.startswith("general-purpose at depth 2, limit 2.")
    assert bash(world, "ls") == {}


def test_a_rule_set_that_is_not_there_is_refused_by_name(world):
    home = world.bridge.settings.home
    world.define("child", "lifecycle_workflow: strict\n")
    request = world.submit(agent="child")
    world.say("UserPromptSubmit", prompt="hello")
    world.call_agent(f"bridge:{request}")

    error = world.response(request).error
    assert error.code == "bad_request"
    assert f"there is no {home}/rules/strict.yaml and no" in error.message


def test_rules_are_off_with_the_bridge(world):
    put_in_force(world, PUSH)

    world.bridge.store.place.state.joinpath("off").touch()

    assert bash(world, "git push") == {}


def test_a_rule_obeyed_twice_by_two_entries_counts_once(world):
    put_in_force(world, "on_before_tool: [{increment_variable: n}]\n")

    for _ in range(2):
        bash(world, "ls")

    assert world.variables() == {"n": 1}


def test_calls_at_the_same_time_are_all_counted(world):
    """The hooks of several calls in one message run beside each other."""
    put_in_force(world, COUNT)
    hook = next(h for h in HOOKS if (h.event, h.tools) == ("PreToolUse", "bash"))
    hooks = [Popen(words_of(hook), stdin=PIPE, stdout=PIPE) for _ in range(6)]
    for at, each in enumerate(hooks):
        call = {"tool_input": {"command": "ls"}, "tool_use_id": f"toolu_{at}"}
        event = world.event("PreToolUse", tool_name="Bash", **call)
        each.stdin.write(json.dumps(event).encode())
    # All have started before the first hears what it is about.
    for each in hooks:
        each.stdin.close()
    for each in hooks:
        each.stdout.close()
        each.wait()

    assert world.variables() == {"n": 18, "m": 1}


COUNT = """
on_before_tool:
  - increment_variable: {n: 1}
  - increment_variable: {n: 2}
  - set_variable: {m: 0}
  - increment_variable: m
"""


def test_a_changed_file_is_in_force_at_the_next_event(world):
    put_in_force(world, PUSH)
    file = world.bridge.settings.home / "rules.yaml"

    file.write_text(PUSH.replace("git push", "git pull"))
    os.utime(file, ns=(1, 1))

    assert bash(world, "git push") == {}
    assert bash(world, "git pull")["permissionDecision"] == "deny"
    file.write_text("on_before_tool: [")
    assert bash(world, "git pull", cwd="/x")["permissionDecision"] == "deny"
    file.unlink()
    assert bash(world, "git pull", cwd="/y") == {}


BROKEN = """
on_before_tool:
  - {name: one, when: tool_nam == "Bash", block: no way}
"""


def test_a_broken_blocking_rule_blocks_until_it_is_mended(world):
    put_in_force(world, BROKEN)

    said = bash(world, "ls")

    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"].startswith(
        "hostbridge: the rule one (~/.hostbridge/rules.yaml:3) cannot be asked: 3:23: "
        "unknown name 'tool_nam'; did you mean 'tool_name'?\nUntil it is fixed, it "
        "blocks this."
    )
    assert bash(world, "hostbridge rules check") == {}
    put_in_force(world, BROKEN.replace("block:", "on_error: skip, block:"))
    assert bash(world, "ls", cwd="/x") == {}


def test_a_notice_is_no_prompt_of_a_person(world):
    put_in_force(world, "on_user_prompt: [{block: n, inject_context: x}]")
    _, agent = world.working()
    world.stop(agent)

    assert "hostbridge: " in world.notice(agent)["reason"]
    said = world.say("UserPromptSubmit", prompt="hello")
    assert said["reason"].startswith("n\n[rule ")


def test_a_blocked_prompt_carries_no_offer(world):
    """The offer would be lost: it waits for the next event."""
    put_in_force(world, "on_user_prompt: [{when: prompt == 'x', block: n}]")
    request = world.submit()

    refused = world.say("UserPromptSubmit", prompt="x")
    passed = world.say("UserPromptSubmit", prompt="y")

    assert "bridge:" not in json.dumps(refused)
    context = passed["hookSpecificOutput"]["additionalContext"]
    assert f"bridge:{request}" in context


def test_stopping_is_held_up_only_so_often(world):
    put_in_force(world, "on_stop: [{block: go on}]")

    said = [world.say("Stop", background_tasks=[]) for _ in range(7)]

    assert [bool(each) for each in said] == [True] * 5 + [False] * 2


def test_a_refused_call_of_our_agent_is_one_turn_and_leaves_no_note(world):
    """The call was noted before the rule was asked: it counts there, and only there."""
    agent = started(world, "max_turns: 3\n")
    put_in_force(world, PUSH)

    said = [
        bash(world, command, agent_id=agent, tool_use_id=f"toolu.{n}")
        for n, command in enumerate(["git push", "git push -f", "git log", "git log"])
    ]

    blocked, again, last, after_all = (each.get("permissionDecision") for each in said)
    assert (blocked, again, last, after_all) == ("deny", "deny", None, "deny")
    assert "3 tool calls of this request" in said[3]["permissionDecisionReason"]
    assert len([*(world.store.place.state / "agents").glob("*.bash")]) == 1
