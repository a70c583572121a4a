"""Which agents and models a route knows, and the similar names that an error lists."""

import pytest

from bridge.agents import known_agents
from bridge.errors import InvalidRequest, UnknownAgent

NO_PROMPT = (
    "the route ROUTE does not have its prompt; ask by --route host or claude, or "
    "another agent: known agents are: general-purpose, joker"
)
CLIENTS = "---\nname: joker\ndescription: d\n---\nYou joke.\n"


KNOWN = {
    "general-purpose": "host local",
    "Explore": "host claude",
    "plugin:name": "claude",
    "joker": "host",
}


@pytest.mark.parametrize(("name", "routes"), KNOWN.items())
def test_agents_that_a_route_knows(world, name, routes):
    world.write("joker.md", CLIENTS, "claude-user")

    for route in routes.split():
        known_agents.check_agent(name, world.registry, route)


@pytest.mark.parametrize(
    ("name", "route", "message"),
    [
        ("Explorer", "host", "no agent is named 'Explorer'; did you mean Explore?"),
        ("jokr", "claude", "no agent is named 'jokr'; did you mean joker?"),
        ("joker", "claude", "no agent is named 'joker'; did you mean joker?"),
        ("Explore", "local", f"agent 'Explore' is Claude Code's own: {NO_PROMPT}"),
        ("plugin:x", "endpoint", f"agent 'plugin:x' is a plugin's: {NO_PROMPT}"),
    ],
)
def test_error_an_agent_that_a_route_does_not_know(world, name, route, message):
    world.write("joker.md", CLIENTS, "claude-user")

    with pytest.raises(UnknownAgent) as failed:
        known_agents.check_agent(name, world.registry, route)

    assert str(failed.value) == message.replace("ROUTE", route)


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("general-purpose", False),
        ("Plan", True),
        ("x:y", True),
        ("reviewer", False),
        ("x:y:z", True),
        ("x:y\nz", False),
        ("x:y\u2028z", False),
    ],
)
def test_which_agents_are_the_clients_own(name, *, is_own):
    assert known_agents.is_clients_own(name) is is_own


@pytest.mark.parametrize("extra", [0, 2])
def test_a_long_list_of_names_is_cut(extra):
    known = [f"n{number:02}" for number in range(known_agents.MAX_NAMED + extra)]

    end = " and 2 more (hostbridge agents list)" if extra else ""
    listed = known_agents.nearest("x", known)

    assert (
        listed == f"known agents are: {', '.join(known[: known_agents.MAX_NAMED])}{end}"
    )


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("claude-opus-4-1", "did you mean opus?"),
        ("Sonet", "did you mean sonnet?"),
        ("x", "known models are: fable, haiku, inherit, opus, sonnet"),
    ],
)
def test_error_an_unknown_model(model, hint):
    known_agents.check_model("haiku")
    with pytest.raises(InvalidRequest) as failed:
        known_agents.check_model(model)

    assert str(failed.value) == f"an open session knows no model {model!r}; {hint}"
