"""A run that lacks something here is refused before it begins, with what mends it."""

import json

import pytest
from coordinatorworld import make_repository, register_server
from gitworld import git

from bridge.api import run_needs
from bridge.errors import BridgeError, NoRoute
from bridge.extras import how_to_add

pytestmark = pytest.mark.slow

ABOUT = (
    "task-ops: led through a workflow by hostbridge's own tools, which agents do not "
    "get here on the route {}"
)
REGISTER = (
    "hostbridge install --mcp",
    "open the session anew after that",
    "or have it answered without a session: `--route claude`",
)


@pytest.fixture
def epic(project):
    """A task in a repository; no session has the tools of our MCP server."""
    make_repository(project.folder)
    project.bridge.tasks.create("It greets")
    return project


def refused(project, **options):
    with pytest.raises(BridgeError) as caught:
        project.bridge.run("coordinator", {"task": "1"}, **options)
    assert [*(project.state / "runs").glob("*")] == []
    return caught.value


@pytest.mark.usefixtures("beside")
def test_a_session_without_the_server(epic):
    """Its agents would have none of the tools that they are told to use."""
    error = refused(epic)

    assert isinstance(error, NoRoute)
    assert (error.what, error.ways) == (ABOUT.format("host"), REGISTER)


@pytest.mark.parametrize("route", ["auto", "claude"])
def test_the_extra_is_not_installed(epic, monkeypatch, route):
    """All that is missing is said at once, in the order in which it is mended."""
    monkeypatch.setattr(run_needs, "find_spec", lambda _: None)

    error = refused(epic, route=route)

    more = REGISTER if route == "auto" else ()
    assert error.ways == (how_to_add("mcp"), *more)


def test_the_server_belongs_where_the_hooks_are(epic):
    """Registered once more beside them, they would run twice."""
    settings = epic.folder.parent / "home" / ".claude" / "settings.json"
    epic.run("install", "--user")

    assert "hooks" in json.loads(settings.read_text())
    assert refused(epic).ways[0] == "hostbridge install --user --mcp"


@pytest.mark.parametrize("how", ["registered", "plugin"])
def test_where_the_server_is_only_somebody_to_answer_is_missing(epic, how):
    if how == "registered":
        register_server(epic)
    else:
        file = epic.folder / ".claude" / "settings.json"
        file.parent.mkdir()
        file.write_text('{"enabledPlugins": {"hostbridge@hostbridge": true}}')

    assert refused(epic).code == "no_host"


def test_a_worktree_needs_a_commit(project):
    """Not after an agent has divided the task, with nowhere to build its parts."""
    git(project.folder, "init", "-q")
    project.bridge.tasks.create("It greets")
    register_server(project)

    error = refused(project)

    assert error.code == "worktree"
    assert error.ways == ("git add and git commit first",)
