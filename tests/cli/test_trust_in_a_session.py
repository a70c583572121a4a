"""`hostbridge trust` and `on` are refused inside a session."""

import contextlib
import os
import subprocess
import sys
import time

import needs
import pytest
from agentworld import define
from polling import wait_until
from sessionworld import MANAGER, in_a_session, started_as_a_client
from storeworld import tree
from trustworld import GOOD, Terminal, is_trusted

from bridge.store import host_process
from bridge.store.host_process import ancestors_of

pytestmark = pytest.mark.slow


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

    assert code == 1
    assert terminal.seen == (
        "hostbridge: this runs inside a Claude Code session, whose model could decide; "
        "run `hostbridge trust` in a terminal of your own\n"
    )


def test_error_an_agent_of_another_route_is_no_person(project):
    """Its commands have no client above them: those of a local model, of a server."""
    define(project, "worker.yaml", GOOD)
    project.env["BRIDGE_PARENT"] = "r1"

    for words in ("trust", "on", "config set max_depth 1"):
        terminal = Terminal(project, *words.split())

        assert terminal.end() == 1
        assert "an agent could have started this" in terminal.seen


# Runs a command on a terminal whose other end no process holds: it lies in a socket.
UNHELD = """
import array, fcntl, os, select, socket, sys, termios, time
master, slave = os.openpty()
one, other = socket.socketpair()
rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS)
one.sendmsg([b"x"], [(*rights, array.array("i", [master]))])
os.close(master)
if not (child := os.fork()):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    other.close()
    os.execvp(sys.argv[1], sys.argv[1:])
for _ in range(600):
    if os.waitpid(child, os.WNOHANG)[0]:
        break
    time.sleep(0.05)
space = socket.CMSG_SPACE(4)
master = array.array("i", other.recvmsg(1, space)[1][0][2])[0]
while select.select([master], [], [], 0.5)[0]:
    os.write(1, os.read(master, 65536))
"""

# What a model could run: nobody above it, nothing in its environment, a terminal.
LEFT = {
    "forked twice": "(setsid script -qec 'sh {}' /dev/null <answers >seen 2>&1 &)",
    "a child of what was forked": (
        "(setsid sh -c 'script -qec \"sh {}\" /dev/null; true' <answers >seen 2>&1 &)"
    ),
    "under the name of a server": (
        "cp $(command -v script) screenx; "
        "(setsid ./screenx -qec 'sh {}' /dev/null <answers >seen 2>&1 &)"
    ),
    "forked twice, by its environment": (
        "(CLAUDECODE=1 setsid script -qec 'env -u CLAUDECODE sh {}' /dev/null "
        "<answers >seen 2>&1 &)"
    ),
    "with nobody at the other end": (
        f"(setsid {sys.executable} unheld.py sh {{}} <answers >seen 2>&1 &)"
    ),
}


@pytest.mark.parametrize("name", ["systemd", "another"])
@pytest.mark.parametrize("how", LEFT)
def test_error_a_terminal_that_a_session_made_for_itself(project, tmp_path, how, name):
    """Its maker has left the session, and the session is still behind it."""
    needs.tool("script")
    define(project, "worker.yaml", GOOD)
    seen, command = tmp_path / "seen", tmp_path / "command"
    os.mkfifo(tmp_path / "answers")
    seen.touch()
    (tmp_path / "unheld.py").write_text(UNHELD)
    command.write_text(f"cd {project.folder}; {sys.executable} -m bridge trust")
    with started_as_a_client(tmp_path) as client:
        if how != "forked twice, by its environment":
            in_a_session(project, client.pid)
        detached = ["sh", "-c", LEFT[how].format(command)]
        manager = subprocess.Popen(
            [sys.executable, "-c", MANAGER, name, *detached],
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

    assert "Claude Code session" in seen.read_text()
    assert not is_trusted(project)


@pytest.mark.parametrize("first", ["tmux", "session"])
def test_a_tmux_is_no_session_if_it_is_older(project, tmp_path, first):
    """A model of the session can begin a later one, and type the yes."""
    tmux = [needs.tool("tmux"), "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    define(project, "worker.yaml", GOOD)
    words = ["env", "-i", *(f"{name}={value}" for name, value in project.env.items())]
    words += [sys.executable, "-m", "bridge", "trust"]
    # tmux may drop the last words of a pane that has ended: this one stays.
    stays = ["sh", "-c", '"$@"; exec sleep 900', "sh", *words]

    def begin():
        command = [*tmux, "new-session", "-d", "-x", "300", "-c", str(project.folder)]
        # The kernel's clock of starts ticks a hundred times a second.
        time.sleep(0.02)
        subprocess.run([*command, "sleep 900"], env=project.env, check=True)
        time.sleep(0.02)

    def screen():
        done = subprocess.run(
            [*tmux, "capture-pane", "-pJ"], capture_output=True, text=True, check=False
        )
        return done.stdout

    if first == "tmux":
        begin()
    with started_as_a_client(tmp_path) as client:
        in_a_session(project, client.pid)
        if first == "session":
            begin()
        subprocess.run([*tmux, "respawn-pane", "-k", *stays], check=True)
        try:
            wait_until(lambda: "agree:" in screen() or "hostbridge:" in screen())
            if "hostbridge:" not in screen():
                subprocess.run([*tmux, "send-keys", "yes", "Enter"], check=True)
            wait_until(lambda: "1 trusted" in screen() or "hostbridge:" in screen())
            seen = screen()
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)
            client.kill()

    assert is_trusted(project) == (first == "tmux")
    assert ("in a tmux that is older" in seen) == (first == "session")


@pytest.mark.parametrize(
    "words",
    [
        "agents new validator-logic",
        "config set slots 9",
        "config unset slots",
        "on",
        "submit Which? --schema models:Modules",
    ],
)
def test_error_a_model_does_what_is_its_users(project, tmp_path, words):
    """It is allowed to ask, and to look; nothing is changed, and no code is loaded."""
    project.write("config.toml", "slots = 3\n", own=True)
    project.write("models.py", "raise SystemExit('it ran')\n")
    project.run("off")
    project.env["CLAUDECODE"] = "1"
    before = tree(tmp_path)

    ran = project.run(*words.split())

    named = words.removeprefix("submit Which? ")
    command = f"hostbridge {named}" if named == words else named
    ran.fails(
        1,
        "this runs inside a Claude Code session, whose model could decide; run "
        f"`{command}` in a terminal of your own",
    )
    assert tree(tmp_path) == before
    assert project.run("config", "get", "slots").out == "3\n"


def test_the_first_process_is_an_ancestor(monkeypatch):
    """In a container the client may be pid 1: its model must not trust for its user."""
    monkeypatch.setattr(host_process, "_parent", {7: 5, 5: 1, 1: 0}.__getitem__)

    assert ancestors_of(7) == [5, 1]


def test_ancestors():
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert ancestors_of(child.pid)[0] == os.getpid()
        assert ancestors_of(child.pid)[1] == os.getppid()
    finally:
        child.kill()
        child.wait()
    assert ancestors_of(child.pid) == []
