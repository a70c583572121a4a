"""Repositories that are traps, broken or too much: nothing runs, and a note says so."""

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import forgedindex
import needs
import pytest
from gitworld import Repository, git
from trapworld import Traps

from bridge.change import reader
from bridge.change.collect import read_change
from bridge.change.scope import Scope

pytestmark = pytest.mark.slow

# To git, each file is one that a program diffs and filters.
ALL_X = "* diff=x filter=x\n"


@pytest.fixture
def traps(tmp_path):
    return Traps(tmp_path)


def test_nothing_of_the_repository_runs(project, traps):
    """The same traps catch git: they are set."""
    (project / "b.txt").write_text("c\n")
    (project / ".gitattributes").write_text(ALL_X)
    traps.arm(project)

    (note,) = read_change(project).notes
    assert note == (
        "Left out, git would store what the filter x makes of it, which is not run "
        "here: b.txt, .gitattributes"
    )
    assert traps.ran() == []
    git(project, "diff", ok=False)
    assert traps.ran() != []


def test_no_program_starts_and_nothing_is_written(project, traps, tmp_path):
    """What a C library does is seen by the system alone."""
    traps.arm(project)
    (project / ".gitattributes").write_text(ALL_X)
    (project / "b.txt").write_text("c\n")
    (project / "new.py").write_text("x = 1\n")
    git(project, "-c", "core.fsmonitor=false", "update-index", "--split-index")
    asked = json.dumps({"scope": asdict(Scope()), "max_chars": 1000})
    log = tmp_path / "log"

    ran = subprocess.run(
        [needs.tool("strace"), "-f", "-qq", "-o", log, "-e", "trace=%process,%file",
         sys.executable, "-EPB", reader.__file__, project, "1e9"],
        env={"HOME": str(tmp_path)},
        input=asked.encode(),
        capture_output=True,
        check=True,
    )  # fmt: skip

    assert [f["path"] for f in json.loads(ran.stdout)["files"]] == [
        "b.txt",
        ".gitattributes",
        "new.py",
    ]
    calls = log.read_text().splitlines()
    started = r"\d+ +(execve|clone3?|v?fork)\("
    changed = r"\d+ +(mkdir|rename|unlink|link|symlink|chmod|chown|truncate|utime)"
    written = r".*\bO_(WRONLY|RDWR|CREAT|TRUNC)\b"
    assert len([call for call in calls if re.match(started, call)]) == 1
    assert [call for call in calls if re.match(f"{changed}|{written}", call)] == []


def test_a_partial_clone_fetches_nothing(project, traps, tmp_path):
    (project / "b.txt").write_text("second\n")
    git(project, "commit", "-qam", "second")
    git(project, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout",
        f"file://{project}", str(clone))  # fmt: skip
    traps.arm(clone)
    git(clone, "config", "remote.origin.url", "ssh://x.invalid/x")
    (clone / "b.txt").write_text("mine\n")

    change = read_change(clone)

    assert "Left out, changed, and this clone lacks its text" in str(change)
    assert traps.ran() == []


# The folder of a project that is elsewhere, and knows only that.
ELSEWHERE = (
    "cp -r . ../w; mv ../w/.git ../g; echo 'gitdir: ../g' > ../w/.git; "
    "git -C ../w status; rm -r .git; echo 'gitdir: ../g' > .git"
)
NOT_OURS = "does not know this folder"
CHAIN = (
    "echo ref: refs/heads/x > .git/HEAD; echo ref: refs/heads/y > .git/refs/heads/x; "
    "ln -s ../../../../m .git/refs/heads/y"
)
LINKED = "for d in ??; do mv $d ../../..; ln -s ../../../$d; done"
MAIN = "mv .git/refs/heads/main ../m; ln -s ../../../../m .git/refs/heads/main"


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ("rm -rf .git", "the project is no git repository"),
        ("rm -rf .git/objects/*", "this clone lacks the object"),
        ("printf junk > .git/index", "the repository is broken"),
        ("printf junk > .git/HEAD", "the repository is broken"),
        ("rm .git/HEAD; mkfifo .git/HEAD", "Repository not found"),
        ("rm .git/config; mkfifo .git/config", "it took more than 2 s"),
        ("for f in .git/objects/*/*; do chmod +w $f; echo > $f; done", "broken"),
        ("echo ../../other/.git > .git/commondir", "belongs to another repository"),
        ("mv .git ../g; ln -s ../g .git", "is neither a folder nor a file"),
        ("cp -r . ../g; rm -r .git; echo 'gitdir: ../g/.git' > .git", NOT_OURS),
        (ELSEWHERE, NOT_OURS),
        (f"{ELSEWHERE}; rm -r src; ln -s ../w/src", NOT_OURS),
        ("mv .git/objects ../o; ln -s ../../o .git/objects", "leads to"),
        ("echo /o/.git/objects > .git/objects/info/alternates", "borrows from another"),
        (f"cd .git/objects; {LINKED}", "leads to"),
        ("cd .git/objects; rm -r pack; ln -s ../../../o pack", "leads to"),
        ("cd .git/objects/pack; ln -s ../../../../p.pack", "leads to"),
        (MAIN, "leads to"),
        ("echo ref: ../../other/.git/HEAD > .git/HEAD", "leads to"),
        (CHAIN, "leads to"),
        ("rm .git/index; ln -s /dev/zero .git/index", "leads to"),
    ],
)
def test_error_a_repository_that_cannot_be_read(project, harm, why):
    """In the prompt: a judge who sees no change must know that there may be one."""
    subprocess.run(["sh", "-c", harm], cwd=project, check=True)

    change = read_change(project, timeout_s=2 if "took" in why else 300)

    assert change.diff == ""
    (note,) = change.notes
    assert note.startswith("The change could not be read: ")
    assert why in note


def test_a_file_that_takes_too_long_hides_no_other(project):
    """A diff that looks for the shortest takes some 10^11 steps here.

    101 lines are repeated without end, in an order that no two of them share with the
    other text.
    """
    for step in (1, 2):
        lines = (str(step * each % 101) for each in range(150_000))
        (project / "a.csv").write_text("\n".join(lines))
        if step == 1:
            git(project, "add", ".")
            git(project, "commit", "-qm", "data")
    (project / "src" / "a.py").write_text("two\n")

    change = read_change(project)

    assert "+++ b/src/a.py" in change.diff
    assert change.notes == (
        "Left out, what comes after its first 20,000 characters: a.csv",
    )


def test_patterns_with_many_stars_hide_no_change(project):
    """Tried one after another, their ways to fit a name would take for ever."""
    (project / "src" / "a.py").write_text("two\n")
    (project / ".gitignore").write_text("*a" * 40 + "b\n")
    (project / ("a" * 200)).write_text("new\n")

    change = read_change(project)

    assert "+++ b/src/a.py" in change.diff
    assert f"+++ b/{'a' * 200}" in change.diff
    assert change.notes == ()


@pytest.mark.parametrize(
    "deed",
    [
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "socket.socket()",
        "open('made', 'w')",
        "os.open('made', os.O_CREAT | os.O_WRONLY)",
        "os.mkdir('made')",
        "os.remove('b.txt')",
        "os.rename('b.txt', 'made')",
        "os.symlink('b.txt', 'made')",
    ],
)
def test_the_reader_can_do_no_more_than_read(project, deed):
    """Whatever a library does, now or in a version to come."""
    code = (
        "import os, subprocess, socket\n"
        "from bridge.change.reader import confine, Forbidden\n"
        f"confine()\ntry:\n    {deed}\nexcept Forbidden:\n    os._exit(42)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], cwd=project, check=False)

    assert ran.returncode == 42
    assert not (project / "made").exists()
    assert (project / "b.txt").exists()


@pytest.fixture
def staged(tmp_path):
    """A repository in which another file than the one to be forged is staged."""
    repo = Repository(tmp_path / "repository")
    repo.write("z", "z\n")
    repo.commit("z")
    repo.git("write-tree")
    repo.write("a", "staged\n")
    repo.git("add", "a")
    return repo


def _index(repo: Repository) -> Path:
    return repo.folder / ".git" / "index"


@pytest.mark.parametrize("kind", ["staged", "uncommitted"])
@pytest.mark.parametrize("what", ["tree", "count"])
def test_an_index_that_has_git_commit_another_tree(staged, what, kind):
    """The entries are as ever; git takes the tree that is kept beside them."""
    if what == "tree":
        forgedindex.forge_tree(staged, _index(staged))
    else:
        forgedindex.forge_count(_index(staged))

    change = read_change(staged.folder, Scope(kind))

    assert [each.path for each in change.files] == ["a"]
    assert not change.is_whole
    (note,) = change.notes
    assert note == (
        "Left out, since the index names another tree than its files make, and `git "
        f"commit` would take that ({forgedindex.CURE} puts it right): folder"
    )
    staged.git("commit", "-qm", "forged")
    assert staged.git("diff", "--name-only", "HEAD~1", "HEAD") != "a\n"


def test_what_the_note_says_puts_a_forged_tree_right(staged):
    forgedindex.forge_tree(staged, _index(staged))

    subprocess.run(["sh", "-c", forgedindex.CURE], cwd=staged.folder, check=True)

    assert read_change(staged.folder, Scope("staged")).is_whole
    staged.git("commit", "-qm", "right")
    assert staged.git("diff", "--name-only", "HEAD~1", "HEAD") == "a\n"


@pytest.mark.parametrize("what", ["end", "starts"])
def test_an_index_that_git_reads_elsewhere(staged, what):
    """With more than one thread git goes where the last extensions send it."""
    staged.git("config", "index.threads", "4")
    forge = forgedindex.forge_end if what == "end" else forgedindex.forge_starts
    forge(staged, _index(staged))

    change = read_change(staged.folder, Scope("staged"))

    (note,) = change.notes
    assert note == (
        f"The change could not be read: the repository is broken: BrokenIndex: "
        f"{_index(staged)} is damaged: its entries "
        f"{'end' if what == 'end' else 'lie'} elsewhere"
    )
    staged.git("commit", "-qm", "forged")
    assert staged.git("show", "HEAD:folder/b") == "evil\n"


@pytest.mark.parametrize("version", ["2", "4"])
def test_the_trees_and_places_that_git_keeps_are_right(staged, version):
    """Whatever was done before."""
    staged.git("config", "index.threads", "4")
    staged.git("update-index", "--index-version", version)
    for words in (
        ("add", "-N", "new"), ("add", "new"), ("rm", "-q", "--cached", "new"),
        ("rm", "-q", "--cached", "folder/b"), ("reset", "-q"),
        ("mv", "folder", "other"), ("commit", "-qm", "moved"),
        ("checkout", "-q", "HEAD~1"), ("read-tree", "HEAD"), ("stash", "-q"),
        ("update-index", "--split-index"), ("update-index", "--no-split-index"),
        ("sparse-checkout", "set", "--sparse-index", "src"), ("status",),
    ):  # fmt: skip
        staged.write("new", "new\n")
        staged.git(*words, ok=False)
        change = read_change(staged.folder, Scope("staged"))
        assert change.is_whole, (words, change.notes)


EVIL = "import os\n"


@pytest.mark.parametrize(
    ("written", "is_shown"),
    [
        (f"# $Id\n{EVIL}# $\n", True),
        (f"# $Id: x\n{EVIL}# $\n", True),
        ("# $Id: x $\n", False),
        ("# $Id: x $Id: y$ z$\n", True),
    ],
)
def test_what_ident_takes_for_an_id_is_what_git_does(staged, written, is_shown):
    """libgit2 takes the lines up to the next `$` for a part of it."""
    staged.write(".gitattributes", "a ident")
    staged.write("a", "# $Id$\n")
    staged.commit("attributes")
    staged.write("a", written)

    change = read_change(staged.folder)

    assert change.is_whole
    assert [each.path for each in change.files] == ["a"] * is_shown
    staged.git("add", "a")
    assert bool(staged.git("diff", "--cached")) == is_shown
    stored = {f"+{line}" for line in staged.git("show", ":a").splitlines()}
    assert not is_shown or stored & set(change.diff.splitlines())


LONG = f"a {'x' * 2048} text\n"
ENCODING = "another encoding than UTF-7, as its attribute working-tree-encoding says"
FILTER = "what the filter evil makes of it, which is not run here"
# Attributes and text of the file, if they are not the usual ones.
UNSURE = {
    "encoding": (
        ("a working-tree-encoding=UTF-7", "# +AAo-import os\n"),
        f"git would store it in {ENCODING}",
    ),
    "filter": (("a filter=evil", EVIL), f"git would store {FILTER}"),
    "ends": (
        ("a ident", "$Id: x$\r\n"),
        "it has $Id$ and ends of lines that git may change",
    ),
    "link": ((), "git may not obey .gitattributes, which is no plain file"),
    "long": (
        (LONG, EVIL),
        "git may not obey .gitattributes, which has a line that is too long",
    ),
    "gone": ((), "git may not obey .gitattributes, which is only in the index"),
    "own": ((), "git may not obey OWN, which has a line that is too long"),
    "tree": ((), "git may not obey .gitattributes, since attr.tree names others"),
}


@pytest.mark.parametrize("what", UNSURE)
def test_a_file_of_which_git_may_store_something_else(staged, what):
    """What is shown of it, or that it has not changed, would not be true."""
    given, why = UNSURE[what]
    attributes, text = given or ("a -text", EVIL)
    file, own = (staged.folder / n for n in (".gitattributes", ".git/info/attributes"))
    staged.git("config", "filter.evil.clean", "sed s/os/sys/")
    staged.git("config", "core.autocrlf", "false")
    staged.write("a", text)
    staged.commit("text")
    staged.write(".gitattributes", f"{attributes}\n")
    if what == "link":
        file.rename(staged.folder / "z")
        file.symlink_to("z")
    staged.commit("attributes")
    if what == "own":
        own.parent.mkdir(exist_ok=True)
        own.write_text(LONG)
    if what == "gone":
        file.unlink()
    if what == "tree":
        staged.git("config", "attr.tree", "HEAD")
    staged.write("a", text)

    change = read_change(staged.folder)

    assert not change.is_whole
    assert f"Left out, {why.replace('OWN', str(own))}: " in "\n".join(change.notes)
    if what in ("encoding", "filter", "ends"):
        staged.git("add", "--renormalize", "a")
        assert staged.git("show", ":a") != text
