"""New files are those that git finds: what it would add is never hidden."""

import os

import gitworld
import needs
import pytest
from fuzz_ignored import World, drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.change.change import Change
from bridge.change.collect import read_change, read_files
from bridge.change.ignored import Ignored
from bridge.change.project_files import untracked
from bridge.change.repository import Repository
from bridge.change.scope import Scope
from bridge.validation.aggregate import decide
from bridge.validation.report import Verdict


@pytest.fixture
def repo(tmp_path):
    return gitworld.Repository(tmp_path / "app")


def by_git(repo: gitworld.Repository) -> set[str]:
    listed = repo.git("ls-files", "-z", "--others", "--exclude-standard")
    return set(listed.split("\0")) - {""}


def by_us(repo: gitworld.Repository) -> set[str]:
    """Without a process of its own: these are many."""
    git = Repository(repo.folder)
    ignored = Ignored(repo.folder, git.lib, git.common)
    found = untracked(repo.folder, {}, ignored.hides, reaches=lambda _: True)
    return {os.fsdecode(path) for path in found}


def read(repo: gitworld.Repository) -> Change:
    return read_change(repo.folder)


def paths(change: Change) -> set[str]:
    return {each.path for each in change.files}


@pytest.mark.parametrize(
    ("patterns", "file"),
    [
        ("/build/*\n!/build/evil.py\n", "build/evil.py"),
        ("build/*\n!build/evil.py\n", "build/evil.py"),
        (".vscode/*\n!.vscode/tasks.json\n", ".vscode/tasks.json"),
        ("/*\n!/keep\n/keep/*\n!/keep/evil.py\n", "keep/evil.py"),
        ("keep/**\n!keep/evil.py\n", "keep/evil.py"),
        ("*\n!*/\n!*.py\n", "q/b/evil.py"),
        ("d/*.py\n!d/e*.py\n", "d/evil.py"),
        ("[d]/*\n!d/evil.py\n", "d/evil.py"),
        # By a file in the folder, or which says nothing of that folder.
        ({"": "d/*\n!d/.gitignore\n", "d/": "!evil.py\n"}, "d/evil.py"),
        ({"d/": "**/\n"}, "d/evil.py"),
        ({"d/": "**\n!evil.py\n"}, "d/evil.py"),
        # A link to a folder is none.
        ("out/\n", "out"),
    ],
)
def test_a_file_that_a_pattern_takes_back_is_shown(repo, patterns, file):
    for folder, text in (
        {"": patterns} if isinstance(patterns, str) else patterns
    ).items():
        repo.write(f"{folder}.gitignore", text)
    if file == "out":
        (repo.folder / file).symlink_to("folder")
    else:
        repo.write(file, "evil\n")

    assert file in by_git(repo)
    assert file in paths(read(repo))


def test_a_folder_that_is_ignored_hides_what_is_new_beside_tracked_files(repo):
    repo.write("build/.keep", "")
    repo.commit("kept")
    repo.write(".gitignore", "build/\n")
    repo.write("build/new.js", "x\n")
    repo.write("build/lib/new.js", "x\n")
    repo.write("build/.keep", "changed\n")
    gitworld.Repository(repo.folder / "build/other")

    assert paths(read(repo)) == {".gitignore", "build/.keep"}


def test_a_folder_that_is_ignored_by_its_name_is_not_looked_into(repo):
    repo.write(".gitignore", "node_modules/\n")
    repo.write("web/node_modules/x/y.js", "x\n")
    asked = []
    git = Repository(repo.folder)
    ignored = Ignored(repo.folder, git.lib, git.common)

    def hides(path):
        asked.append(path)
        return ignored.hides(path)

    found = untracked(repo.folder, {}, hides, reaches=lambda _: True)

    assert b"web/node_modules/x/y.js" not in set(found)
    assert [path for path in asked if b"node_modules" in path] == [b"web/node_modules/"]


@pytest.mark.parametrize("kind", ["folder", "link", "junk", "lost", "half"])
def test_a_folder_with_a_git_that_is_no_repository_is_shown(repo, kind):
    repo.write("pkg/evil.py", "evil\n")
    git = repo.folder / "pkg" / ".git"
    match kind:
        case "folder":
            git.mkdir()
        case "link":
            git.symlink_to("nowhere")
        case "junk":
            git.write_text("junk")
        case "lost":
            git.write_text("gitdir: nowhere\n")
        case "half":
            (git / "objects").mkdir(parents=True)
            (git / "HEAD").write_text("ref: refs/heads/main\n")

    assert "pkg/evil.py" in paths(read(repo))


def test_another_repository_is_named(repo):
    gitworld.Repository(repo.folder / "sub")

    change = read(repo)

    assert change.notes == ("Left out, another repository: sub/",)
    assert not change.is_whole
    assert by_git(repo) == {"sub/"}


def test_a_linked_worktree_of_this_repository_is_named_and_does_not_differ(repo):
    """As the client's in `.claude/worktrees`: a commit of it alone would be added."""
    repo.git("worktree", "add", "-q", "--detach", ".claude/worktrees/w")
    repo.write(".claude/worktrees/w/evil.py", "x\n")

    change = read(repo)

    assert by_git(repo) == {".claude/worktrees/w/"}
    assert change.is_empty
    assert change.is_in_files
    assert change.notes == (change.aside,)
    assert change.aside == (
        "No part of it, a linked worktree of this repository, whose commit `git add "
        "-A` takes, and none of its files: .claude/worktrees/w/"
    )
    assert decide(change, []) == (
        Verdict.NOTHING,
        (f"nothing else differs, and nobody was asked. {change.aside}",),
    )


def test_a_linked_worktree_that_git_ignores_is_not_named(repo):
    repo.git("worktree", "add", "-q", "--detach", ".claude/worktrees/w")
    repo.write(".git/info/exclude", ".claude/worktrees/\n")

    assert read(repo).notes == ("Nothing differs from the last commit",)


def test_a_linked_worktree_leaves_a_change_whole(repo):
    repo.git("worktree", "add", "-q", "--detach", "w")
    repo.write("new.py", "x\n")

    change = read(repo)

    assert (change.is_whole, change.is_in_files) == (True, True)
    assert paths(change) == {"new.py"}
    assert read_change(repo.folder, Scope("staged")).beside == ("w/, new.py")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".git/worktrees/x/HEAD", None),
        (".git/worktrees/x/HEAD", "junk\n"),
        (".git/worktrees/x/HEAD", "ref: ../x\n"),
        (".git/worktrees/x/HEAD", "link"),
        (".git/worktrees/x/commondir", "../..\njunk\n"),
        (".git/worktrees/x/commondir", "../.. \n"),
        ("sub/.git", "gitdir: ../.git/worktrees/x\njunk\n"),
        ("sub/.git", "gitdir: ../.git/worktrees/x \n"),
        ("sub/.git", "gitdir: ../.git/worktrees/x" + "\n" * (1 << 16) + "junk"),
    ],
)
def test_what_git_takes_for_no_linked_worktree_hides_nothing(repo, file, text):
    """An archive brings the whole `.git`, and its worktree may be forged."""
    repo.write("sub/evil.py", "evil\n")
    repo.write("sub/.git", "gitdir: ../.git/worktrees/x\n")
    repo.write(".git/worktrees/x/gitdir", "../../../sub/.git\n")
    repo.write(".git/worktrees/x/commondir", "../..\n")
    repo.write(".git/worktrees/x/HEAD", f"{repo.tip('HEAD')}\n")
    assert by_git(repo) == {"sub/"}
    assert read(repo).aside.endswith(": sub/")
    forged = repo.folder / file
    forged.unlink()
    if text == "link":
        forged.symlink_to("../../HEAD")
    elif text is not None:
        forged.write_text(text)

    change = read(repo)

    assert by_git(repo) == {"sub/evil.py"}
    assert not change.is_empty
    assert change.aside == ""
    assert paths(change) == {"sub/evil.py"} or not change.is_whole


def test_a_worktree_of_another_repository_is_named(repo, tmp_path):
    """Its `.git` file could name this one, which does not know it."""
    other = gitworld.Repository(tmp_path / "other")
    other.git("worktree", "add", "-q", "--detach", str(repo.folder / "theirs"))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "mine"))
    repo.write("forged/evil.py", "x\n")
    (repo.folder / "forged" / ".git").write_bytes((tmp_path / "mine/.git").read_bytes())

    assert read(repo).notes == ("Left out, another repository: forged/, theirs/",)


def test_new_files_beside_tracked_ones_count_whatever_git_lies_there(repo):
    gitworld.Repository(repo.folder / "folder", is_empty=True)
    repo.write("folder/evil.py", "evil\n")

    assert "folder/evil.py" in paths(read(repo))


def test_a_folder_that_is_too_deep_is_named(repo):
    repo.write("d/" * 70 + "evil.py", "evil\n")

    change = read(repo)

    assert not change.is_whole
    assert change.notes[0].startswith("Left out, more than 64 folders deep: d/d/")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "fuzzed", needs.tool("git"))


@settings(
    max_examples=examples(1500),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(random=st.randoms(use_true_random=False), any_case=st.booleans())
def test_whatever_is_ignored_nothing_is_hidden_that_git_shows(world, random, any_case):
    """`scripts/fuzz_ignored.py` looks at thousands."""
    assert world.look(drawn(random), any_case=any_case).hidden == set()


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(random=st.randoms(use_true_random=False), any_case=st.booleans())
def test_of_lines_that_people_write_all_is_as_git_has_it(world, random, any_case):
    seen = world.look(drawn(random, ordinary=True), any_case=any_case)

    assert seen == (set(), set())


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("a[!b]c", "a/c"),
        ("a[^b]c", "a/c"),
        ("lib[^_]evil.py", "lib/evil.py"),
        ("conftest[!x]py/evil.py", "conftest/py/evil.py"),
        ("a[.-0]c", "a/c"),
        ("a[+-9]c", "a/c"),
        ("a[!-~]c", "a/c"),
        ("a[[:punct:]]c", "a/c"),
        ("a[[:^alpha:]]c", "a/c"),
        ("a[\\/]c", "a/c"),
        ("a[/]c", "a/c"),
        ("a[!/]c", "a/c"),
        ("a?c", "a/c"),
        ("a*c", "a/c"),
    ],
)
def test_no_part_of_a_line_fits_the_slash_after_a_folder(repo, line, name):
    """For pathspec, brackets do: they would hide what `git add -A` takes."""
    (repo.folder / "a").unlink()
    repo.write(".git/info/exclude", f"{line}\n")
    repo.write(name, "evil\n")

    assert name in by_git(repo)
    assert name in paths(read(repo))
    assert name in read_files(repo.folder).new


@pytest.mark.parametrize(
    ("line", "hides"),
    [
        ("*a" * 12 + "b", False),
        ("*[ab]?" * 12 + "b", False),
        ("*a" * 12, True),
        # Too many folders that may be any: it hides nothing.
        ("**/a/" * 5 + "b", False),
    ],
)
def test_a_line_with_many_stars_is_read_as_git_reads_it(repo, line, hides):
    """Tried one after another, its ways to fit a name would take for ever."""
    name = "a" * 200
    repo.write(".git/info/exclude", f"{line}\n")
    repo.write(name, "x\n")

    assert (name in by_git(repo)) is not hides
    assert (name in paths(read(repo))) is not hides


def test_brackets_still_hide_what_git_hides(repo):
    repo.write(".git/info/exclude", "x[!b]c\n[+-9]x\nd/[^/]y\n")
    for name in ("xac", "5x", "new", "d/xbc"):
        repo.write(name, "x\n")

    assert by_git(repo) == paths(read(repo)) == {"new", "d/xbc"}


def test_a_name_that_ends_with_an_end_of_line_is_another(repo):
    repo.write(".git/info/exclude", "evil.py\n/d/*.pyc\n")
    repo.write("evil.py\n", "evil\n")
    repo.write("d/x.pyc\n", "evil\n")

    assert by_git(repo) == {"evil.py\n", "d/x.pyc\n"}
    assert by_git(repo) <= by_us(repo)


@pytest.mark.parametrize(
    "lines", ["[E]vil.py\n", "evil[.][P]y\nevil.[O_P]y\n", "*\n![^E]vil.py\n"]
)
def test_capital_letters_in_brackets_where_the_case_does_not_count(repo, lines):
    """Git makes letters of a path small, and then finds no capital one."""
    repo.git("config", "core.ignoreCase", "true")
    repo.write(".git/info/exclude", lines)
    repo.write("evil.py", "evil\n")

    assert "evil.py" in by_git(repo)
    assert "evil.py" in by_us(repo)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("a/**", "a"),
        ("hidden\t", "hidden"),
        ("hidden\r\r", "hidden"),
        ("**/", "file"),
        ("hidden\\ ", "hidden"),
        ("[a\\]", "a"),
        ("![b-a]", "b"),
    ],
)
def test_a_line_that_is_read_in_two_ways_hides_nothing(repo, line, name):
    """Each hid what git shows, for one reader of such files or for another."""
    before = "*\n" if line.startswith("!") else ""
    (repo.folder / ".git/info/exclude").write_bytes(f"{before}{line}\n".encode())
    (repo.folder / "a").unlink()
    repo.write(name, "new\n")

    assert name in by_git(repo) | {"a"}
    assert name in paths(read(repo))


def test_two_lines_that_end_the_process_of_libgit2_are_lines(repo):
    """It is not asked what is ignored, for that reason, too."""
    repo.write(".gitignore", "!/a**/[ab]/\\*/ \n!/\\/ \n")
    repo.write("new", "x\n")

    assert paths(read(repo)) == {".gitignore", "new"}
