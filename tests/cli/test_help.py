"""The help: every command's, at every width, with examples that are true."""

import re
import shlex
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module

import forkserver
import pytest
from gitworld import git
from optionlists import options_of

from bridge.cli.commands import COMMANDS, module_of
from bridge.cli.main import run

# What other exit codes are right where nobody is at a terminal, a session is open that
# is no client, no agent answers or asks anything, and Claude Code is not installed.
CODES = {
    "build": {1}, "doctor": {1}, "install": {1}, "models": {0, 1}, "reply": {1},
    "serve": {124, 130}, "stale": {2}, "status": {2},
}  # fmt: skip
SECONDS = {"serve": "3"}
ANSWERED = ("ask", "build", "run", "wait")
WITH_OPTIONS = sorted(COMMANDS)


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("words", ["--help", *(f"{n} --help" for n in COMMANDS)])
def test_help_fits(capsys, monkeypatch, words, columns):
    """A line that wraps by itself cannot be read as a table."""
    monkeypatch.setenv("COLUMNS", str(columns))

    assert run(words.split()) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > columns] == []


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_every_option_is_explained_in_a_sentence(name):
    for option in options_of(name):
        help_ = option.settings["help"]
        assert re.match(r"[A-Z]|haiku|host", help_), help_
        assert help_.endswith("."), help_


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_runs(project, host, name):
    """One that is refused teaches the wrong thing; as are those with a bug of ours."""
    doc = import_module(module_of(name)).__doc__ or ""
    script = doc.partition("For example:\n")[2]
    programs = project.folder.with_name("bin")
    programs.mkdir()
    shim = programs / "hostbridge"
    # What `serve` is interrupted with is to reach it.
    python = [sys.executable, "-m", "bridge"]
    command = shlex.join(python if name == "serve" else forkserver.command())
    shim.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    shim.chmod(0o755)
    (programs / "git").write_text("#!/bin/sh\necho a difference\n")
    (programs / "git").chmod(0o755)
    (project.folder / ".bridge" / "agents").mkdir(parents=True)
    if name == "validate":
        # An empty folder `.git` is no repository.
        git(project.folder, "init", "-q")
    project.submit("asked before")
    path = f"{programs}:{project.env['PATH']}"
    with host.serving() if name in ANSWERED else nullcontext():
        ran = subprocess.run(
            # Only `serve` has no end of its own.
            ["timeout", "-s", "INT", SECONDS.get(name, "90"), "bash", "-ec", script],
            start_new_session=True,
            timeout=120,
            cwd=project.folder,
            env=project.env | {"PATH": path},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )

    # The tests' own process stands for a session.
    is_refused = "inside a Claude Code session" in ran.stderr
    assert is_refused or ran.returncode in CODES.get(name, {0}), ran
    assert "--help`" not in ran.stderr
