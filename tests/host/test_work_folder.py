"""An agent that works in a worktree of the project, beside the session's own folder."""

import json

import pytest
from defining import define
from gitworld import Repository, git
from worktreeworld import GRANTS, UNASKED, bash, decided, started, unasked

from bridge.bound.call_notes import after_bash

pytestmark = pytest.mark.slow


def test_grants_hold_in_the_worktree_and_nowhere_else(world, tree):
    """What it may change in its own files, it may not in the person's."""
    agent = started(world, tree)
    places = (tree, world.project, tree.parent, f"{tree}/..")
    commands = (
        f"cd {tree} && pytest -q tests",
        f"cd {tree} && pytest -q ../..",
        f"cd {tree}/.. && pytest -q",
        "pytest -q",
    )

    may = [("Edit", {"file_path": f"{place}/src/x.py"}) for place in places]
    runs = map(bash, commands)

    for calls in (may, runs):
        assert decided(world, agent, calls) == ["allow", "deny", "deny", "deny"]


def test_where_a_shell_looks_for_folders_nobody_can_tell(world, tree, monkeypatch):
    """With a CDPATH `cd src` may be a folder of anybody's."""
    agent = started(world, tree)
    (tree / "src").mkdir(exist_ok=True)
    looks = [f"cd {tree} && cd src && ls", f"cd {tree} && cd ./src && ls"]

    without = decided(world, agent, map(bash, looks))
    monkeypatch.setenv("CDPATH", "/somewhere")

    assert without == ["allow", "allow"]
    assert decided(world, agent, map(bash, looks)) == ["deny", "allow"]


ELSEWHERE = (
    ": it would start outside the folder that this agent works in; begin it with "
    "`cd {tree} && `"
)


BELOW = (
    ": it would start below the folder that this agent works in, where another program "
    "may have its name; begin it with `cd {tree} && `"
)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cd {tree} && make test", None),
        ("cd '{tree}' && make test", None),
        ("cd {tree} && tox -q x", None),
        ("make test", ELSEWHERE),
        ("tox -q", ELSEWHERE),
        ("cd {tree}/.. && tox -q", ELSEWHERE),
        ("cd {tree}/src && make test", BELOW),
        ("cd {tree} && make all", ""),
        ("cd {tree} && make test; rm x", ": a grant covers one plain command, not ';'"),
    ],
)
def test_a_plain_rule_is_meant_for_the_worktree(world, tree, command, why):
    """In the project it would try, or change, what the agent has not written."""
    (tree / "src").mkdir()
    agent = started(world, tree, "allow: ['Bash(make test)', 'Bash(tox *)']\n")

    said = world.permission(agent, "Bash", command=command.format(tree=tree))

    refused = {
        "behavior": "deny",
        "message": "hostbridge: Bash is not granted to this agent"
        f"{(why or '').format(tree=tree)}. Nobody is there to ask. Work without it, or "
        "answer that you are blocked and by what.",
    }
    assert said == ({"behavior": "allow"} if why is None else refused)


def test_a_look_outside_the_sandbox_is_no_look(world, tree):
    agent = started(world, tree)
    call = {"command": f"cat {tree}/a", "dangerouslyDisableSandbox": True}

    assert decided(world, agent, [("Bash", call)]) == ["deny"]


@pytest.mark.parametrize("mode", UNASKED)
def test_its_own_is_free_where_the_mode_asks_nobody(world, tree, mode):
    """And so is the project, at which it may look as it could without a worktree."""
    agent = started(world, tree)
    calls = [
        ("Read", {"file_path": f"{tree}/a"}),
        ("Read", {"file_path": f"{world.project}/a"}),
        ("Edit", {"file_path": f"{tree}/src/x.py"}),
        bash("cat a"),
        bash(f"cd {tree} && git diff"),
        bash(f"cd {tree} && pytest -q"),
    ]

    assert unasked(world, agent, calls, mode) == [None] * len(calls)


def test_other_worktrees_in_the_project_are_kept_from_it(world, tree):
    """They lie in a folder at which it may look."""
    other = world.project / ".claude" / "worktrees" / "other"
    git(world.project, "worktree", "add", "-q", "-b", "other", str(other))
    agent = started(world, tree)
    kept = [
        ("Read", {"file_path": f"{other}/a"}),
        ("Grep", {"pattern": "x", "path": str(world.project)}),
        ("Glob", {"pattern": "**/*", "path": str(world.project)}),
        bash(f"cat {other}/a"),
        bash("grep -r x ."),
        bash("find .claude -type f"),
    ]
    free = [
        ("Read", {"file_path": f"{world.project}/a"}),
        bash(f"sort {world.project}/a"),
    ]
    src = ("Grep", {"pattern": "x", "path": f"{world.project}/folder"})

    assert set(decided(world, agent, kept)) == {"deny"}
    # The client does not ask about the session's own folder.
    assert set(unasked(world, agent, kept, "default")) == {"deny"}
    assert unasked(world, agent, free, "default") == [None, None]
    own = bash(f"grep -r x {tree}")
    assert decided(world, agent, [own, src]) == ["allow", "allow"]


def test_a_worktree_in_the_project_is_its_agents_own(world):
    """The project around it can be searched as a whole."""
    Repository(world.project)
    tree = world.project / ".claude" / "worktrees" / "mine"
    git(world.project, "worktree", "add", "-q", "-b", "mine", str(tree))
    agent = started(world, tree)
    searches = (f"cd {tree} && grep -r x .", "grep -r x .")

    calls = [("Read", {"file_path": f"{tree}/a"}), *map(bash, searches)]

    assert decided(world, agent, calls) == ["allow"] * 3


def test_a_change_that_the_user_forbids_is_forbidden_in_the_worktree(world, tree):
    world.set_permissions(deny=["Edit(src/fixed/**)"])
    agent = started(world, tree)
    files = (f"{tree}/src/fixed/x.py", f"{tree}/src/x.py")

    calls = [("Edit", {"file_path": file}) for file in files]

    assert decided(world, agent, calls) == ["deny", "allow"]
    assert unasked(world, agent, calls) == ["deny", None]


def test_what_the_user_wants_to_be_asked_about_is_asked_in_each_part(world, tree):
    """A look that the mechanism would allow does not override the user's rule."""
    world.set_permissions(ask=["Bash(grep *)"])
    agent = started(world, tree)
    looks = ("grep x a", "cat a | grep x", "cat a")

    calls = [bash(f"cd {tree} && {command}") for command in looks]

    assert decided(world, agent, calls) == ["deny", "deny", "allow"]


def test_evidence_names_a_command_without_the_way_to_the_worktree(world, tree):
    """The prompt has it say `cd FOLDER &&`; the command is what follows."""
    agent = started(world, tree)
    call = {"tool_use_id": "bash-1"}
    call |= {"tool_input": {"command": f"cd {tree} && pytest -q"}}
    world.use(agent, "Bash", **call)
    event = world.event("x", agent_id=agent, tool_name="Bash", **call)
    after_bash(f"{world.store.place.state}/agents/", event, agent, ok=True)
    item = {"type": "command_output", "content": "1 passed", "passed": True}
    words = {"status": "success", "summary": "s"}

    # In the session's folder it has tried another program.
    world.use(agent, "Bash", tool_use_id="bash-2", tool_input={"command": "make"})

    refusals = []
    for command in ("pytest", "make"):
        claim = words | {"evidence": [item | {"command": command}]}
        refusals.append(world.stop(agent, json.dumps(claim))["reason"])
    second = words | {"evidence": [item | {"command": "pytest -q"}]}
    world.stop(agent, json.dumps(second))

    assert "'pytest', which was not seen to run here: " in refusals[0]
    elsewhere = f"cd {world.project} && make"
    assert (
        f"'make', which was not seen to run here, but as '{elsewhere}'" in refusals[1]
    )
    (found,) = world.response("r1").parsed_output["evidence"]
    assert (found["command"], found["verified"]) == ("pytest -q", True)


def test_the_prompt_names_the_folder(world, tree):
    started(world, tree)

    [prompt] = world.prompts.values()

    assert f"Work in the folder {tree}," in prompt
    assert f"`cd {tree} && `" in prompt


def test_an_agent_that_it_starts_works_there_too(world, tree):
    below = world.nest(started(world, tree))

    said = world.permission(below, "Edit", file_path=f"{tree}/src/x.py")

    assert said["behavior"] == "allow"


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("folder", ["/", "relative", "/nowhere", "{home}"])
def test_error_a_folder_that_is_not_the_projects(world, folder):
    """A value of a workflow cannot send an agent anywhere else."""
    define(world, GRANTS)
    place = folder.format(home=world.home)
    world.drop("r1", agentType="worker", prompt="Do it.", folder=place)
    world.say("UserPromptSubmit", prompt="hello")

    output = world.call_agent("bridge:r1")

    assert output["permissionDecision"] == "deny"
    error = world.response("r1").error
    assert error.code == "bad_request"
    assert json.dumps(place)[1:-1] in error.message


def test_error_a_worktree_that_only_claims_to_be_ours(world, tree, tmp_path):
    """A `.git` file that an archive brings names any repository."""
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_text((tree / ".git").read_text())
    world.drop("r1", prompt="Do it.", folder=str(forged))
    world.say("UserPromptSubmit", prompt="hello")

    world.call_agent("bridge:r1")

    assert "nor in a worktree of it" in world.response("r1").error.message
