"""`hostbridge trust`: shown and answered at a terminal, by nobody else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import needs
import pytest
from agentworld import define
from polling import wait_until
from trustworld import GOOD, Terminal, agree, is_trusted

from bridge.store import host_process
from bridge.store.host_process import ancestors_of, identify
from bridge.store.sessions import Session

REFUSED = "hostbridge: there is no terminal to ask on; run this in one, yourself\n"


def test_it_shows_what_a_definition_would_do_and_asks(project):
    file = define(project, "worker.yaml", GOOD)

    terminal = agree(project)

    can = (
        "pytest with any option, which can run other programs, write any file and read "
        "any file, and runs the project's own programs"
    )
    shown = terminal.seen.replace("Type yes to agree: yes", "Type yes to agree: ")
    assert shown == (
        f"{project.folder} brings definitions of agents:\n"
        "\n"
        "worker: Works  (new, or changed)\n"
        f"    file     {file}\n"
        "    routes   host, claude, local, endpoint\n"
        "    tools    Read, Bash\n"
        f"    granted  Bash(pytest *): {can}\n"
        f"    {file}:5: warning: allow[0]: lets it run {can}; to allow only some "
        "options, list them: Bash(pytest [-q --tb=*] *)\n"
        "\n"
        "prompt:\n"
        "    As told: {{ task }}\n"
        "\n"
        "Trust these 1? Type yes to agree: \n"
        f"{project.folder}: 1 trusted\n"
    )
    assert is_trusted(project)


@pytest.mark.parametrize("answer", ["no\n", "\n", "y\n", "yes please\n", "\x04"])
def test_anything_but_yes_is_no(project, answer):
    define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")

    terminal.type(answer)

    assert terminal.end() == 1
    assert "nothing was changed; only the whole word yes agrees\n" in terminal.seen
    assert not is_trusted(project)


def test_what_was_typed_before_the_question_counts_not(project):
    """A program that feeds a terminal blindly answers nothing."""
    define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust", early=b"yes\nyes\nyes\n")
    terminal.read_until("Type yes to agree: ")

    terminal.type("no\n")

    assert terminal.end() == 1
    assert not is_trusted(project)


@pytest.mark.parametrize("stdin", [b"", b"yes\n" * 9])
def test_error_a_pipe_cannot_answer(project, stdin):
    define(project, "worker.yaml", GOOD)

    ran = project.run("trust", stdin=stdin, start_new_session=True)

    assert ran == (1, "", REFUSED)
    assert not is_trusted(project)


def in_a_session(project, pid=None):
    """A process is an open session; by default this very one, the command's parent."""
    process = identify(pid or os.getpid())
    session = Session(
        session_id="s",
        host=process,
        cwd=str(project.folder),
        registered_at=project.bridge.store.now_ms(),
        wakes=True,
    )
    with project.bridge.store.state() as state, state["sessions"] as room:
        room.replace("s.json", session.to_json())


@pytest.mark.parametrize("how", ["CLAUDE_PID", "CLAUDECODE", "by its parents"])
def test_error_a_model_cannot_answer_even_at_a_terminal(project, how):
    """What it starts can get a terminal, and hide where it comes from."""
    define(project, "worker.yaml", GOOD)
    if how == "by its parents":
        in_a_session(project)
    else:
        project.env[how] = "4711"

    terminal = Terminal(project, "trust")
    code = terminal.end()

    assert (code, terminal.seen) == (
        1,
        (
            "hostbridge: this runs inside a Claude Code session, whose model could "
            "decide; run `hostbridge trust` in a terminal of your own\n"
        ),
    )


def started_as_a_client(root):
    """A process that stands for a session's client; nothing in its environment."""
    return subprocess.Popen(["sleep", "90"], env={"PATH": os.environ["PATH"]}, cwd=root)


# Stands for a user's service manager: orphans become its children, so the parent of
# pytest does not matter. It runs until its stdin is closed.
MANAGER = """
import ctypes, subprocess, sys
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
ctypes.CDLL(None).prctl(PR_SET_NAME, b"systemd")
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, check=True)
sys.stdin.read()
"""

# What a model could run: nobody above it, nothing in its environment, a terminal.
LEFT = {
    "forked twice": "(setsid script -qec 'sh {}' /dev/null <answers >seen 2>&1 &)",
    "forked twice, by its environment": (
        "(CLAUDECODE=1 setsid script -qec 'env -u CLAUDECODE sh {}' /dev/null "
        "<answers >seen 2>&1 &)"
    ),
}


@pytest.mark.parametrize("how", LEFT)
def test_error_a_terminal_that_a_session_made_for_itself(project, tmp_path, how):
    """Its maker has left the session, and the session is still behind it."""
    needs.tool("script")
    define(project, "worker.yaml", GOOD)
    seen, command = tmp_path / "seen", tmp_path / "command"
    os.mkfifo(tmp_path / "answers")
    seen.touch()
    command.write_text(f"cd {project.folder}; {sys.executable} -m bridge trust")
    with started_as_a_client(tmp_path) as client:
        if how == "forked twice":
            in_a_session(project, client.pid)
        manager = subprocess.Popen(
            [sys.executable, "-c", MANAGER, "sh", "-c", LEFT[how].format(command)],
            env=project.env,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
        )
        with manager, (tmp_path / "answers").open("wb", buffering=0) as answers:
            wait_until(
                lambda: "hostbridge" in seen.read_text() or "agree" in seen.read_text()
            )
            with contextlib.suppress(BrokenPipeError):  # it has refused and gone
                answers.write(b"yes\n")
        client.kill()

    assert "inside a Claude Code session" in seen.read_text()
    assert not is_trusted(project)


def test_a_tmux_of_the_user_is_no_session(project, tmp_path):
    """Its server has left its parents, too, with a session open beside it."""
    tmux = [needs.tool("tmux"), "-S", str(tmp_path / "socket")]
    define(project, "worker.yaml", GOOD)
    words = ["env", "-i", *(f"{name}={value}" for name, value in project.env.items())]
    words += [sys.executable, "-m", "bridge", "trust"]
    with started_as_a_client(tmp_path) as client:
        in_a_session(project, client.pid)
        subprocess.run(
            [*tmux, "new-session", "-d", "-x", "300", "-c", str(project.folder),
             *words, ";",
             "set-option", "-g", "remain-on-exit", "on"],
            env=project.env,
            check=True,
        )  # fmt: skip

        def screen():
            done = subprocess.run(
                [*tmux, "capture-pane", "-pJ"],
                capture_output=True,
                text=True,
                check=False,
            )
            return done.stdout

        try:
            wait_until(lambda: "agree:" in screen() or "hostbridge:" in screen())
            subprocess.run([*tmux, "send-keys", "yes", "Enter"], check=True)
            wait_until(lambda: "1 trusted" in screen() or "hostbridge:" in screen())
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)
            client.kill()

    assert is_trusted(project)


def test_error_a_model_cannot_switch_it_on_again(project):
    project.run("off")
    project.env["CLAUDECODE"] = "1"

    ran = project.run("on")

    assert (ran.code, ran.out) == (1, "")
    assert "run `hostbridge on` in a terminal of your own" in ran.err
    assert project.run("off").code == 0


def test_a_change_while_one_reads_is_not_trusted(project):
    """Agreed to is what was shown."""
    file = define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")

    file.write_text(GOOD.replace("pytest *", "*"))
    terminal.type("yes\n")

    assert terminal.end() == 0
    assert not is_trusted(project)
    file.write_text(GOOD)
    assert is_trusted(project)


def test_it_says_which_files_have_changed_since(project):
    file = define(project, "worker.yaml", GOOD)
    agree(project)
    file.write_text(GOOD.replace("pytest *", "make *"))

    terminal = agree(project)

    mark = "changed since you trusted it: .bridge/agents/worker.yaml"
    assert f"worker: Works  ({mark})\n" in terminal.seen


def test_what_is_broken_is_shown_and_not_trusted(project):
    define(project, "worker.yaml", GOOD)
    define(project, "broken.yaml", "name: broken\ntols: 1\n")

    terminal = agree(project)

    first = "broken: cannot be used  (stays untrusted until it is mended)\n"
    assert first in terminal.seen
    assert "tols: unknown field; did you mean 'tools'?" in terminal.seen
    assert is_trusted(project)


@pytest.mark.parametrize("others", ["none", "trusted"])
def test_error_nothing_is_left_to_trust_but_what_is_broken(project, others):
    """What to mend is said, with file and line; there is nothing to ask."""
    if others == "trusted":
        define(project, "worker.yaml", GOOD)
        agree(project)
    file = define(project, "broken.yaml", "name: broken\ntols: 1\n")

    ran = project.run("trust")

    ran.fails(
        1,
        f"{project.folder} brings definitions of agents:\n"
        "\n"
        "broken: cannot be used  (stays untrusted until it is mended)\n"
        f"    {file}:2: tols: unknown field; did you mean 'tools'?",
    )
    assert is_trusted(project) == (others == "trusted")


def test_where_all_that_is_wrong_is_to_be_seen(project):
    """Not under the name: that may stand for another one."""
    many = "".join(f"{'x' * 70}{number}: 1\n" for number in range(60))
    file = define(project, "worker.yaml", f"name: worker\n{many}")

    ran = project.run("trust")

    assert ran.err.endswith(f" all of it: hostbridge agents check {file}\n")
    assert project.run("agents", "check", str(file)).out.count("unknown field") == 60


def test_list_and_revoke(project):
    define(project, "worker.yaml", GOOD)
    agree(project)

    listed = project.run("trust", "--list")
    again = project.run("trust")
    revoked = project.run("trust", "--revoke")

    assert listed == (0, f"{project.folder}\n  .bridge/agents/worker.yaml\n", "")
    all_of = f"all 1 definitions of {project.folder} are trusted as they are\n"
    assert again == (0, all_of, "")
    assert revoked == (0, f"{project.folder}: trusted no more\n", "")
    assert not is_trusted(project)
    assert project.run("trust", "--list") == (0, "no project is trusted\n", "")


def test_list_says_what_is_not_any_more_as_it_was(project):
    """What is listed counts, or says why not."""
    for name in ("gone", "kept", "other", "worker"):
        define(project, f"{name}.yaml", GOOD.replace("worker", name))
    agree(project)
    folder = project.folder / ".bridge" / "agents"
    (folder / "gone.yaml").unlink()
    (folder / "worker.yaml").write_text(GOOD + "timeout: 3\n")
    (folder / "other.yaml").unlink()
    (folder / "other.yaml").symlink_to("kept.yaml")

    listed = project.run("trust", "--list")

    listed.prints(
        0,
        f"{project.folder}\n"
        "  .bridge/agents/gone.yaml  (not any more: gone)\n"
        "  .bridge/agents/kept.yaml\n"
        "  .bridge/agents/other.yaml  (not any more: changed)\n"
        "  .bridge/agents/worker.yaml  (not any more: changed)\n",
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("researcher", "hides the built-in agent of this name"),
        ("mine", "hides the user agent of this name"),
        ("Explore", "hides Claude Code's agent of this name"),
    ],
)
def test_it_says_what_a_definition_hides(project, name, told):
    """Whoever asks for a name they know gets another agent from then on."""
    define(project, "mine.yaml", GOOD.replace("worker", "mine"), layer="user")
    define(project, f"{name}.yaml", GOOD.replace("worker", name))

    terminal = agree(project)

    assert f"\n{name}: Works  (new, or changed)  ({told})\n" in terminal.seen


def test_nothing_to_trust(project):
    assert project.run("trust") == (0, f"{project.folder} defines no agents\n", "")


def test_error_both(project):
    project.run("trust", "--list", "--revoke").fails(
        2, "--revoke and --list exclude each other"
    )


def test_the_first_process_is_an_ancestor(monkeypatch):
    """In a container the client may be pid 1: its model must not trust for its user."""
    monkeypatch.setattr(host_process, "_parent", {7: 5, 5: 1, 1: 0}.__getitem__)

    assert ancestors_of(7) == [5, 1]


def test_ancestors():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert ancestors_of(child.pid)[0] == os.getpid()
        assert ancestors_of(child.pid)[1] == os.getppid()
    finally:
        child.kill()
        child.wait()
    assert ancestors_of(child.pid) == []
