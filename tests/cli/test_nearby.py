"""Asked in an inner repository, with the session open in the outer one."""

import pytest

from bridge.host import nearby_sessions

pytestmark = pytest.mark.slow


@pytest.fixture
def inner(project):
    """A submodule."""
    folder = project.folder / "sub mod"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: ../.git/modules/sub\n")
    return folder


@pytest.mark.usefixtures("host")
def test_the_error_names_the_outer_session_and_what_to_do(project, inner):
    """It said that none was open, which is not what its user saw."""
    ran = project.run("ask", "x", "--timeout", "1", cwd=inner)

    ran.refuses(
        4,
        "hostbridge: no Claude Code session with hostbridge is open in "
        f"{inner}; one is open in {project.folder}\n  what to do:\n    - ask that "
        f"one: `hostbridge -C {project.folder} ask`\n    - `hostbridge install` "
        f"first (it was never run here), then start `claude` in {inner}\n",
    )


@pytest.mark.usefixtures("host")
def test_doctor_names_it_too(project, inner, host):
    ran = project.run("doctor", cwd=inner)

    assert (
        f"a session is open in {project.folder} ({host.session_id}), none in {inner}"
    ) in ran.out


@pytest.mark.usefixtures("host")
def test_a_command_runs_in_another_folder(project, inner):
    ran = project.run("-C", "..", "submit", "x", cwd=inner)

    assert ran.code == 0
    assert project.bridge.store.waiting() == [ran.out.strip()]


NO_FOLDERS = {
    "nothing": (["-C"], "-C: expected a folder, then the command; see `hostbridge"),
    "no folder": (["-C", "nowhere", "status"], "-C nowhere: no such file or directory"),
}


@pytest.mark.parametrize(("words", "said"), NO_FOLDERS.values(), ids=NO_FOLDERS)
def test_error_there_is_no_such_folder(project, words, said):
    ran = project.run(*words)

    ran.refuses(2, f"hostbridge: {said}")


def test_a_folder_mounted_twice_has_two_names(tmp_path, monkeypatch):
    """What `mount --bind app mnt` leaves in the kernel's table."""
    app, bound = tmp_path / "app", tmp_path / "m n"
    (app / "src").mkdir(parents=True)
    bound.symlink_to(app)
    table = tmp_path / "mountinfo"
    escaped = str(bound).replace(" ", "\\040")
    table.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /proc rw - proc proc rw\n"
        f"24 22 8:1 {app} {escaped} rw - ext4 /dev/sda1 rw\n"
    )
    monkeypatch.setattr(nearby_sessions, "_MOUNTS", table)

    assert nearby_sessions.other_names(bound / "src") == [app / "src"]
    assert nearby_sessions.other_names(app / "src") == [bound / "src"]
    assert nearby_sessions.other_names(tmp_path) == []


def test_where_hooks_are_registered_nobody_is_told_to_install(project):
    project.run("install")
    ran = project.run("ask", "x", "--timeout", "1")

    assert f"  what to do:\n    - start `claude` in {project.folder}\n" in ran.err
