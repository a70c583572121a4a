"""An open session, as the command line sees one, and processes around it."""

import os
import subprocess

import orjson
from pinworld import pin

from bridge.store.host_process import identify
from bridge.store.sessions import Session


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


def in_a_hooked_session(project, kind="local", pid=None):
    """The same, with the pin that its hooks leave: the install `kind` acts for it."""
    pid = pid or os.getpid()
    in_a_session(project, pid)
    place = project.bridge.store.place
    folder = pin(place.guard, "s", kind, place.state, pid=pid)
    (folder / "project").unlink()
    (folder / "project").symlink_to(place.project)
    (folder / "host").write_bytes(orjson.dumps(identify(pid).to_data()))


def in_another_project(project, pid):
    """A process is an open session, of which only its pin is in reach."""
    home = project.bridge.settings.home
    folder = pin(home, "s", "user", home / "state" / "elsewhere", pid=pid)
    (folder / "host").write_bytes(orjson.dumps(identify(pid).to_data()))


def started_as_a_client(root):
    """A process that stands for a session's client; nothing in its environment."""
    return subprocess.Popen(
        ["sleep", "600"], env={"PATH": os.environ["PATH"]}, cwd=root
    )


# Stands for a user's service manager: orphans become its children, so the parent of
# pytest does not matter. It runs until its stdin is closed.
MANAGER = """
import ctypes, subprocess, sys
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
ctypes.CDLL(None).prctl(PR_SET_NAME, sys.argv[1].encode())
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, check=True)
sys.stdin.read()
"""
