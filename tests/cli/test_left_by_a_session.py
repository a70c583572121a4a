"""What raises a user's limits is refused where a session may have left it behind."""

import os
import shlex
import subprocess
import sys

import pytest
from polling import wait_until
from sessionworld import MANAGER, in_a_session, in_another_project, started_as_a_client

pytestmark = pytest.mark.slow

HOSTBRIDGE = f"{sys.executable} -m bridge"
RAISES = {
    "config --directory . set agents_per_hour 999": "config set agents_per_hour 999",
    "config set --project share_conversation true": "config set share_conversation "
    "true",
    "on": "on",
    "agents new Explore": "agents new Explore",
}
# Nobody above it, nothing in its environment, and no terminal.
LEFT = "setsid -f sh {}"
A_PARENT_OF_IT_LEFT = "setsid -f sh -c 'sh {}; true'"


def ran(project, tmp_path, how, words):
    """What the command said, run by a shell below a manager of processes."""
    seen, script = tmp_path / "seen", tmp_path / "command"
    done = tmp_path / "done"
    script.write_text(
        f"cd {project.folder}; {HOSTBRIDGE} {words} >{seen} 2>&1; echo $? >{done}.new; "
        f"mv {done}.new {done}"
    )
    few = {name: project.env[name] for name in ("HOME", "PATH")}
    with subprocess.Popen(
        [sys.executable, "-c", MANAGER, "manager", "sh", "-c", how.format(script)],
        env=few,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        start_new_session=True,
    ):
        wait_until(done.exists)
    return int(done.read_text()), seen.read_text()


@pytest.fixture
def client(tmp_path):
    with started_as_a_client(tmp_path) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("how", [LEFT, A_PARENT_OF_IT_LEFT])
@pytest.mark.parametrize("words", RAISES)
def test_error_left_behind(project, tmp_path, client, words, how):
    in_a_session(project, client.pid)

    code, said = ran(project, tmp_path, how, words)

    assert code == 1
    assert said == (
        f"hostbridge: `hostbridge {RAISES[words]}` is refused: a Claude Code session "
        "is open, and its model could have started this, which has no terminal and "
        "has outlived what started it; run it in a terminal of your own\n"
    )
    assert not (project.bridge.settings.home / "config.toml").exists()


@pytest.mark.parametrize("words", RAISES)
def test_error_left_behind_by_a_session_of_another_project(
    project, tmp_path, client, words
):
    in_another_project(project, client.pid)

    code, said = ran(project, tmp_path, LEFT, words)

    assert (code, "session is open" in said) == (1, True)


@pytest.mark.parametrize("words", RAISES)
def test_with_no_session_it_needs_no_terminal(project, tmp_path, words):
    """In a job of CI or of cron."""
    assert ran(project, tmp_path, LEFT, words)[0] == 0


@pytest.mark.parametrize("words", RAISES)
def test_what_began_before_the_session_accounts_for_it(project, client, words):
    """An editor, a scheduler, a server for logins: their jobs have no terminal."""
    in_a_session(project, client.pid)

    done = subprocess.run(
        shlex.split(f"sh -c '{HOSTBRIDGE} {words}; exit $?'"),
        env=project.env,
        cwd=project.folder,
        start_new_session=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0


def test_the_first_process_of_a_container_has_children(project, tmp_path, client):
    """They are in its session; what was adopted after `setsid` is not."""
    in_a_session(project, client.pid)

    assert ran(project, tmp_path, "sh {}", "on")[0] == 0


def test_the_session_itself_is_named(project):
    in_a_session(project, os.getpid())

    assert "inside a Claude Code session" in project.run("on").err
