"""Our own settings file of one user is no new file of the project for git."""

import shutil

import pytest
from gitworld import Repository

from bridge.change.collect import read_change

pytestmark = pytest.mark.slow

LINE = "/.claude/settings.local.json\n"


@pytest.fixture
def repository(world) -> Repository:
    shutil.rmtree(world.project / ".git")
    made = Repository(world.project)
    world.patch.setenv("HOME", str(world.home))
    world.patch.delenv("XDG_CONFIG_HOME", raising=False)
    return made


def excluded(repository: Repository) -> bytes:
    return (repository.folder / ".git/info/exclude").read_bytes()


@pytest.mark.parametrize("before", [b"", b"# mine\n*.swp\n", b"*.swp", b"a\r\nb", None])
def test_what_install_writes_is_not_reviewed_and_is_taken_back(
    world, repository, before
):
    """Three agents looked at it with each `validate`."""
    file = repository.folder / ".git/info/exclude"
    if before is None:
        shutil.rmtree(file.parent)
    else:
        file.write_bytes(before)

    world.run("install")
    world.run("install")

    assert excluded(repository).endswith(LINE.encode())
    assert excluded(repository).count(LINE.encode()) == 1
    assert read_change(repository.folder).is_empty
    assert repository.status() == []
    world.run("uninstall")
    assert (file.read_bytes() if file.exists() else None) == before
    assert file.parent.exists() is (before is not None)


def test_install_says_what_keeps_the_file_out_of_git(world, repository):
    """The client would do so later, and only after a session on a terminal."""
    _, out, _ = world.run("install")

    exclude = repository.folder / ".git/info/exclude"
    assert f"  git ignores that file: {exclude} names it\n" in out
    assert "Claude Code keeps that file" not in out


def test_a_repository_that_is_made_later_ignores_it_after_another_install(world):
    """What the first install says is to be done does help."""
    shutil.rmtree(world.project / ".git")
    _, first, _ = world.run("install")
    world.patch.setenv("HOME", str(world.home))
    world.patch.delenv("XDG_CONFIG_HOME", raising=False)
    made = Repository(world.project, is_empty=True)

    _, second, _ = world.run("install")

    advice = (
        "  after `git init`, run `hostbridge install` again: git should ignore it\n"
    )
    assert advice in first
    assert "Claude Code keeps that file" not in first
    exclude = made.folder / ".git/info/exclude"
    assert f"  git ignores that file: {exclude} names it\n" in second
    assert excluded(made).endswith(LINE.encode())
    assert read_change(made.folder).is_empty


def test_uninstall_leaves_what_others_have_written_since(world, repository):
    (repository.folder / ".git/info/exclude").write_text("*.swp")
    world.run("install")
    with (repository.folder / ".git/info/exclude").open("a") as file:
        file.write("*.orig\n")

    world.run("uninstall")

    assert excluded(repository) == b"*.swp\n*.orig\n"


def test_a_file_that_is_ignored_or_known_is_not_written_again(world, repository):
    """As by the client, in the user's own list."""
    before = excluded(repository)
    (world.home / ".config/git").mkdir(parents=True)
    (world.home / ".config/git/ignore").write_text("**/.claude/settings.local.json\n")

    world.run("install")

    assert excluded(repository) == before
    assert read_change(repository.folder).is_empty


def test_a_file_of_the_project_is_not_excluded(world, repository):
    before = excluded(repository)

    world.run("install", "--project")

    assert excluded(repository) == before


def test_in_a_linked_worktree_the_list_of_all_worktrees_is_written(world, repository):
    """Git reads no other."""
    repository.git("worktree", "add", "-q", str(world.root / "other"))
    shutil.move(world.root / "other", world.root / "linked")
    repository.git("worktree", "repair", str(world.root / "linked"))

    world.run("-C", str(world.root / "linked"), "install")

    assert excluded(repository).decode().endswith(LINE)
    assert repository.status(cwd=world.root / "linked") == []


@pytest.mark.parametrize("link", ["info/exclude", "info"])
def test_a_link_out_of_the_repository_is_not_written_through(
    world, repository, tmp_path, link
):
    """An archive may hold one, to any file of the user's."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "exclude").write_text("theirs\n")
    place = repository.folder / ".git" / link
    shutil.rmtree(repository.folder / ".git/info")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(other / "exclude" if link == "info/exclude" else other)

    world.run("install")

    assert (other / "exclude").read_text() == "theirs\n"


def test_a_file_that_has_become_a_link_is_not_taken_back_through(
    world, repository, tmp_path
):
    world.run("install")
    file = repository.folder / ".git/info/exclude"
    other = tmp_path / "other"
    file.rename(other)
    file.symlink_to(other)
    before = other.read_text()

    world.run("uninstall")

    assert other.read_text() == before
