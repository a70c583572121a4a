"""What an agent in a worktree may look at, and what is kept from it there."""

import itertools
from dataclasses import replace

import pytest
from worktreeworld import GRANTS, UNASKED, bash, decided, started, unasked

from bridge import worktrees
from bridge.policy.permissions import Call, looks

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("allow", [GRANTS, ""])
def test_it_looks_at_its_own_worktree(world, tree, allow):
    """The client asks: the worktree is none of the session's folders."""
    (tree / "kept").symlink_to("a")
    agent = started(world, tree, allow)
    commands = (
        f"cat {tree}/a",
        f"cd {tree} && cat a | head -3",
        f"cd {tree}; ls",
        f"cd {tree} && cd folder && cat ../a",
        f"diff --no-dereference -u {world.project}/a {tree}/a",
        f"git -C {tree} diff",
        f"cd {tree} && git status --short",
        f"cd {tree} && git log -3 --oneline",
    )
    calls = [
        ("Read", {"file_path": f"{tree}/a"}),
        ("Read", {"file_path": f"{tree}/kept"}),
        ("Grep", {"pattern": "x", "path": str(tree), "glob": "*.py"}),
        ("Glob", {"pattern": "**/*.py", "path": f"{tree}/folder"}),
        ("LS", {"path": str(tree)}),
        ("NotebookRead", {"notebook_path": f"{tree}/n.ipynb"}),
        *map(bash, commands),
    ]

    for mode in ("default", "plan", "acceptEdits"):
        assert decided(world, agent, calls, mode) == ["allow"] * len(calls)


def kept_from_it(world, tree):
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
        *map(bash, commands),
    ]


def test_what_is_not_its_own_stays_kept_from_it(world, tree):
    """Whoever is asked: the client's dialog, or nobody where its mode asks nobody."""
    calls = kept_from_it(world, tree)
    agent = started(world, tree, "allow: ['Edit(**)']\n")

    found = [
        decided(world, agent, calls),
        *(unasked(world, agent, calls, mode) for mode in UNASKED),
    ]

    for said in found:
        allowed = [c for c, s in zip(calls, said, strict=True) if s != "deny"]
        assert allowed == []


def test_what_lies_in_the_project_but_is_private_is_kept_from_it():
    """A project that holds the home folder holds what hostbridge keeps, too."""
    tree = "/p/.hostbridge/state/p/@/worktrees/run/dev"
    call = Call("Read", {}, tree, str, main="/p", private=("/p/.hostbridge",))

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


WITHHOLD = (
    "Read(secrets/**)", "Read(secrets/)", "Read(./secrets)", "Read(/secrets/**)",
    "Read(key.*)",
)  # fmt: skip


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize("rule", WITHHOLD)
def test_what_the_user_withholds_is_withheld_in_the_worktree(
    world, tree, behavior, rule
):
    """The client holds such a rule in its own folder; the worktree has a copy."""
    world.set_permissions(**{behavior: [rule]})
    agent = started(world, tree)
    keys = [f"{folder}/secrets/key.pem" for folder in (world.project, tree)]

    calls = [("Read", {"file_path": key}) for key in keys]
    calls += [bash(f"cat {key}") for key in keys]
    calls += [bash(f"cd {tree} && cat secrets/key.pem")]
    calls += [("Read", {"file_path": f"{tree}/a"})]

    assert decided(world, agent, calls) == [*["deny"] * 5, "allow"]


SEARCHES = (
    "grep -r KEY .", "grep -rn -e KEY", "grep -r KEY", "grep -r -A 3 KEY", "rg KEY",
    "cat a | rg KEY .", "find . -type f", "ls -R",
    "diff --no-dereference -r . folder", "du -a", "tree",
)  # fmt: skip


@pytest.fixture
def secret(world, tree):
    """A file of the worktree whose name the user keeps from agents."""
    world.set_permissions(deny=["Read(secrets/**)", "Edit(a)"])
    key = tree / "folder" / "secrets" / "key"
    key.parent.mkdir(parents=True)
    key.write_text("KEY")
    return key


@pytest.mark.parametrize("allow", [GRANTS, "allow: [Read]\n"])
def test_a_search_shows_nothing_that_the_user_withholds(world, tree, secret, allow):
    """It would read the file, whatever folder it begins in."""
    agent = started(world, tree, allow)
    calls = [
        ("Grep", {"pattern": "KEY", "path": str(tree)}),
        ("Glob", {"pattern": "**/*", "path": str(tree)}),
        *(bash(f"cd {tree} && {command}") for command in SEARCHES),
    ]

    withheld = decided(world, agent, calls), unasked(world, agent, calls)
    secret.unlink()
    secret.parent.rmdir()

    assert withheld == (["deny"] * len(calls), ["deny"] * len(calls))
    assert decided(world, agent, calls) == ["allow"] * len(calls)


@pytest.mark.usefixtures("secret")
def test_a_search_of_what_holds_nothing_withheld_is_free(world, tree):
    (tree / "src").mkdir()
    agent = started(world, tree)

    calls = [
        ("Grep", {"pattern": "KEY", "path": f"{tree}/src"}),
        ("Glob", {"pattern": "*", "path": f"{tree}/src"}),
        bash(f"cd {tree} && grep -rn KEY src"),
        bash(f"cd {tree}/src && rg KEY"),
        bash(f"cd {tree} && grep KEY a"),
        bash(f"cd {tree} && ls -l folder"),
        bash(f"cd {tree} && find src -type f"),
    ]

    assert decided(world, agent, calls) == ["allow"] * len(calls)


SHOWN = (
    "log -p", "log -S KEY", "log -G KEY", "show HEAD", "diff", "diff HEAD~1",
    "diff -p --stat", "diff --stat -p", "show --stat",
)  # fmt: skip
NAMED = (
    "status", "log --oneline --stat", "ls-files", "diff --stat", "diff --name-only",
    "blame a",
)  # fmt: skip


@pytest.mark.usefixtures("secret")
def test_git_shows_only_names_where_something_is_withheld(world, tree):
    """Any change may hold the file, also one that has been deleted since."""
    agent = started(world, tree)

    shown = [bash(f"cd {tree} && git {command}") for command in SHOWN]
    named = [bash(f"git -C {tree} {command}") for command in NAMED]

    assert decided(world, agent, shown) == ["deny"] * len(shown)
    assert decided(world, agent, named) == ["allow"] * len(named)
    refused = world.permission(agent, command=f"cd {tree} && git log -p")
    assert refused["message"] == (
        "hostbridge: Bash is not granted to this agent: what it would show is kept "
        "from this agent, or part of it may be; name files, or folders that hold none "
        "of it. Nobody is there to ask. Work without it, or answer that you are "
        "blocked and by what."
    )
