"""Claude Code's own agents where no session is open: with their words, or not at all.

One that was asked for by name used to be answered by a bare model, with success.
"""

import json

import pytest
from agentworld import define, trust_project
from scripted_server import say

pytestmark = pytest.mark.slow

JOKER = "---\nname: joker\ndescription: Jokes\ntools: Read\n---\nYou joke, always.\n"
REPORT = {"status": "success", "summary": "ha", "evidence": []}
DONE = {"tool": "submit_result", "arguments": REPORT}


@pytest.fixture
def endpoint(endpoint, server):
    """A server that always answers."""
    server.acts = [say(json.dumps(DONE))]
    return endpoint


def joker(project, *, of="project"):
    root = project.folder if of == "project" else project.folder.parent / "home"
    file = root / ".claude" / "agents" / "team" / "joker.md"
    file.parent.mkdir(parents=True)
    file.write_text(JOKER)
    return file


@pytest.mark.parametrize("of", ["project", "user"])
def test_its_prompt_reaches_the_model(endpoint, server, of):
    joker(endpoint, of=of)
    if of == "project":
        trust_project(endpoint.bridge)

    ran = endpoint.run("ask", "joker", "Go on.", "--route", "endpoint", "--json")

    assert ran.code == 0, ran
    assert ran.json["success"]
    system = server.asked[0]["messages"][0]["content"]
    assert system.startswith("You joke, always.\n")
    assert "run_command" not in system


def test_its_prompt_reaches_claude_p(project, claude):
    joker(project)
    trust_project(project.bridge)

    ran = project.run("ask", "joker", "Go on.", "--route", "claude")

    assert ran.code == 0, ran
    assert (claude / "stdin").read_text().startswith("You joke, always.\n\nGo on.\n")
    assert "--agent" not in (claude / "argv").read_text()


def test_error_a_projects_agent_that_is_not_trusted(endpoint, server):
    file = joker(endpoint)

    ran = endpoint.run("ask", "joker", "Go on.", "--route", "endpoint")

    assert (ran.code, server.asked) == (2, [])
    assert ran.err.startswith(
        f"hostbridge: agent 'joker' is defined by this project in {file}, which you "
        "have not trusted\n"
    )


REFUSED = {
    "Plan": "agent 'Plan' is Claude Code's own: the route ROUTE does not have its "
    "prompt; ask by --route host or claude, or another agent: known agents are: ",
    "Explore": "agent 'Explore' is Claude Code's own: the route ROUTE does not have ",
    "foo:bar": "agent 'foo:bar' is a plugin's: the route ROUTE does not have its "
    "prompt; ",
    "jokr": "no agent is named 'jokr'; did you mean joker?",
}


@pytest.mark.parametrize("agent", REFUSED)
@pytest.mark.parametrize("route", ["local", "endpoint"])
def test_error_a_prompt_that_is_not_available(endpoint, server, agent, route):
    joker(endpoint, of="user")

    ran = endpoint.run("ask", agent, "Go on.", "--route", route)

    assert (ran.code, server.asked) == (2, [])
    assert REFUSED[agent].replace("ROUTE", route) in ran.err
    assert endpoint.bridge.overview().waiting == 0


@pytest.mark.parametrize("agent", ["Plan", "foo:bar"])
def test_error_a_dropped_file_names_an_agent_without_a_prompt(endpoint, server, agent):
    """Whoever dropped it: what serves a request looks again."""
    endpoint.drop("dropped", agentType=agent, route="endpoint")

    endpoint.run("serve", "--once", "--route", "endpoint")

    response = endpoint.response("dropped")
    assert server.asked == []
    assert response.error.code == "agent_missing"
    assert "the route endpoint does not have its prompt; ask" in response.error.message


def test_error_a_fallback_without_the_prompt(endpoint, server):
    """Where no session is open, `ask` falls back to a route: not as another agent."""
    endpoint.env["BRIDGE_CLI_FALLBACK"] = "endpoint"

    ran = endpoint.run("ask", "Plan", "Go on.")

    assert (ran.code, server.asked) == (2, [])
    assert "agent 'Plan' is Claude Code's own" in ran.err


def test_an_agent_that_may_run_nothing_says_so_when_asked(project, claude):
    """A headless agent without a grant is denied each command, by nobody in sight."""
    text = "name: runner\nprompt: '{{ task }}'\nmode: headless\n"
    file = define(project, "runner.yaml", text, layer="user")

    ran = project.run("ask", "runner", "Run pytest.")

    assert ran.code == 0, ran
    assert (claude / "stdin").exists()
    assert "agent 'runner': no rule in `allow` grants a command" in ran.err
    file.write_text(f"{text}allow: ['Bash(pytest *)']\n")
    assert "no rule in" not in project.run("ask", "runner", "Run pytest.").err
