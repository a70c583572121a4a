"""Every command of ours in a stranger's folder: nothing of it runs (P8)."""

import os
import sys
from pathlib import Path

import pytest
from strangers import Archive
from thoroughness import PARTS, due

pytestmark = pytest.mark.faults

# No answer, question or yes of the archive's is one of ours: how each ends.
OF_ANSWERS = {
    "ask --cached Q": 4,
    "ask --cached --route endpoint Q": 4,
    "ask --watch Q": 4,
    "ask --context session Q": 2,
    "ask --may-ask Q": 4,
    "stale": 0,
    "stale planted": 1,
    "stale --lock answers.lock": 1,
    "stale --write-lock answers.lock": 2,
    "questions": 0,
    "reply planted x": 1,
    "show planted": 1,
    "wait planted": 1,
}
WORKFLOWS = (
    "list",
    "check",
    "show evil",
    "graph coordinator",
    "activate stay",
    "status",
)
# Each with what may follow it.
WORDS = {
    "install": ("--dry-run", "", "--project"),
    "where": ("",),
    "doctor": ("",),
    "status": ("",),
    "agents": ("list", "show joker", "show worker", "check"),
    "trust": ("", "--list"),
    "models": ("",),
    "schema": ("request",),
    "submit": ("Q", "worker Q"),
    "ask": ("Q", "worker Q", "joker Q", "--route local worker Q", "--route endpoint Q"),
    "serve": ("--once --route endpoint",),
    "workflow": WORKFLOWS,
    "run .bridge/workflows/evil.yaml": ("",),
    "run": ("evil", "coordinator", "stay", "--dry-run evil"),
}
LAST = ("runs", "trust", "show", "prune", "off", "on", "uninstall")
COMMANDS = [
    *(f"{word} {each}".strip() for word, ways in WORDS.items() for each in ways),
    *OF_ANSWERS,
    "config list",
    *(f"task {each}" for each in ("create x", "list", "export")),
    *LAST,
]


def environment(root: Path) -> dict[str, str]:
    home = root / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "BRIDGE_OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "BRIDGE_OPENAI_MODEL": "none",
    }


def test_the_traps_are_armed(tmp_path):
    """Otherwise the next test proves nothing."""
    archive = Archive(tmp_path)

    found = archive.set_off(environment(tmp_path))

    assert {"core.sshCommand", "core.fsmonitor", "diff.x.command"} <= set(found)
    assert {"filter.x.clean", "filter.x.process"} & set(found)


def test_no_command_runs_anything_of_it(tmp_path):
    """A folder is data, whatever is asked of us in it.

    Git is not even started: which of its commands run what a configuration names
    differs from version to version. Each day a tenth of the commands start a Python
    of their own, the others are forked; with --full all start one.
    """
    archive = Archive(tmp_path)
    env = environment(tmp_path)
    archive.program(tmp_path / "path" / "git", "git was started")
    env["PATH"] = f"{tmp_path}/path:{env['PATH']}"

    went_off = {}
    for number, words in enumerate(COMMANDS):
        starts = number % PARTS == due()
        done = archive.hostbridge(*words.split(), env=env, starts_python=starts)
        assert "Traceback" not in done.stderr, done
        assert done.returncode != 3, done
        if found := archive.ran():
            went_off[words] = found
            for name in found:
                (archive.marks / name).unlink()
        if words in OF_ANSWERS:
            assert done.returncode == OF_ANSWERS[words], done
            assert "STRANGER" not in done.stdout + done.stderr, done

    assert went_off == {}


def test_the_plugins_setup_imports_nothing_of_it(tmp_path):
    """Its notice names the command, and a person pastes it wherever they are."""
    archive = Archive(tmp_path)
    script = Path(__file__).parents[2] / "scripts" / "plugin-setup"
    env = environment(tmp_path) | {"PIP_NO_INDEX": "1"}

    done = archive.run("sh", str(script), str(tmp_path / "venv"), env=env)

    assert archive.ran() == []
    # It came as far as pip, which may fetch nothing here.
    assert "plugin-setup: making" in done.stdout
    assert (tmp_path / "venv/bin/pip").exists()
