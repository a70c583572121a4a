"""The shell that is registered: silent without its scripts, one process when idle."""

import os
import shutil
import sys
from pathlib import Path

import needs
import pytest
from pinworld import pin
from programs import ran

from bridge.host.hook_table import KINDS, POINTER, Hook, Kind, form_of
from bridge.host.install_records import InstallRecords
from bridge.shipped import hooks_folder

IDLE = Hook("PostToolUse", "tool-end")


class Session:
    """A session that hooks of one kind act for, with nothing to do."""

    def __init__(self, root: Path, kind: Kind) -> None:
        self.root, self.kind = root, kind
        self.home = root / "ho'me $x"
        self.hooks = hooks_folder()
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(root),
            "BRIDGE_HOME": str(self.home),
            "CLAUDE_PROJECT_DIR": str(root / "project"),
            "CLAUDE_CODE_SESSION_ID": "one",
            "CLAUDE_PID": "7",
        }

    def prepare(self) -> None:
        project = self.root / "project"
        (project / ".git").mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        sessions = Path(f"{self.home}/state{project.resolve()}/@/sessions")
        sessions.mkdir(parents=True)
        (sessions / "one.json").write_text("{}")
        pin(self.home, "one", self.kind, sessions.parent)
        (sessions.parent / "requests").mkdir()
        if self.kind == "project":
            InstallRecords(self.home).write_pointer(self.hooks, sys.executable)

    def argv(self) -> list[str]:
        words = form_of(self.kind, self.hooks, sys.executable).arguments(IDLE)
        named = "${CLAUDE_PLUGIN_ROOT}/hooks"
        return ["/bin/sh", *(each.replace(named, str(self.hooks)) for each in words)]

    def copy_hooks(self) -> None:
        """Have the session use a copy of the hooks, which a test may spoil."""
        self.hooks = self.root / "copy of hooks"
        shutil.copytree(hooks_folder(), self.hooks)
        if self.kind == "project":
            InstallRecords(self.home).write_pointer(self.hooks, sys.executable)

    def run(self, *before: str) -> tuple[int, str, str]:
        done = ran(*before, *self.argv(), env=self.env, input="{}")
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(params=KINDS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    made = Session(tmp_path.resolve(), request.param)
    made.prepare()
    return made


def test_an_idle_hook_is_one_process(session):
    """One exec, no fork: it costs what starting a shell costs."""
    strace = needs.tool("strace")
    log = session.root / "log"
    watched = "trace=execve,clone,clone3,fork,vfork"

    done = session.run(strace, "-f", "-qq", "-o", str(log), "-e", watched)

    assert done == (0, "", "")
    (call,) = [line for line in log.read_text().splitlines() if "(" in line]
    assert 'execve("/bin/sh"' in call
    beat = list(session.home.rglob("one.beat"))
    assert len(beat) == 1, "the hook found its script and went through it"


def test_missing_scripts_are_silent(session):
    session.copy_hooks()
    before = session.run()
    shutil.rmtree(session.hooks)

    after = session.run()

    assert before == after == (0, "", "")


@pytest.mark.parametrize("missing", ["lib.sh", "run-python.sh"])
def test_a_script_that_is_broken_blocks_nothing(session, missing):
    """A shell exits 2 on its own errors, and 2 would block the tool call."""
    session.copy_hooks()
    (session.hooks / missing).unlink()

    code, out, _ = session.run()

    assert (code, out) == (0, "")


def test_a_pointer_that_cannot_be_read_is_silent(tmp_path):
    session = Session(tmp_path.resolve(), "project")
    session.prepare()
    pointer = session.home / POINTER
    pointer.unlink()
    gone = session.run()
    pointer.mkdir()

    folder = session.run()

    assert gone == (0, "", "")
    assert (folder[0], folder[1]) == (0, "")


PROGRAMS = {
    "plain": "#!{python}\nimport sys\n",
    "with spaces": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    "long": "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_hook_finds_python_by_the_command(tmp_path, text):
    """What installers write into the first lines of `hostbridge`."""
    folder = tmp_path / ("a b" if '"{python}"' in text else "ab")
    folder.mkdir()
    python = folder / "python3"
    python.symlink_to(sys.executable)
    program = folder / "hostbridge"
    program.write_text(text.format(python=python))
    program.chmod(0o755)

    assert found_python(f"{folder}:/usr/bin:/bin") == str(python)


NONE = ["", "#!/bin/sh\necho\n", "#!/usr/bin/perl\nx\n", "x", None]


@pytest.mark.parametrize("text", NONE)
def test_a_command_that_is_no_python_program_is_not_run(tmp_path, text):
    """One without an end, of a line or of the file, is not read for ever."""
    program = tmp_path / "hostbridge"
    program.touch(0o755)
    if text is None:
        os.truncate(program, 1 << 40)
    else:
        program.write_text(text)

    assert found_python(f"{tmp_path}:/usr/bin:/bin") == ""


def found_python(path: str) -> str:
    """What `find_python` of hooks/run-python.sh finds with this PATH."""
    lib = (hooks_folder() / "run-python.sh").read_text()
    body = lib[lib.index("find_python() {") :].replace("ulimit -t 2", "ulimit -t 1")
    script = f'python=\n{body}\nfind_python\nprintf %s "$python"'
    env = {"PATH": path, "HOME": os.environ["HOME"]}
    return ran("/bin/sh", "-c", script, env=env).stdout
