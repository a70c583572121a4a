"""`scripts/environment.sh`: what is there is used again."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Stands for every program there: logs what it is to install, and makes a venv.
PYTHON = """\
#!/bin/sh
case "$*" in
*"-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*"-m bridge.testing.stage.client"*) exit 1 ;;
*"-m pip"*) for last; do :; done; printf '%s ' "${last##*/project}" >>"$LOG" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The scripts of a project, and programs for them."""
    made = tmp_path / "project"
    (made / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "environment.sh", made / "scripts")
    shutil.copy(ROOT / "pyproject.toml", made)
    for name in ("python3", "c++"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(PYTHON)
        program.chmod(0o755)
    return made


def installed(project: Path, *extras: str) -> str:
    """What is installed, when environments with these extras are asked for in turn."""
    script = project / "scripts" / "run"
    script.write_text(
        "set -eu\n"
        '. "${0%/*}/environment.sh"\n'
        'for each; do make_environment "$each"; done\n'
    )
    log = project / "log"
    log.write_text("")
    subprocess.run(
        ["/bin/sh", script, *extras],
        env={"PATH": f"{project.parent}/bin:{os.environ['PATH']}", "LOG": str(log)},
        check=True,
        # No pipe: a sleep that outlives its script would hold it.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=300,
    )
    return log.read_text().strip()


def test_an_environment_is_used_again(project):
    """Also by the demo after the tests, which have all that it needs."""
    assert installed(project, "[local]", "[local]") == "[local]"
    assert installed(project, "[dev]", "[local]", "[dev]", "", "[local]") == "[dev]"


def test_the_first_exchange_needs_no_extra(project):
    """So no compiler: the demo adds the model's library later."""
    assert installed(project, "", "[local]", "", "[local]") == "[local]"


def test_error_no_client(project):
    """What the user has will do, and half of the demo needs none."""
    script = project / "scripts" / "demo"
    shutil.copy(ROOT / "scripts" / "demo", script)
    progress = Path("bridge", "testing", "stage", "progress.py")
    (project / progress).parent.mkdir(parents=True)
    shutil.copy(ROOT / progress, project / progress)

    done = subprocess.run(
        [script],
        env={"PATH": f"{project.parent}/bin:{os.environ['PATH']}", "LOG": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.endswith(
        "scripts: there is no client; one that you have will do: "
        "BRIDGE_TEST_CLAUDE=/path/to/claude scripts/demo; the exchange without a "
        "client: scripts/demo model\n"
    )


def test_an_environment_is_made_again_when_the_project_changes(project):
    installed(project, "[dev]")
    with (project / "pyproject.toml").open("a") as file:
        file.write("# changed\n")

    assert installed(project, "[local]", "[local]") == "[local]"


def test_what_tests_need_has_all_extras():
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = metadata["optional-dependencies"]

    assert f"hostbridge[{','.join(e for e in extras if e != 'dev')}]" in extras["dev"]
