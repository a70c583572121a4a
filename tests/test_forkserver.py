"""The fork server goes on, whatever becomes of those who ask it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import forkserver
from polling import wait_until

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8"}
VERSION = ["-m", "bridge", "--version"]
SLEEPS = """
import os, sys, time
print(os.getpid(), flush=True)
time.sleep(600)
"""


def asks(cwd: Path) -> bool:
    with forkserver.Forked(VERSION, env=ENV, cwd=cwd) as process:
        return process.wait(300) == 0


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_who_leaves_without_a_word_disturbs_nobody(tmp_path):
    for _ in range(3):
        forkserver._connection().close()

    assert asks(tmp_path)


def test_who_leaves_before_the_answer_disturbs_nobody(tmp_path):
    asked = forkserver.Asked(how="", cwd=str(tmp_path), argv=VERSION, env=ENV)
    for _ in range(3):
        with forkserver._connection() as connection, open(os.devnull, "r+b") as null:
            socket.send_fds(connection, [asked.message()], [null.fileno()] * 3)

    assert asks(tmp_path)


def test_what_a_hook_was_forked_for_ends_with_it(tmp_path, monkeypatch):
    """A client that ends a hook ends what works for it; others go on."""
    folder = tmp_path / "a folder" / "hooks"
    folder.mkdir(parents=True)
    (folder / "full.py").write_text(SLEEPS)
    monkeypatch.setattr(forkserver, "_HOOKS", folder)
    python = forkserver._launcher.__wrapped__()
    with subprocess.Popen(
        [python, "-EP", folder / "full.py"], env=ENV, stdout=subprocess.PIPE
    ) as hook:
        pid = int(hook.stdout.readline())
        assert pid != hook.pid
        hook.send_signal(signal.SIGKILL)

    wait_until(lambda: is_gone(pid))
    assert asks(tmp_path)


def test_a_hook_ends_as_what_was_forked(tmp_path, monkeypatch):
    monkeypatch.setattr(forkserver, "_HOOKS", tmp_path)
    python = forkserver._launcher.__wrapped__()
    (tmp_path / "exits.py").write_text("import sys; sys.exit(42)")
    (tmp_path / "dies.py").write_text("import os; os.kill(os.getpid(), 9)")

    def run(*words: str) -> tuple[int, bytes]:
        command = [python, *words]
        done = subprocess.run(command, env=ENV, stdout=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.strip()

    assert run("-EP", str(tmp_path / "exits.py"))[0] == 42
    assert run("-EP", str(tmp_path / "dies.py"))[0] == 128 + signal.SIGKILL
    other = run("-c", "import sys; print(sys.executable)")
    assert other == (0, sys.executable.encode())
