"""What hooks do inside subagents, ours and others'."""

from hookworld import GOOD, running


def test_hooks_in_a_subagent_stay_silent(world):
    world.submit()

    silent = [
        world.say("PostToolUse", agent_id="other", tool_name="Read", tool_use_id="t"),
        world.use("other"),
        world.say("PermissionRequest", agent_id="other", tool_name="Bash"),
        world.stop("other", GOOD),
    ]

    assert silent == [{}, {}, {}, {}]
    assert len(world.store.waiting()) == 1


def test_agents_of_agents_go_no_deeper_than_the_limit(world):
    """A, B below it, C below that; D is refused. None of them may raise a dialog."""
    _, _, agent = world.begin()

    refused = []
    for level in range(3):
        assert world.permission(agent)["behavior"] == "deny"
        call = f"toolu_nested_{level}"
        said = world.call_agent("work", agent_id=agent, tool_use_id=call)
        refused.append(said.get("permissionDecision") == "deny")
        agent = world.start(call)

    assert refused == [False, False, True]


def test_an_agent_that_its_caller_waits_for_is_not_listed(world):
    """It is still at work, and may still not raise a dialog."""
    _, _, agent = world.begin()
    world.call_agent("n", agent_id=agent, tool_use_id="nested")
    nested = world.start("nested")
    world.use(nested)
    world.change("agents", nested, launchedAt=1)

    world.say("Stop", background_tasks=running(agent))

    assert world.permission(nested)["behavior"] == "deny"
