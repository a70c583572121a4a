"""What an agent may start depends on what kind of agent it is."""

import os
import shlex

import pytest
from hookworld import HookWorld, hook_world
from mcpworld import STARTED, call_from, run, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("general-purpose", "general-purpose ("),
        ("Explore", "cannot_wait: this runs inside the only open session"),
        ("Plan", "cannot_wait: this runs inside the only open session"),
    ],
)
async def test_who_has_no_tool_agent_is_not_told_to_call_it(kind, says, use):
    """The user's own agents call the server, too."""
    told = await use("start_agent", {"prompt": "Count."}, agent="a1", kind=kind)

    assert text_of(told).startswith(says)


def test_error_another_program_knows_the_id_of_a_call(tmp_path, monkeypatch):
    """It would act as the main thread of a session that is not its own."""
    with hook_world(tmp_path, monkeypatch) as world:

        async def steps(client):
            setting = {"values": {"phase": "red"}}
            refused = await call_from(world, client, "set_variables", setting)

            assert text_of(refused).startswith("unknown_caller: this server was not")

        run(steps, world.project)
        assert not list(world.store.place.state.glob("sessions/*.vars.json"))


# As the client starts the shell of a call.
SHELL = ("bash", "-c", "true && eval '{}' && true")


def test_error_a_command_of_an_agent_knows_the_id_of_a_call(tmp_path, monkeypatch):
    """It would shed its depth, its variables and the guard against loops."""
    world = HookWorld(tmp_path, monkeypatch, os.getpid())
    world.fire("SessionStart", source="startup")
    _, agent = world.working()
    command = f"{shlex.join(STARTED)}; true"
    world.say(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        tool_use_id="toolu_bash",
        agent_id=agent,
        agent_type="general-purpose",
    )

    async def steps(client):
        refused = await call_from(world, client, "start_agent", {"prompt": "Go."})
        assert text_of(refused).startswith("unknown_caller: this server was not")

    run(steps, world.project, [word.format(command) for word in SHELL])
