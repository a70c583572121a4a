"""Commits, the index and paths are compared as git itself does it."""

from __future__ import annotations

import os
import random
import subprocess
from typing import TYPE_CHECKING

import gitworld
import needs
import pytest

from bridge.change.collect import read_change
from bridge.change.scope import parse_scope
from bridge.errors import InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.change.change import Change


@pytest.fixture
def repo(tmp_path: Path) -> gitworld.Repository:
    """Two branches that parted, with whatever git tells apart in them."""
    repo = gitworld.Repository(tmp_path / "app")
    repo.write("gone.py", "one\ntwo\n")
    repo.write("moved.txt", "a\nb\nc\n")
    repo.write("crlf.txt", "a\r\nb\r\n")
    repo.write("run.sh", "echo\n")
    (repo.folder / "data.bin").write_bytes(b"\0\1\2")
    repo.commit("second")
    repo.git("tag", "-a", "v1", "-m", "v1")
    repo.git("checkout", "-qb", "feature/x")
    (repo.folder / "gone.py").unlink()
    (repo.folder / "moved.txt").rename(repo.folder / "folder" / "moved.txt")
    repo.write("a", "one\n2\nthree\nfour\n")
    repo.write("crlf.txt", "a\nb\n")
    (repo.folder / "run.sh").chmod(0o755)
    (repo.folder / "data.bin").write_bytes(b"\0\1\2\3")
    (repo.folder / "link").unlink()
    (repo.folder / "link").symlink_to("folder/b")
    repo.write("new é.py", "x = 1\n")
    (repo.folder / os.fsdecode(b"latin-\xe9.txt")).write_text("x\n")
    repo.write("empty", "")
    repo.commit("third")
    repo.git("checkout", "-q", "main")
    repo.write("only-main", "m\n")
    repo.commit("fourth")
    return repo


def read(repo: gitworld.Repository, *words: str, staged: bool = False) -> Change:
    project = str(repo.folder)
    scope = parse_scope(words, staged=staged, project=project)
    return read_change(repo.folder, scope, timeout_s=30)


def by_git(repo: gitworld.Repository, *words: str) -> dict[str, tuple[str, str, str]]:
    """Of each file what git says: its status, and the lines added and removed."""
    options = ("-c", "core.quotePath=false", "diff", "-z", "--no-renames")
    found = repo.git(*options, "--name-status", *words).split("\0")
    kinds = dict(zip(found[1::2], found[0::2], strict=False))
    counted = {}
    for line in repo.git(*options, "--numstat", *words).split("\0"):
        if line:
            added, removed, path = line.split("\t", 2)
            counted[path] = (kinds[path], added, removed)
    return counted


def by_us(change: Change) -> dict[str, tuple[str, str, str]]:
    """The same of what we read; a byte that is no UTF-8 as the tests' git prints it."""
    found = {}
    for each in change.files:
        kind = "A" if each.is_new else "D" if each.is_deleted else "M"
        lines = [
            "-" if each.is_binary else str(number)
            for number in (each.added, each.removed)
        ]
        found[each.path.replace(r"\xe9", "\ufffd")] = (kind, *lines)
    return found


def same(ours: dict[str, tuple[str, str, str]], gits: dict[str, tuple[str, ...]]):
    """A change of type is one for us, where git has a letter for it."""
    gits = {path: (kind.replace("T", "M"), *n) for path, (kind, *n) in gits.items()}
    assert ours == gits


@pytest.mark.parametrize(
    "words",
    [
        ["main..feature/x"],
        ["main...feature/x"],
        ["feature/x..main"],
        ["feature/x...main"],
        ["v1..feature/x"],
        ["HEAD~1..HEAD"],
        ["HEAD^.."],
        ["..feature/x"],
        ["refs/heads/main..heads/feature/x"],
        ["v1^{}~1..v1^{commit}^0"],
        ["@~2..@"],
        ["v1..feature/x", "--", "folder", "gone.py"],
        ["v1..feature/x", "--", "link", "moved.txt"],
    ],
    ids=" ".join,
)
def test_from_commit_to_commit(repo, words):
    change = read(repo, *words)

    same(by_us(change), by_git(repo, *words))
    assert change.files


def test_the_index_and_a_single_revision(repo):
    """What is staged, what is not, and both of them since an earlier commit."""
    repo.write("a", "one\n")
    repo.git("add", "a")
    repo.write("a", "1\n")
    repo.write("folder/b", "")
    (repo.folder / "run.sh").chmod(0o755)
    repo.git("rm", "-q", "gone.py")
    repo.write("added", "x\n")
    repo.git("add", "added")
    (repo.folder / "added").unlink()
    repo.write("later", "x\n")
    repo.git("add", "-N", "later")

    for words in ([], ["v1"], ["feature/x"], ["--", "folder"]):
        staged = read(repo, *words, staged=True)
        same(by_us(staged), by_git(repo, "--staged", *words))
        same(by_us(read(repo, *words)), by_git(repo, *files_of(words)))
    assert not read(repo, staged=True).is_in_files
    assert read(repo, "--", "folder", staged=True).is_empty


def files_of(words: list[str]) -> list[str]:
    """For git, the files against HEAD: without a word it compares with the index."""
    return ["HEAD", *words] if words[:1] in ([], ["--"]) else words


def test_the_ids_of_the_commits_are_told(repo):
    change = read(repo, "main...feature/x")

    assert (change.base, change.tip) == (repo.tip("v1"), repo.tip("feature/x"))
    assert read(repo).base == repo.tip("HEAD")
    assert read(repo).tip is None


def test_who_cannot_read_the_files_is_told_so(repo):
    """Files of another commit would be judged in place of the change."""
    change = read(repo, "main...feature/x")

    assert not change.is_in_files
    assert change.title.startswith("The change in question: main...feature/x (")
    assert "The files of the project are in another state" in change.title
    repo.git("checkout", "-q", "feature/x")
    change = read(repo, "main...feature/x")
    assert change.is_in_files
    assert "another state" not in change.title
    repo.write("run.sh", "echo 2\n")
    assert not read(repo, "main...feature/x").is_in_files


def test_texts_of_commits_are_shown_as_they_are(repo):
    """Ends of lines, too: what one commit has and another has not is a change."""
    diff = read(repo, "v1..feature/x", "--", "crlf.txt", "run.sh", "link").diff

    assert diff == (
        "diff --git a/crlf.txt b/crlf.txt\n"
        "--- a/crlf.txt\n"
        "+++ b/crlf.txt\n"
        "@@ -1,2 +1,2 @@\n"
        "-a\r\n"
        "-b\r\n"
        "+a\n"
        "+b\n"
        "diff --git a/link b/link\n"
        "--- a/link\n"
        "+++ b/link\n"
        "@@ -1 +1 @@\n"
        "-a\n"
        "\\ No newline at end of file\n"
        "+folder/b\n"
        "\\ No newline at end of file\n"
        "diff --git a/run.sh b/run.sh\n"
        "old mode 100644\n"
        "new mode 100755"
    )


@pytest.mark.parametrize("how", ["packed", "worktree", "detached"])
def test_references_wherever_git_keeps_them(repo, tmp_path, how):
    wanted = by_git(repo, "main...feature/x")
    if how == "packed":
        repo.git("pack-refs", "--all", "--prune")
        repo.git("gc", "-q")
    if how == "worktree":
        repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "wt"), "v1")
    if how == "detached":
        repo.git("checkout", "-q", "--detach", "v1")
    folder = tmp_path / "wt" if how == "worktree" else repo.folder

    change = read_change(folder, parse_scope(["main...feature/x"]))

    same(by_us(change), wanted)
    (folder / "a").write_text("other\n")
    assert [each.path for each in read_change(folder, parse_scope(["@"])).files] == [
        "a"
    ]


def test_branches_of_a_remote_and_beginnings_of_ids(repo, tmp_path):
    repo.git("clone", "-q", str(repo.folder), str(tmp_path / "clone"))
    clone = gitworld.Repository(tmp_path / "clone", is_empty=True)
    tip = repo.tip("feature/x")

    for name in ("origin/feature/x", tip[:7], tip, tip.upper()):
        change = read(clone, f"origin/main...{name}")
        assert change.tip == tip
    assert read(clone, "origin").base == clone.tip("origin/main")


def test_a_name_is_taken_as_git_takes_it(repo):
    """A tag before a branch of the same name; a word that is both must be told."""
    repo.git("tag", "feature/x", "v1")
    assert read(repo, "feature/x").base == repo.tip("refs/tags/feature/x")

    repo.git("branch", "folder", "v1")
    with pytest.raises(InvalidRequest) as failed:
        read(repo, "folder")
    assert failed.value.what == "'folder' is both a revision and a path"
    assert read(repo, "folder", "--").base == repo.tip("v1")
    assert read(repo, "--", "folder").scope.paths == ("folder",)
    repo.write("a..b", "x\n")
    assert [each.path for each in read(repo, "a..b").files] == ["a..b"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["mian"], "'mian' is neither a revision nor a path of the project"),
        (["main..featur/x"], "no revision is named 'featur/x'"),
        (["--", "nowhere.py"], "no file and no folder is named 'nowhere.py' on either"),
        (["main", "nowhere.py"], "no file and no folder is named 'nowhere.py' on"),
        (["HEAD~9"], r"'HEAD~9': commit [0-9a-f]{10} has 0 parents"),
        (["main^3", "--"], r"'main\^3': commit [0-9a-f]{10} has 1 parents"),
        (["tree", "--"], "'tree' does not name a commit"),
        (["main~999999", "--"], "'main~999999': 10,000 steps is the limit"),
        (["-x", "--"], "no revision is named '-x'"),
        (["../main", "--"], "no revision is named '/main'"),
        (["main@{0}", "--"], r"no revision is named 'main@\{0\}'"),
        (["main:a", "--"], "no revision is named 'main:a'"),
        (["alone..main"], None),
        (["alone...main"], "'alone...main': the two have no commit in common"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_error_a_revision_that_is_not_there(repo, words, what):
    repo.git("tag", "tree", repo.tip("v1") + "^{tree}")
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("commit", "-qm", "alone")
    repo.git("checkout", "-q", "main")

    if what is None:
        same(by_us(read(repo, *words)), by_git(repo, *words))
        return
    with pytest.raises(InvalidRequest, match=what):
        read(repo, *words)


def test_a_misspelt_branch_is_guessed(repo):
    with pytest.raises(InvalidRequest) as failed:
        read(repo, "featur/x...main")

    assert failed.value.ways == ("did you mean feature/x?",)


def test_error_the_beginning_of_several_ids(repo):
    """All 4-digit beginnings: with so many commits some share theirs."""
    tree = repo.git("write-tree").strip()
    ids: dict[str, str] = {}
    for number in range(2000):
        made = repo.git("commit-tree", tree, "-m", str(number)).strip()
        if made[:4] in ids:
            break
        ids[made[:4]] = made
    else:
        pytest.fail("no two commits begin alike")

    with pytest.raises(InvalidRequest) as failed:
        read(repo, made[:4], "--")

    both = sorted([ids[made[:4]][:10], made[:10]])
    assert failed.value.what == (
        f"'{made[:4]}' is the beginning of 2 commits: {', '.join(both)}"
    )


def test_a_shallow_clone_names_where_it_ends(repo, tmp_path):
    repo.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo.folder}",
             str(tmp_path / "clone"))  # fmt: skip
    clone = gitworld.Repository(tmp_path / "clone", is_empty=True)
    end = clone.tip("HEAD")[:10]

    with pytest.raises(InvalidRequest) as failed:
        read(clone, "HEAD~1")
    assert failed.value.what == f"'HEAD~1': this shallow clone ends at {end}"
    with pytest.raises(InvalidRequest) as failed:
        read(clone, "main...origin/feature/x")
    assert "the two have no commit in common in this shallow clone" in (
        failed.value.what
    )
    assert failed.value.ways == ("git fetch --unshallow",)
    same(
        by_us(read(clone, "main..origin/feature/x")),
        by_git(clone, "main..origin/feature/x"),
    )


def test_a_merge_is_compared_with_its_parents(repo):
    repo.git("merge", "-q", "--no-edit", "feature/x")

    for words in (["HEAD^..HEAD"], ["HEAD^2..HEAD"], ["main^1...HEAD"]):
        same(by_us(read(repo, *words)), by_git(repo, *words))
    assert read(repo, staged=True).is_empty


def test_a_merge_that_is_not_finished(repo):
    repo.write("a", "mine\n")
    repo.commit("mine")
    repo.git("merge", "feature/x", ok=False)

    change = read(repo, staged=True)

    assert not change.is_whole
    assert "Left out, a merge has left it open: a" in change.notes


def test_a_submodule_is_named(repo, tmp_path):
    other = gitworld.Repository(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q",
             str(other.folder), "sub")  # fmt: skip
    repo.commit("sub")

    change = read(repo, "HEAD^..HEAD")

    assert change.notes == ("Left out, another commit of a submodule: sub",)
    assert {each.path for each in change.files} == {".gitmodules", "sub"}
    assert change.is_in_files


def test_a_sparse_checkout(repo):
    """A file that is not checked out has not been deleted."""
    repo.git("sparse-checkout", "set", "--no-cone", "/a")

    assert read(repo).is_empty
    same(by_us(read(repo, "feature/x")), by_git(repo, "feature/x"))
    # The form of an index that dulwich cannot read is named, and no change is made up.
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "folder")
    assert not read(repo).is_whole
    assert read(repo).files == ()


def test_files_that_do_not_say_what_is_a_program(repo):
    """On a disk where every file is executable, git keeps the modes itself."""
    (repo.folder / "a").chmod(0o755)
    assert "old mode 100644\nnew mode 100755" in read(repo).diff

    repo.git("config", "core.fileMode", "false")

    assert read(repo).is_empty


def test_a_file_that_git_forgot_is_deleted_once(repo):
    repo.git("rm", "-q", "--cached", "gone.py")

    change = read(repo)

    assert [(f.path, f.is_deleted) for f in change.files] == [("gone.py", True)]


def test_without_a_repository_files_are_taken_whole(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.py").write_text("x = 1\n")
    (tmp_path / "y.py").write_text("y = 1\n")

    change = read_change(tmp_path, parse_scope(["src"], project=str(tmp_path)))

    assert [each.path for each in change.files] == ["src/x.py"]
    assert change.title == "The change in question: whole files, in src."
    assert change.diff.endswith("+x = 1")
    for scope in (parse_scope([]), parse_scope(["src"], staged=True)):
        unread = read_change(tmp_path, scope)
        assert not unread.is_whole
        assert "the project is no git repository" in unread.notes[0]
    with pytest.raises(InvalidRequest, match="is named 'nowhere'"):
        read_change(tmp_path, parse_scope(["nowhere"]))


def test_merge_bases_are_those_of_git(tmp_path):
    """In histories of all shapes, with clocks that were wrong."""
    repo = gitworld.Repository(tmp_path / "app", is_empty=True)
    dice = random.Random(15)  # noqa: S311 - a shape, no secret
    stream = []
    for number in range(1, 61):
        when = 1_700_000_000 + dice.randrange(100_000)
        parents = dice.sample(
            range(max(1, number - 6), number),
            min(number - 1, dice.choice([1, 1, 1, 2])),
        )
        stream.append(f"commit refs/heads/b{number}\nmark :{number}\n"
                      f"committer A <a@x.org> {when} +0000\ndata 1\nx\n")  # fmt: skip
        stream += [
            f"{'from' if i == 0 else 'merge'} :{parent}\n"
            for i, parent in enumerate(parents)
        ]
        stream.append(f"M 644 inline f{number}\ndata 1\nx\n")
    subprocess.run(
        [needs.tool("git"), "fast-import", "--quiet"],
        cwd=repo.folder,
        check=True,
        input="".join(stream).encode(),
    )
    for _ in range(40):
        one, other = (f"b{dice.randrange(1, 61)}" for _ in range(2))
        bases = repo.git("merge-base", "--all", one, other, ok=False).split()
        if bases:
            assert read(repo, f"{one}...{other}", "--").base in bases
