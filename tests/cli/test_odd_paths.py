"""Projects whose path cannot be named, or is too long: said by name, never a bug."""

import json
import os
import sys
from pathlib import Path

import pytest

HOOKS = Path(__file__).parents[2] / "hooks"

COMMANDS = {
    "install": 1, "where": 1, "status": 1, "submit x": 1, "ask x": 1, "doctor": 1,
    "off": 1, "prune": 1, "uninstall": 1, "agents list": 1, "serve": 1,
}  # fmt: skip
WITH_JSON = ("where", "status", "submit", "ask", "doctor")


@pytest.fixture
def odd(project):
    """A project whose path is not UTF-8."""
    folder = Path(os.fsdecode(os.fsencode(project.folder.parent) + b"/caf\xe9"))
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("words", COMMANDS)
def test_error_a_path_that_is_not_utf_8(project, odd, words):
    """Four commands called it a bug of ours."""
    name, *rest = words.split()
    as_json = ["--json"] if name in WITH_JSON else []

    ran = project.run(name, *as_json, *rest, cwd=odd)

    assert ran.code == COMMANDS[words], ran
    assert "Traceback" not in ran.err
    assert (
        f"{project.folder.parent}/caf\\xe9: a path that is not UTF-8: neither JSON nor "
        "Claude Code can name it; rename the folder"
    ) in (ran.out + ran.err).replace("\\\\", "\\")


def test_a_hook_there_lets_the_session_go_on(project, odd):
    """P6, whatever the folder is called."""
    event = '{"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/"}'
    hook = ("/bin/sh", str(HOOKS / "always"), "SessionStart", "local", sys.executable)
    env = {**project.env, "CLAUDE_PROJECT_DIR": str(odd)}

    ran = project.program(*hook, env=env, input=event)

    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)["systemMessage"]
    assert "your rules, are off" in told
    assert "UTF-8" in told


@pytest.mark.parametrize("name", ["a\nb", "@" + "a" * 200, "日本"], ids=ascii)
def test_other_odd_names_work(project, name):
    folder = project.folder.parent / name
    (folder / ".git").mkdir(parents=True)

    asked = project.run("submit", "x", cwd=folder)

    assert asked.code == 0, asked
    assert asked.out.strip() in project.run("status", cwd=folder).out
    assert project.run("where", "--json", cwd=folder).json["project"] == str(folder)


def test_error_a_path_that_is_too_long(project):
    """What lies below could not be named: the folder's own `@` is one letter more."""
    folder = project.folder.parent / ("@" + "a" * 254)
    (folder / ".git").mkdir(parents=True)

    ran = project.run("submit", "x", cwd=folder)

    state = project.bridge.settings.home / "state" / str(folder.parent)[1:]
    path = state / f"@{folder.name}" / "@"
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"hostbridge: {path}: too long a path ({len(str(path))} bytes) for what lies "
        "below it; set BRIDGE_STATE_DIR to a folder with a shorter path\n"
    )


@pytest.mark.parametrize("words", ["where", "status", "submit x", "install", "doctor"])
def test_error_a_working_folder_that_is_gone(project, words):
    """The error used to be `No such file or directory`, without a name."""
    folder = project.folder / "gone"
    code = (
        "import os, sys, runpy; os.mkdir('gone'); os.chdir('gone'); "
        "os.rmdir('../gone'); sys.argv[0] = 'bridge'; "
        "runpy.run_module('bridge', run_name='__main__')"
    )

    ran = project.program(sys.executable, "-c", code, *words.split())

    named = folder if sys.platform == "linux" else Path()
    assert ran.code == 1
    told = f"{named}: this working folder was removed; cd to one that is there"
    assert told in ran.out + ran.err
