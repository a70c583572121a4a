"""A revision is found, and a name is taken, as git itself does it."""

import gitworld
import pytest
from gitcomparison import by_git, by_us, read, same

from bridge.change.collect import read_change
from bridge.change.scope import parse_scope
from bridge.errors import InvalidRequest

pytestmark = pytest.mark.slow


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
        (["HEAD~9"], "'HEAD~9' names no commit"),
        (["main^3", "--"], r"'main\^3' names no commit"),
        (["tree", "--"], "'tree' names no commit"),
        (["main~999999", "--"], "'main~999999' names no commit"),
        (["main~99999999999", "--"], "'main~99999999999' names no commit"),
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
    begins: set[str] = set()
    for number in range(2000):
        made = repo.git("commit-tree", tree, "-m", str(number)).strip()
        if made[:4] in begins:
            break
        begins.add(made[:4])
    else:
        pytest.fail("no two commits begin alike")

    with pytest.raises(InvalidRequest) as failed:
        read(repo, made[:4], "--")

    assert failed.value.what == f"'{made[:4]}' is the beginning of several ids"


def test_a_shallow_clone_names_where_it_ends(repo, tmp_path):
    repo.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo.folder}",
             str(tmp_path / "clone"))  # fmt: skip
    clone = gitworld.Repository(tmp_path / "clone", is_empty=True)
    end = clone.tip("HEAD")[:10]

    with pytest.raises(InvalidRequest) as failed:
        read(clone, "HEAD~1")
    assert "'HEAD~1' names no commit in this shallow clone, which ends at " in (
        failed.value.what
    )
    assert end in failed.value.what
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


@pytest.fixture
def grown(tmp_path):
    """A branch of two commits, which left `main` at its second."""
    repo = gitworld.Repository(tmp_path / "grown")
    for number in (1, 2, 3):
        repo.write(f"f{number}", "x\n")
        repo.commit(f"{number}")
        if number == 1:
            repo.git("tag", "v1")
    repo.git("branch", "topic")
    repo.git("reset", "-q", "--hard", "v1")
    return repo


@pytest.mark.parametrize("words", ["main...topic", "topic~1"])
def test_grafts_are_refused_by_name(grown, words):
    """Git obeys them: an archive could move the commit at which a branch began."""
    assert not read(grown, words).notes
    tip, first = grown.tip("topic"), grown.tip("main~1")
    grown.write(".git/info/grafts", f"{tip} {first}\n")
    if words == "main...topic":
        assert grown.git("merge-base", "main", "topic").strip() == first

    change = read(grown, words)

    assert not change.is_whole
    (note,) = change.notes
    assert note == (
        f"The change could not be read: {grown.folder}/.git/info/grafts gives commits "
        "other parents, which is not read. What to do: git replace "
        "--convert-graft-file"
    )


@pytest.mark.parametrize("place", [".git", ".git/worktrees/wt"])
def test_a_history_that_is_cut_after_the_fork_is_refused(grown, tmp_path, place):
    """Git obeys a file `shallow`, too: it leaves an earlier commit for the fork.

    libgit2 obeys even that of a linked worktree.
    """
    first = grown.tip("main~1")
    grown.git("checkout", "-qb", "side", first)
    grown.write("side", "x\n")
    grown.commit("side")
    grown.git("merge", "-q", "--no-edit", "topic")
    grown.git("worktree", "add", "-q", "--detach", str(tmp_path / "wt"))
    folder = grown.folder if place == ".git" else tmp_path / "wt"
    scope = parse_scope(["main...side"])
    assert read_change(folder, scope).base == grown.tip("main")
    end = grown.tip("topic~1")
    grown.write(f"{place}/shallow", f"{end}\n")
    if place == ".git":
        assert grown.git("merge-base", "main", "side").strip() == first

    change = read_change(folder, scope)

    assert not change.is_whole
    (note,) = change.notes
    assert note == (
        f"The change could not be read: a file `shallow` in {grown.folder}/.git has "
        f"history end at {end[:10]}, and earlier commits are here: the fork may be "
        "among them. What to do: git fetch --unshallow"
    )


def test_a_history_that_is_cut_at_the_fork_is_read(grown):
    """Tags bring commits from before the ends of a shallow clone."""
    grown.write(".git/shallow", f"{grown.tip('main')}\n")

    change = read(grown, "main...topic")

    same(by_us(change), by_git(grown, "main...topic"))
    assert change.files
