"""Whatever a search may have found counts, wherever its pattern begins."""

import pytest
from runworld import call
from sessionlooks import UNCHECKED, answered, is_reused, reasons, write

pytestmark = pytest.mark.slow

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


def grep(**given):
    return "Grep", {"pattern": "one", **given}


def found_by_glob(pattern, **given):
    return "Glob", {"pattern": pattern, **given}


# Calls of the client's tools, and a file that each would find.
FOUND = {
    "names": (found_by_glob("src/**/*.py"), "src/new.py"),
    "absolute": (found_by_glob("PROJECT/src/*.{py,pyi}"), "src/new.py"),
    "text": (grep(path="src", glob="*.{py,pyi}"), "src/new.py"),
    "a command": (("Bash", {"command": "ls"}), "src/new.py"),
    "a glob from its folder": (grep(glob="/src/*.py"), "src/new.py"),
    "none of some": (found_by_glob("[^_]*.py"), "new.py"),
    "several": (grep(glob="*.txt\t*.py"), "new.py"),
    "its folder again": (found_by_glob("src/*.py", path="PROJECT/src"), "src/new.py"),
    "what tools made": (found_by_glob("node_modules/x/*.js"), "MADE/new.js"),
    "the same, oddly": (found_by_glob("node_modules/{x,(y)}/*.js"), "MADE/new.js"),
    "branches": (found_by_glob(".git/refs/heads/*"), ".git/refs/heads/new"),
    "after two slashes": (grep(path="/PROJECT"), "new.py"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_the_client_would_find_now_counts(session, name):
    """As ripgrep reads a pattern, and as the client changes it before."""
    (tool, given), new = FOUND[name]
    write(session, "node_modules/x/a.js")
    write(session, ".git/refs/heads/main")
    project = str(session.project)
    placed = {key: value.replace("PROJECT", project) for key, value in given.items()}
    answered(session, (tool, placed))
    assert is_reused(session)

    write(session, new.replace("MADE", "node_modules/x"))

    (reason,) = reasons(session)
    assert reason.startswith("added: ")
    assert not is_reused(session)


def test_what_is_found_in_one_file_is_reused_whatever_comes_beside_it(session):
    answered(session, grep(path=f"{session.project}/src/a.py"))

    write(session, "src/new.py")

    assert reasons(session) == []
    assert is_reused(session)


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
    answered(session, ("Bash", {"command": "ls"}), cwd=str(folder))

    assert reasons(session) == [f"{UNCHECKED}Bash in {folder}"]


def test_a_search_below_a_folder_that_is_not_there_is_reused(session):
    answered(session, ("Glob", {"pattern": f"{session.project}/none/*.py"}))
    assert is_reused(session)

    write(session, "none/a.py")

    assert reasons(session) == ["added: none/a.py"]
