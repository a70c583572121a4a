"""What tests of an install share: what it writes, and a stage with a repository."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import forkserver
import needs
from programs import ran

import bridge
from bridge.host.hook_table import Kind, entries, form_of
from bridge.shipped import hooks_folder
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage

ROOT = Path(bridge.__file__).parents[1]
MINE = (
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]} ,"model":"opus"}'
)


PARTS = ("bridge", "agents", "flows", "workflows", "hooks", ".claude-plugin", "state")


def copy_of_repository(folder: Path, *, is_compiled: bool = False) -> Path:
    """What is needed to install hostbridge from, or as a plugin; no `.venv`."""
    # A file that is being compiled has another ending, and may be gone at once.
    compiled = "*.pyc.*" if is_compiled else "__pycache__"
    ignored = shutil.ignore_patterns(compiled, "_shipped")
    for part in (*PARTS, "scripts"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def make_environment(folder: Path) -> Path:
    """An environment that has what hostbridge needs, but not hostbridge."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = ran(python, "-c", where).stdout.strip()
    # Named in a file of this kind, a folder's own files of this kind do not count.
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def expected(kind: Kind) -> dict[str, Any]:
    """The settings that an install writes into an empty file."""
    return {"hooks": entries(form_of(kind, hooks_folder(), sys.executable))}


def stage_at(root: Path, api: ScriptedApi, **env: str) -> Stage:
    """A stage whose project is a repository."""
    root.mkdir(exist_ok=True)
    stage = Stage(root, api, program=needs.client(), extra_env=env)
    subprocess.run(["git", "init", "-q", stage.project], check=True)
    return stage


def command(stage, *arguments, python=sys.executable, package=ROOT):
    """The stdout of `hostbridge ARGUMENTS` in the stage's project."""
    env = stage.environment()
    if (python, package) == (sys.executable, ROOT):
        program = ["/bin/sh", "-c", forkserver.console_script(), "hostbridge"]
    else:
        program = [str(python), "-c", "from bridge.cli.main import main; main()"]
        env["PYTHONPATH"] = str(package)
    done = ran(*program, *arguments, cwd=stage.project, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def complaints(stage: Stage) -> str:
    """What hooks logged as going wrong."""
    log = stage.home / ".hostbridge" / "hook-errors.log"
    return log.read_text() if log.exists() else ""
