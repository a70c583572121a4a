"""An agent that works in a worktree of the project, beside the session's own folder."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from defining import define
from gitworld import Repository, git
from hookworld import HookWorld

from bridge import worktrees
from bridge.host.call_notes import after_bash
from bridge.policy.permissions import Call, looks

pytestmark = pytest.mark.slow

GRANTS = "allow: ['Edit(src/**)', 'Bash(pytest [-q] *)']\n"


@pytest.fixture
def tree(world):
    """A worktree of the session's project, as a run makes it."""
    Repository(world.project)
    folder = worktrees.folder_of(world.store.place.state, "run1", "dev")
    return worktrees.create(world.project, "hostbridge/run1/dev", folder).folder


def started(world: HookWorld, folder: Path | str, allow: str = GRANTS) -> str:
    define(world, allow)
    world.drop("r1", agentType="worker", prompt="Do it.", folder=str(folder))
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch("r1")
    return world.start(call)


def test_grants_hold_in_the_worktree_and_nowhere_else(world, tree):
    """What it may change in its own files, it may not in the person's."""
    agent = started(world, tree)

    may = {
        place: world.permission(agent, "Edit", file_path=f"{place}/src/x.py")[
            "behavior"
        ]
        for place in (str(tree), str(world.project), str(tree.parent), f"{tree}/..")
    }
    runs = {
        command: world.permission(agent, "Bash", command=command)["behavior"]
        for command in (
            f"cd {tree} && pytest -q tests",
            f"cd {tree} && pytest -q ../..",
            f"cd {tree}/.. && pytest -q",
            "pytest -q",
        )
    }

    assert list(may.values()) == ["allow", "deny", "deny", "deny"]
    assert list(runs.values()) == ["allow", "deny", "deny", "deny"]


ELSEWHERE = (
    ": it would start outside the folder that this agent works in; begin it with "
    "`cd {tree} && `"
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
        ("cd {tree}/src && make test", ""),
        ("cd {tree} && make all", ""),
        ("cd {tree} && make test; rm x", ": a grant covers one plain command, not ';'"),
    ],
)
def test_a_plain_rule_is_meant_for_the_worktree(world, tree, command, why):
    """In the project it would try, or change, what the agent has not written."""
    (tree / "src").mkdir()
    agent = started(world, tree, "allow: ['Bash(make test)', 'Bash(tox *)']\n")

    said = world.permission(agent, "Bash", command=command.format(tree=tree))

    assert said["behavior"] == ("allow" if why is None else "deny")
    assert said.get("message") == (
        None
        if why is None
        else f"hostbridge: Bash is not granted to this agent{why.format(tree=tree)}. "
        "Nobody is there to ask. Work without it, or answer that you are blocked and "
        "by what."
    )


@pytest.mark.parametrize("allow", [GRANTS, ""])
def test_it_looks_at_its_own_worktree(world, tree, allow):
    """The client asks: the worktree is none of the session's folders."""
    (tree / "kept").symlink_to("a")
    agent = started(world, tree, allow)
    calls = [
        ("Read", {"file_path": f"{tree}/a"}),
        ("Read", {"file_path": f"{tree}/kept"}),
        ("Grep", {"pattern": "x", "path": str(tree), "glob": "*.py"}),
        ("Glob", {"pattern": "**/*.py", "path": f"{tree}/folder"}),
        ("LS", {"path": str(tree)}),
        ("NotebookRead", {"notebook_path": f"{tree}/n.ipynb"}),
        *(
            ("Bash", {"command": command})
            for command in (
                f"cat {tree}/a",
                f"cd {tree} && cat a | head -3",
                f"cd {tree}; ls",
                f"cd {tree} && cd folder && cat ../a",
                f"diff --no-dereference -u {world.project}/a {tree}/a",
                f"git -C {tree} diff",
                f"cd {tree} && git status --short",
                f"cd {tree} && git log -3 --oneline",
            )
        ),
    ]

    for mode in ("default", "plan", "acceptEdits"):
        said = [world.permission(agent, tool, mode, **given) for tool, given in calls]
        assert {each["behavior"] for each in said} == {"allow"}, said


def kept_from_it(world: HookWorld, tree: Path) -> list[tuple[str, dict[str, str]]]:
    """Calls that would look at, or change, what is not the agent's."""
    other = worktrees.folder_of(world.store.place.state, "run1", "other")
    worktrees.create(world.project, "hostbridge/run1/other", other)
    secret = world.home / "secret"
    secret.touch()
    (tree / "out").symlink_to(secret)
    (tree / "home").symlink_to(world.home)
    state = world.store.place.state
    outside = [
        f"{other}/a",
        f"{tree}/../other/a",
        f"{state}/events.jsonl",
        f"{tree}.json",
        str(secret),
        f"{tree}/out",
        f"{tree}/home/secret",
        "/etc/passwd",
        "~/secret",
    ]
    commands = [
        *(f"cat {path}" for path in outside),
        *(f"cd {tree} && cat {path}" for path in outside),
        f"cd {tree} && cat ../other/a",
        f"cd {tree} && cat home/secret",
        f"cd {tree}/home && cat secret",
        f"cd {tree} && cd .. && cat other/a",
        f"cd {tree} && cd - && ls",
        f"cd {tree} && cd && cat secret",
        f"cd {tree} && ls {other}",
        f"cd {tree} && find .. -name a",
        f"cd {tree} && grep -R x .",
        f"cd {tree} && grep -r x ../other",
        f"cd {tree} && cat a > b",
        f"cd {tree} && rm a",
        f"cd {tree} && cat a && rm a",
        f"git -C {other} diff",
        f"git -C {tree} --git-dir={other}/.git diff",
        f"git -C {tree} --git-dir=/elsewhere diff",
        f"git -C {tree} diff --no-index /etc/passwd a",
        f"git -C {tree} diff --output=a",
        f"git -C {tree} diff ../other",
        f"git -C {tree} show --ext-diff",
        f"git -C {tree} -c core.pager=x diff",
        f"cd {tree}/folder && git status",
        "git diff --no-index /etc/passwd a",
    ]
    return [
        *(("Read", {"file_path": path}) for path in outside),
        *(("Edit", {"file_path": path}) for path in outside),
        *(("Write", {"file_path": path}) for path in (*outside, f"{tree}/.git")),
        ("MultiEdit", {"file_path": f"{other}/a"}),
        ("NotebookEdit", {"notebook_path": f"{other}/n.ipynb"}),
        ("Write", {"file_path": f"{world.project}/a"}),
        ("Grep", {"pattern": "x", "path": str(other)}),
        ("Grep", {"pattern": "x", "path": f"{tree}/home"}),
        ("Grep", {"pattern": "x", "path": str(tree), "glob": "../other/*"}),
        ("Glob", {"pattern": "home/*", "path": str(tree)}),
        ("Glob", {"pattern": "/etc/*", "path": str(tree)}),
        ("LS", {"path": str(state)}),
        *(("Bash", {"command": command}) for command in commands),
    ]


def test_a_look_outside_the_sandbox_is_no_look(world, tree):
    agent = started(world, tree)

    said = world.permission(
        agent, "Bash", command=f"cat {tree}/a", dangerouslyDisableSandbox=True
    )

    assert said["behavior"] == "deny"


def test_what_is_not_its_own_stays_kept_from_it(world, tree):
    """Whoever is asked: the client's dialog, or nobody where its mode asks nobody."""
    calls = kept_from_it(world, tree)
    agent = started(world, tree, "allow: ['Edit(**)']\n")

    for tool, given in calls:
        said = world.permission(agent, tool, **given)
        assert said["behavior"] == "deny", (tool, given)
        for mode in ("acceptEdits", "auto", "bypassPermissions"):
            found = world.use(agent, tool, tool_input=given, permission_mode=mode)
            decision = found["hookSpecificOutput"]["permissionDecision"]
            assert decision == "deny", (tool, given, mode)


@pytest.mark.parametrize("mode", ["acceptEdits", "auto", "bypassPermissions"])
def test_its_own_is_free_where_the_mode_asks_nobody(world, tree, mode):
    """And so is the project, at which it may look as it could without a worktree."""
    agent = started(world, tree)

    for tool, given in (
        ("Read", {"file_path": f"{tree}/a"}),
        ("Read", {"file_path": f"{world.project}/a"}),
        ("Edit", {"file_path": f"{tree}/src/x.py"}),
        ("Bash", {"command": "cat a"}),
        ("Bash", {"command": f"cd {tree} && git diff"}),
        ("Bash", {"command": f"cd {tree} && pytest -q"}),
    ):
        said = world.use(agent, tool, tool_input=given, permission_mode=mode)
        assert said == {}, (tool, given)


def test_what_lies_in_the_project_but_is_private_is_kept_from_it():
    """A project that holds the home folder holds what hostbridge keeps, too."""
    call = Call(
        "Read",
        {},
        "/p/.hostbridge/state/p/@/worktrees/run/dev",
        str,
        main="/p",
        private=("/p/.hostbridge",),
    )

    paths = ("/p/a", "/p/.hostbridge/state/p/@/events.jsonl", f"{call.project}/a")

    assert [call.is_readable(path) for path in paths] == [True, False, True]
    searched = ("/p", "/p/src", str(call.project))
    assert [call.is_searchable(path) for path in searched] == [False, True, True]


def test_a_search_of_too_many_files_is_no_look():
    """Where something is withheld, each is looked at, which takes its time."""
    call = Call(
        "Grep",
        {"pattern": "x", "path": "/w"},
        "/w",
        str,
        main="/p",
        below=lambda folder: (f"{folder}/{number}" for number in itertools.count()),
        withheld=("Read(secrets/**)",),
    )

    assert not looks(call)
    assert looks(replace(call, withheld=()))


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize(
    "rule",
    [
        "Read(secrets/**)",
        "Read(secrets/)",
        "Read(./secrets)",
        "Read(/secrets/**)",
        "Read(key.*)",
    ],
)
def test_what_the_user_withholds_is_withheld_in_the_worktree(
    world, tree, behavior, rule
):
    """The client holds such a rule in its own folder; the worktree has a copy."""
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {behavior: [rule]}}))
    agent = started(world, tree)
    file = f"{tree}/secrets/key.pem"

    of_project = f"{world.project}/secrets/key.pem"
    said = [
        world.permission(agent, "Read", file_path=of_project),
        world.permission(agent, "Bash", command=f"cat {of_project}"),
        world.permission(agent, "Read", file_path=file),
        world.permission(agent, "Bash", command=f"cat {file}"),
        world.permission(agent, "Bash", command=f"cd {tree} && cat secrets/key.pem"),
        world.permission(agent, "Read", file_path=f"{tree}/a"),
    ]

    assert [each["behavior"] for each in said] == [*["deny"] * 5, "allow"]


SEARCHES = [
    ("Grep", {"pattern": "KEY", "path": "{tree}"}),
    ("Glob", {"pattern": "**/*", "path": "{tree}"}),
    *(
        ("Bash", {"command": f"cd {{tree}} && {command}"})
        for command in (
            "grep -r KEY .",
            "grep -rn -e KEY",
            "grep -r KEY",
            "grep -r -A 3 KEY",
            "rg KEY",
            "cat a | rg KEY .",
            "find . -type f",
            "ls -R",
            "diff --no-dereference -r . folder",
            "du -a",
            "tree",
        )
    ),
]
HISTORY = ["log -p", "log -S KEY", "log -G KEY", "show HEAD", "diff", "diff HEAD~1"]


@pytest.fixture
def secret(world, tree):
    """A file of the worktree whose name the user keeps from agents."""
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    rules = {"permissions": {"deny": ["Read(secrets/**)", "Edit(a)"]}}
    settings.write_text(json.dumps(rules))
    key = tree / "folder" / "secrets" / "key"
    key.parent.mkdir(parents=True)
    key.write_text("KEY")
    return key


def filled(given: dict[str, str], tree: Path) -> dict[str, str]:
    return {key: value.format(tree=tree) for key, value in given.items()}


@pytest.mark.parametrize("allow", [GRANTS, "allow: [Read]\n"])
def test_a_search_shows_nothing_that_the_user_withholds(world, tree, secret, allow):
    """It would read the file, whatever folder it begins in."""
    agent = started(world, tree, allow)

    for tool, given in SEARCHES:
        call = filled(given, tree)
        said = world.permission(agent, tool, **call)
        assert said["behavior"] == "deny", call
        bypassed = world.use(
            agent, tool, tool_input=call, permission_mode="bypassPermissions"
        )["hookSpecificOutput"]
        assert bypassed["permissionDecision"] == "deny", call
    secret.unlink()
    secret.parent.rmdir()
    for tool, given in SEARCHES:
        call = filled(given, tree)
        assert world.permission(agent, tool, **call)["behavior"] == "allow", call


@pytest.mark.usefixtures("secret")
def test_a_search_of_what_holds_nothing_withheld_is_free(world, tree):
    (tree / "src").mkdir()
    agent = started(world, tree)

    for tool, given in (
        ("Grep", {"pattern": "KEY", "path": f"{tree}/src"}),
        ("Glob", {"pattern": "*", "path": f"{tree}/src"}),
        ("Bash", {"command": f"cd {tree} && grep -rn KEY src"}),
        ("Bash", {"command": f"cd {tree}/src && rg KEY"}),
        ("Bash", {"command": f"cd {tree} && grep KEY a"}),
        ("Bash", {"command": f"cd {tree} && ls -l folder"}),
        ("Bash", {"command": f"cd {tree} && find src -type f"}),
    ):
        said = world.permission(agent, tool, **given)
        assert said["behavior"] == "allow", (given, said)


@pytest.mark.usefixtures("secret")
def test_git_shows_only_names_where_something_is_withheld(world, tree):
    """Any change may hold the file, also one that has been deleted since."""
    agent = started(world, tree)
    names = [
        "status",
        "log --oneline --stat",
        "ls-files",
        "diff --stat",
        "diff --name-only",
        "blame a",
    ]

    shown = [
        world.permission(agent, "Bash", command=f"cd {tree} && git {command}")
        for command in (*HISTORY, "diff -p --stat", "diff --stat -p", "show --stat")
    ]
    named = [
        world.permission(agent, "Bash", command=f"git -C {tree} {command}")
        for command in names
    ]

    assert {said["behavior"] for said in shown} == {"deny"}
    assert {said["behavior"] for said in named} == {"allow"}
    assert shown[0]["message"] == (
        "hostbridge: Bash is not granted to this agent: what it would show is kept "
        "from this agent, or part of it may be; name files, or folders that hold none "
        "of it. Nobody is there to ask. Work without it, or answer that you are "
        "blocked and by what."
    )


def test_other_worktrees_in_the_project_are_kept_from_it(world, tree):
    """They lie in a folder at which it may look."""
    other = world.project / ".claude" / "worktrees" / "other"
    git(world.project, "worktree", "add", "-q", "-b", "other", str(other))
    agent = started(world, tree)
    calls = [
        ("Read", {"file_path": f"{other}/a"}),
        ("Grep", {"pattern": "x", "path": str(world.project)}),
        ("Glob", {"pattern": "**/*", "path": str(world.project)}),
        ("Bash", {"command": f"cat {other}/a"}),
        ("Bash", {"command": "grep -r x ."}),
        ("Bash", {"command": "find .claude -type f"}),
    ]

    said = [world.permission(agent, tool, **given)["behavior"] for tool, given in calls]
    # The client does not ask about the session's own folder.
    unasked = [
        world.use(agent, tool, tool_input=given, permission_mode="default")
        for tool, given in calls
    ]
    free = world.use(
        agent, "Read", tool_input={"file_path": f"{world.project}/a"}
    ) | world.use(agent, "Bash", tool_input={"command": f"sort {world.project}/a"})
    own = world.permission(agent, "Bash", command=f"grep -r x {tree}")["behavior"]
    src = world.permission(agent, "Grep", pattern="x", path=f"{world.project}/folder")

    assert set(said) == {"deny"}
    assert {each["hookSpecificOutput"]["permissionDecision"] for each in unasked} == {
        "deny"
    }
    assert free == {}
    assert [own, src["behavior"]] == ["allow", "allow"]


def test_a_worktree_in_the_project_is_its_agents_own(world):
    """The project around it can be searched as a whole."""
    Repository(world.project)
    tree = world.project / ".claude" / "worktrees" / "mine"
    git(world.project, "worktree", "add", "-q", "-b", "mine", str(tree))
    agent = started(world, tree)

    said = [
        world.permission(agent, "Read", file_path=f"{tree}/a"),
        world.permission(agent, "Bash", command=f"cd {tree} && grep -r x ."),
        world.permission(agent, "Bash", command="grep -r x ."),
    ]

    assert {each["behavior"] for each in said} == {"allow"}


def test_a_change_that_the_user_forbids_is_forbidden_in_the_worktree(world, tree):
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"deny": ["Edit(src/fixed/**)"]}}))
    agent = started(world, tree)

    asked = [
        world.permission(agent, "Edit", file_path=f"{tree}/src/{name}")["behavior"]
        for name in ("fixed/x.py", "x.py")
    ]
    unasked = [
        world.use(
            agent,
            "Edit",
            tool_input={"file_path": f"{tree}/src/{name}"},
            permission_mode="bypassPermissions",
        )
        for name in ("fixed/x.py", "x.py")
    ]

    assert asked == ["deny", "allow"]
    assert [bool(said) for said in unasked] == [True, False]


def test_what_the_user_wants_to_be_asked_about_is_asked_in_each_part(world, tree):
    """A look that the mechanism would allow does not override the user's rule."""
    settings = world.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"ask": ["Bash(grep *)"]}}))
    agent = started(world, tree)

    said = [
        world.permission(agent, "Bash", command=f"cd {tree} && {command}")
        for command in ("grep x a", "cat a | grep x", "cat a")
    ]

    assert [each["behavior"] for each in said] == ["deny", "deny", "allow"]


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

    first = words | {"evidence": [item | {"command": "pytest"}]}
    refused = world.stop(agent, json.dumps(first))
    second = words | {"evidence": [item | {"command": "pytest -q"}]}
    world.stop(agent, json.dumps(second))

    assert "'pytest', which was not seen to run here" in refused["reason"]
    (found,) = world.response("r1").parsed_output["evidence"]
    assert (found["command"], found["verified"]) == ("pytest -q", True)


def test_the_prompt_names_the_folder(world, tree):
    started(world, tree)

    [prompt] = world.prompts.values()

    assert f"Work in the folder {tree}," in prompt
    assert f"`cd {tree} && `" in prompt


def test_an_agent_that_it_starts_works_there_too(world, tree):
    agent = started(world, tree)
    below = world.nest(agent)

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
    world.drop("r1", agentType="general-purpose", prompt="Do it.", folder=str(forged))
    world.say("UserPromptSubmit", prompt="hello")

    world.call_agent("bridge:r1")

    error = world.response("r1").error
    assert "nor in a worktree of it" in error.message
