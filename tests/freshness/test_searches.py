"""Whatever a search may have found counts, wherever its pattern begins."""

from __future__ import annotations

import pytest
from runworld import call
from sessionlooks import answered, is_reused, reasons, write

# What an agent of our own loop found, and what would be found now, too.
OWN = {
    "from the project": ("list_files", "src", "src/*.py", "src/new.py"),
    "anywhere": ("list_files", "src/deep", "**/deep/*.py", "src/deep/new.py"),
    "as if absolute": ("list_files", ".", "/src/*.py", "src/new.py"),
    "text": ("search_text", "src", "src/*.py", "src/new.py"),
    "text, as if absolute": ("search_text", ".", "/src/*.py", "src/new.py"),
    "all but some": ("list_files", "src", "[^_]*", "src/^.py"),
}


@pytest.mark.parametrize("name", OWN)
def test_a_pattern_of_our_own_loop_begins_in_the_project(world, name):
    tool, folder, pattern, new = OWN[name]
    text = {"text": "one"} if tool == "search_text" else {}
    looks = call(tool, folder=folder, pattern=pattern, **text)
    world.write("src/a.py")
    world.write("src/deep/a.py")
    world.answer(looks)
    assert not world.is_asked_again(looks)

    world.write(new)

    assert world.is_asked_again(looks)


# Calls of the client's tools, and a file that each would find.
FOUND = {
    "a glob from its folder": (
        ("Grep", {"pattern": "one", "glob": "/src/*.py"}),
        "src/new.py",
    ),
    "none of some": (("Glob", {"pattern": "[^_]*.py"}), "new.py"),
    "several": (("Grep", {"pattern": "one", "glob": "*.txt\t*.py"}), "new.py"),
    "its folder again": (
        ("Glob", {"pattern": "src/*.py", "path": "PROJECT/src"}),
        "src/new.py",
    ),
    "what tools made": (("Glob", {"pattern": "node_modules/x/*.js"}), "MADE/new.js"),
    "the same, oddly": (
        ("Glob", {"pattern": "node_modules/{x,(y)}/*.js"}),
        "MADE/new.js",
    ),
    "branches": (("Glob", {"pattern": ".git/refs/heads/*"}), ".git/refs/heads/new"),
    "after two slashes": (("Grep", {"pattern": "one", "path": "/PROJECT"}), "new.py"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_the_client_would_find_now_counts(session, name):
    """As ripgrep reads a pattern, and as the client changes it before."""
    (tool, given), new = FOUND[name]
    write(session, "node_modules/x/a.js")
    write(session, ".git/refs/heads/main")
    project = str(session.project)
    place = (
        {"path": given["path"].replace("PROJECT", project)} if "path" in given else {}
    )
    answered(session, (tool, {**given, **place}))
    assert is_reused(session)

    write(session, new.replace("MADE", "node_modules/x"))

    (reason,) = reasons(session)
    assert reason.startswith("added: ")
    assert not is_reused(session)


SAYS = [".gitignore", "src/.ignore", "src/deep/.rgignore", ".git/info/exclude"]


@pytest.mark.parametrize("file", SAYS)
def test_what_has_a_search_skip_files_counts(session, file):
    """Without a change of the files themselves it would find others."""
    write(session, ".git/HEAD", "ref: refs/heads/main\n")
    write(session, "src/deep/b.py")
    grep = {"pattern": "one", "path": "src", "glob": "*.py"}
    answered(session, ("Grep", grep))
    assert is_reused(session)

    write(session, file, "a.py\n")

    assert reasons(session) == [f"added: {file}"]


def test_what_is_ignored_is_no_matter_to_who_lists_names(session):
    """The client's Glob finds it all the same."""
    answered(session, ("Glob", {"pattern": "src/*.py"}))

    write(session, ".gitignore", "a.py\n")

    assert is_reused(session)


def test_a_command_in_a_folder_that_tools_made_is_never_relied_on(session):
    """What is in it does not count otherwise."""
    folder = session.project / "node_modules/x"
    write(session, "node_modules/x/a.js")
    _request, _call, agent = session.begin(prompt="Look.")
    session.use(agent, "Bash", tool_input={"command": "ls"}, cwd=str(folder))
    session.stop(agent)

    assert reasons(session) == [
        f"unknown: it rests on something that cannot be checked: Bash in {folder}"
    ]


def test_a_search_below_a_folder_that_is_not_there_is_reused(session):
    answered(session, ("Glob", {"pattern": f"{session.project}/none/*.py"}))
    assert is_reused(session)

    write(session, "none/a.py")

    assert reasons(session) == ["added: none/a.py"]
