"""Commits, the index and paths are compared as git itself does it."""

import random
import subprocess

import gitworld
import needs
import pytest
from gitcomparison import by_git, by_us, read, same

from bridge.change.collect import read_change
from bridge.change.scope import parse_scope
from bridge.errors import InvalidRequest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "words",
    [
        "main..feature/x",
        "main...feature/x",
        "feature/x..main",
        "feature/x...main",
        "v1..feature/x",
        "HEAD~1..HEAD",
        "HEAD^..",
        "..feature/x",
        "refs/heads/main..heads/feature/x",
        "v1^{}~1..v1^{commit}^0",
        "@~2..@",
        "v1..feature/x -- folder gone.py",
        "v1..feature/x -- link moved.txt",
    ],
)
def test_from_commit_to_commit(repo, words):
    change = read(repo, *words.split())

    same(by_us(change), by_git(repo, *words.split()))
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
        change = read(repo, *words)
        apart = {each.path for each in change.files if each.staged}
        assert apart <= {"a", "added"}
        sides = by_us(change), by_git(repo, *files_of(words))
        same(*({n: s[n] for n in s.keys() - apart} for s in sides))
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
    repo.add_submodule(tmp_path / "other")

    change = read(repo, "HEAD^..HEAD")

    assert change.notes == ("Left out, another commit of a submodule: sub",)
    assert {each.path for each in change.files} == {".gitmodules", "sub"}
    assert change.is_in_files


def test_a_sparse_checkout(repo):
    """A file that is not checked out has not been deleted."""
    repo.git("sparse-checkout", "set", "--no-cone", "/a")

    assert read(repo).is_empty
    same(by_us(read(repo, "feature/x")), by_git(repo, "feature/x"))
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "folder")
    assert read(repo).is_empty


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
        count = min(number - 1, dice.choice([1, 1, 1, 2]))
        parents = dice.sample(range(max(1, number - 6), number), count)
        stream.append(
            f"commit refs/heads/b{number}\nmark :{number}\n"
            f"committer A <a@x.org> {when} +0000\ndata 1\nx\n"
        )
        for word, parent in zip(("from", "merge"), parents, strict=False):
            stream.append(f"{word} :{parent}\n")
        stream.append(f"M 644 inline f{number}\ndata 1\nx\n")
    command = [needs.tool("git"), "fast-import", "--quiet"]
    data = "".join(stream).encode()
    subprocess.run(command, cwd=repo.folder, check=True, input=data)
    for _ in range(40):
        one, other = (f"b{dice.randrange(1, 61)}" for _ in range(2))
        bases = repo.git("merge-base", "--all", one, other, ok=False).split()
        if bases:
            assert read(repo, f"{one}...{other}", "--").base in bases
