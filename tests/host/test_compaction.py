"""A conversation is compacted: in a subagent no session begins."""

from typing import Any

from hookworld import GOOD, HookWorld

from bridge.protocol.contract import HEADING
from bridge.protocol.hook_output import MAX_CONTEXT


def compacted(world: HookWorld, agent: str) -> Any:
    return world.say("SessionStart", source="compact", agent_id=agent)


def test_our_agent_is_told_again_how_to_answer(world):
    schema = {"type": "object", "properties": {"modules": {"type": "array"}}}
    _, _, agent = world.begin(schema=schema)

    said = compacted(world, agent)["hookSpecificOutput"]

    assert set(said) == {"hookEventName", "additionalContext"}
    assert HEADING in said["additionalContext"]
    assert '"modules"' in said["additionalContext"]
    assert "bridge notice" not in said["additionalContext"]


def test_a_long_schema_is_not_cut_in_two(world):
    names = {f"field_{n}": {"type": "string"} for n in range(2000)}
    _, _, agent = world.begin(schema={"type": "object", "properties": names})

    said = compacted(world, agent)["hookSpecificOutput"]["additionalContext"]

    assert len(said) < MAX_CONTEXT
    assert "too long to be repeated" in said
    assert "field_" not in said


def test_it_begins_no_session_and_introduces_nothing(world):
    """Whosever agent it is, the session stays as it was."""
    _, _, agent = world.begin()
    before = world.live()
    world.bridge.cancel(world.store.claimed()[0].request_id)  # type: ignore[arg-type]

    said = [compacted(world, each) for each in (agent, "somebodys")]
    world.session = "unknown"
    said.append(compacted(world, "somebodys"))

    assert said == [{}, {}, {}]
    assert world.live() == before


def test_the_summary_is_no_answer(world):
    """It comes as the last words of an unknown agent."""
    request, _, agent = world.begin()
    compacted(world, agent)

    world.stop("acompact-1", GOOD)
    below = world.start("toolu_x", below=agent)
    world.stop(below, GOOD)
    before = world.code(request)
    world.stop(agent, '{"status": "success", "summary": "mine"}')

    assert (before, world.code(request)) == (None, "success")
