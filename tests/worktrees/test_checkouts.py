"""A checkout of what is staged: as git would commit it, beside the repository."""

import os
import shutil
from pathlib import Path

import forgedindex
import pytest
from gitworld import Repository, git
from mergeworld import IDENT, part
from storeworld import store_in

from bridge.change.collect import read_change
from bridge.change.scope import Scope
from bridge.config import Settings
from bridge.store.location import locate
from bridge.worktrees import WorktreeRefused, find
from bridge.worktrees.checkouts import check_out, drop, state_of, sweep
from bridge.worktrees.leftovers import Freed, free
from bridge.worktrees.worktree import Worktree, write

pytestmark = pytest.mark.slow

LATER_MS = 1 << 50


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state" / "worktrees" / "run1" / "staged"


def checked_out(repository, folder, index=None):
    return check_out(repository.folder, folder, index=index, until_ms=LATER_MS)


def names(folder):
    found = (each.relative_to(folder) for each in folder.rglob("*"))
    return sorted(str(each) for each in found if each.parts[0] != ".git")


def kept(repository):
    """All that git keeps, but for the worktrees and what is ours."""
    git_folder = repository.folder / ".git"
    return {
        str(each): each.read_bytes()
        for each in git_folder.rglob("*")
        if each.is_file()
        and each.relative_to(git_folder).parts[0] not in ("worktrees", "hostbridge")
    }


def partly_staged(repository):
    repository.write("a", "staged\n")
    repository.git("add", "a")
    repository.write("a", "not staged\n")
    repository.write("new", "not staged\n")


def test_it_has_what_is_staged_and_nothing_else(repository, folder):
    partly_staged(repository)
    repository.git("rm", "-q", "--cached", "folder/b")

    checked_out(repository, folder)

    assert names(folder) == [".gitignore", "a", "link"]
    assert (folder / "a").read_text() == "staged\n"
    assert os.readlink(folder / "link") == "a"


def test_git_and_the_state_of_the_project_know_it(repository, folder, tmp_path):
    """Agents use git there as ever, and hooks find the state."""
    partly_staged(repository)

    checked_out(repository, folder)

    assert repository.status(cwd=folder) == ["M  a"]
    assert repository.git("branch", "--show-current", cwd=folder) == ""
    settings = Settings(home=tmp_path / "home", home_is_default=False)
    assert locate(settings, folder).owner == repository.folder
    change = read_change(folder, Scope("staged"))
    assert ([each.path for each in change.files], change.is_in_files) == (["a"], True)


def test_the_repository_is_left_as_it_was(repository, folder):
    """No reference, no index, no HEAD, no log; afterwards not even an entry."""
    partly_staged(repository)
    before = kept(repository)

    checked_out(repository, folder)
    drop(folder)
    drop(folder)

    assert kept(repository) == before
    assert not list((repository.folder / ".git/worktrees").iterdir())
    assert not folder.parent.exists()
    assert repository.status() == ["MM a", "?? new"]


def test_files_are_written_as_git_writes_them(repository, folder):
    """Modes, line ends by the attributes that are staged, names that are no UTF-8."""
    repository.write(".gitattributes", "*.txt text eol=crlf\n")
    repository.write("lines.txt", "a\nb\n")
    repository.write("run.sh", "#!/bin/sh\n")
    (repository.folder / "run.sh").chmod(0o755)
    odd = os.fsencode(repository.folder) + b"/\xe9"
    Path(os.fsdecode(odd)).write_text("latin\n")
    repository.git("add", "-A")

    checked_out(repository, folder)

    assert (folder / "lines.txt").read_bytes() == b"a\r\nb\r\n"
    assert os.access(folder / "run.sh", os.X_OK)
    assert not os.access(folder / "a", os.X_OK)
    assert Path(os.fsdecode(os.fsencode(folder) + b"/\xe9")).read_text() == "latin\n"
    assert read_change(folder, Scope("staged")).is_in_files


def test_no_filter_runs_and_the_files_are_named(repository, folder, tmp_path):
    """Someone else's attributes and configuration start nothing."""
    repository.write("big.bin", "version https://git-lfs.github.com/spec/v1\n")
    repository.git("add", "big.bin")
    repository.write(".gitattributes", "*.bin filter=evil\n")
    repository.git("add", ".gitattributes")
    ran = tmp_path / "ran"
    for kind in ("smudge", "process"):
        repository.git("config", f"filter.evil.{kind}", f"touch {ran}")
    repository.git("config", "filter.evil.required", "true")
    repository.git("config", "core.fsmonitor", f"touch {ran}")
    hook = repository.folder / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)

    made = checked_out(repository, folder)

    assert not ran.exists()
    assert made.filtered == ("big.bin",)
    assert (folder / "big.bin").read_text().startswith("version https://git-lfs")


def test_what_is_only_to_be_added_is_not_there(repository, folder):
    """`git add -N`: no commit has it yet."""
    repository.write("new", "x\n")
    repository.git("add", "-N", "new")

    checked_out(repository, folder)

    assert "new" not in names(folder)


def test_before_the_first_commit_no_branch_is_made(tmp_path, folder):
    repository = Repository(tmp_path / "app", is_empty=True)
    repository.write("a", "one\n")
    repository.git("add", "a")
    repository.write("a", "two\n")

    checked_out(repository, folder)

    assert (folder / "a").read_text() == "one\n"
    assert repository.git("branch", "--all") == ""
    drop(folder)
    assert not list((repository.folder / ".git/worktrees").iterdir())


def test_of_a_linked_worktree_it_has_what_is_staged_there(repository, folder, tmp_path):
    mine = tmp_path / "mine"
    repository.git("worktree", "add", "-q", "-b", "mine", str(mine))
    repository.write("a", "mine\n", cwd=mine)
    repository.git("add", "a", cwd=mine)

    check_out(mine, folder, index=None, until_ms=LATER_MS)

    assert (folder / "a").read_text() == "mine\n"
    assert read_change(folder, Scope("staged")).is_in_files


def test_a_submodule_is_an_empty_folder(repository, folder, tmp_path):
    repository.add_submodule(tmp_path / "other")

    checked_out(repository, folder)

    assert list((folder / "sub").iterdir()) == []
    assert read_change(folder, Scope("staged")).is_in_files


def test_its_state_changes_with_the_index_and_with_head(repository, folder):
    partly_staged(repository)
    made = checked_out(repository, folder)
    assert state_of(repository.folder, index=None) == made.holds

    repository.git("add", "a")
    staged = state_of(repository.folder, index=None)
    repository.git("commit", "-qm", "second")

    assert len({made.holds, staged, state_of(repository.folder, index=None)}) == 3


def test_an_earlier_one_in_its_place_is_removed_first(repository, folder):
    """A step that is done again after a kill."""
    checked_out(repository, folder)
    (folder / "made").write_text("x\n")
    partly_staged(repository)

    checked_out(repository, folder)

    assert (folder / "a").read_text() == "staged\n"
    assert "made" not in names(folder)
    assert len(list((repository.folder / ".git/worktrees").iterdir())) == 1


@pytest.mark.parametrize("until_ms", [1, 0], ids=["checkout", "worktree"])
def test_error_a_link_in_place_of_all_worktrees_leads_nowhere(
    repository, tmp_path, until_ms
):
    store = store_in(tmp_path)
    with store.state():
        pass
    mine = tmp_path / "mine/run1/docs"
    project = store.place.project
    Repository(project).git("branch", "hostbridge/run1/docs")
    start = repository.tip("main")
    branch = "" if until_ms else "hostbridge/run1/docs"
    write(Worktree(project, mine, branch, "", start, "making", until_ms))
    mine.mkdir()
    (store.place.state / "worktrees").symlink_to(mine.parent.parent)

    assert (sweep(store), free(store)) == (0, Freed())

    assert mine.exists()


def test_a_pipe_in_place_of_a_record_holds_up_nobody(tmp_path):
    store = store_in(tmp_path)
    with store.state():
        pass
    record = store.place.state / "worktrees/run1/dev.json"
    record.parent.mkdir(parents=True)
    os.mkfifo(record)

    assert sweep(store) == 0
    (kept,) = free(store).kept

    assert kept.holds == f"{record}: not a plain file"


def record_only(made, folder):
    """Killed before anything but the record was made."""
    shutil.rmtree(folder)
    (entry,) = (made.project / ".git/worktrees").iterdir()
    shutil.rmtree(entry)


def without_files(_made, folder):
    """Killed before the first file was written."""
    for each in folder.iterdir():
        if each.name != ".git":
            shutil.rmtree(each) if each.is_dir() else each.unlink()


def entry_only(_made, folder):
    """Killed while it was removed."""
    shutil.rmtree(folder)


def nothing(_made, _folder):
    """Killed before the record said that it was whole, or when it went."""


@pytest.mark.parametrize("stage", ["making", "removing"])
@pytest.mark.parametrize(
    "left", [record_only, without_files, entry_only, nothing], ids=lambda w: w.__name__
)
@pytest.mark.parametrize("then", [drop, checked_out], ids=["dropped", "made again"])
def test_what_a_kill_has_left_is_in_nobodys_way(repository, folder, stage, left, then):
    checked_out(repository, folder)
    made = find(folder)
    write(made.at(stage))
    left(made, folder)
    partly_staged(repository)

    if then is drop:
        drop(folder)
    else:
        checked_out(repository, folder)

    entries = list((repository.folder / ".git/worktrees").iterdir())
    assert len(entries) == (0 if then is drop else 1)
    assert folder.exists() == (then is not drop)
    assert (find(folder) is None) == (then is drop)
    assert repository.status() == ["MM a", "?? new"]


def test_one_whose_project_is_gone_is_removed(repository, folder):
    checked_out(repository, folder)
    repository.folder.rename(repository.folder.with_name("moved"))

    drop(folder)

    assert not folder.exists()
    assert find(folder) is None


def conflict(repository):
    part(repository)
    repository.git("merge", "-q", "side", ok=False)


def split(repository):
    repository.git("update-index", "--split-index")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (conflict, "a merge is not resolved: git would not commit this"),
        (split, "git update-index --no-split-index"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_error_what_cannot_be_checked_out(repository, folder, change, why):
    """It is named, and nothing is left of it."""
    change(repository)

    with pytest.raises(WorktreeRefused) as caught:
        checked_out(repository, folder)

    assert why in str(caught.value)
    assert not folder.parent.exists()
    assert not list((repository.folder / ".git").glob("worktrees/*"))


def test_error_a_pipe_among_gits_files(repository, folder):
    """Its reader would wait for ever; what is left is removed once it can be."""
    partly_staged(repository)
    attributes = repository.folder / ".git/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    os.mkfifo(attributes)

    with pytest.raises(WorktreeRefused) as caught:
        check_out(repository.folder, folder, index=None, until_ms=LATER_MS, limit_s=5)
    attributes.unlink()
    drop(folder)

    assert str(caught.value) == (
        "git's files could not be read and written within 5 s. What to do: look for a "
        "pipe among them, or a drive that does not answer"
    )
    assert not folder.exists()
    assert not list((repository.folder / ".git").glob("worktrees/*"))


def test_error_an_index_of_another_repository(repository, folder, tmp_path):
    """An environment could have approved what is not committed."""
    other = Repository(tmp_path / "other")
    index = str(other.folder / ".git/index")

    with pytest.raises(WorktreeRefused, match="is no index of this repository"):
        checked_out(repository, folder, index)


@pytest.mark.parametrize("is_made_again", [False, True])
def test_error_a_record_that_names_a_branch_of_the_user(
    repository, folder, is_made_again
):
    """What works in a checkout could have written it: no branch of theirs goes."""
    checked_out(repository, folder)
    record = folder.with_suffix(".json")
    record.write_text(record.read_text().replace('"branch": ""', '"branch": "main"'))

    with pytest.raises(WorktreeRefused, match="is not as hostbridge has written it"):
        checked_out(repository, folder) if is_made_again else drop(folder)

    assert git(repository.folder, "branch", "--list", "main")


def test_error_an_index_that_has_git_commit_another_tree(repository, folder):
    """Also if it was written after the checkout was made."""
    repository.git("write-tree")
    partly_staged(repository)
    checked_out(repository, folder)
    forgedindex.forge_tree(repository, repository.folder / ".git/index")

    for look in (
        lambda: checked_out(repository, folder),
        lambda: state_of(repository.folder, index=None),
    ):
        with pytest.raises(WorktreeRefused) as caught:
            look()
        assert str(caught.value) == (
            "the index names another tree of 'folder' than its files make, and git "
            f"would commit that. What to do: {forgedindex.CURE}"
        )


def test_no_line_is_lost_between_two_signs_of_an_id(repository, folder):
    """libgit2 would put an id in the place of the lines."""
    repository.write(".gitattributes", "a ident\nfolder/b ident\n")
    repository.write("a", IDENT)
    repository.commit("ident")

    made = checked_out(repository, folder)

    assert (folder / "a").read_text() == IDENT
    assert made.filtered == ("a",)
    assert repository.status(cwd=folder) == []
    assert read_change(folder, Scope("staged")).is_in_files


@pytest.mark.parametrize("what", ["entry", "index"])
def test_nothing_is_written_through_a_link_of_gits(repository, folder, tmp_path, what):
    """Somebody has foreseen the name, and where the checkout will be."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index").write_text("mine\n")
    entry = repository.folder / ".git/worktrees/foreseen"
    entry.parent.mkdir()
    if what == "entry":
        entry.symlink_to(elsewhere)
    else:
        entry.mkdir()
        (entry / "HEAD").write_text(repository.tip("main") + "\n")
        (entry / "commondir").write_text("../..\n")
        (entry / "index").symlink_to(elsewhere / "index")
    (entry / "gitdir").write_text(f"{folder}/.git\n")

    if what == "index":
        checked_out(repository, folder)
        assert not (entry / "index").is_symlink()
    else:
        with pytest.raises(WorktreeRefused) as caught:
            checked_out(repository, folder)
        assert str(caught.value) == (
            f"{entry}, where git keeps what it knows of {folder}, is a link. What to "
            "do: remove the link; git worktree prune"
        )
        entry.unlink()
        drop(folder)
        assert not folder.parent.exists()

    assert (elsewhere / "index").read_text() == "mine\n"
