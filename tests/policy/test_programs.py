"""What a command is said to start, and what a real shell then starts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tricky_commands import ALL, TRICKY, UNSEEN, Tricky

from bridge.policy.bash_syntax import BashParser
from bridge.policy.condition import MAY
from bridge.policy.programs import Reading, read

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ALL.split()
REAL = """
    awk bash cat chmod echo env find flock git grep head ls mkdir nice nohup printf
    python3 script sed setsid sh sort stdbuf tail taskset tee test timeout touch xargs
"""
STAND_IN = """#!/bin/sh
printf '%s\\n' "${0##*/}" >> "$RECORD"
"""
AS_MODULE = """
import os, pathlib
with open(os.environ["RECORD"], "a") as record:
    record.write(__spec__.name.partition(".")[0] + "\\n")
"""


def reading(command: str) -> Reading:
    return read(command, BashParser(lambda: 0.0))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with real tools, and programs that only note that they were started."""
    root = tmp_path_factory.mktemp("shell")
    (root / "bin").mkdir()
    (root / "modules").mkdir()
    for name in PROGRAMS:
        (root / "bin" / name).write_text(STAND_IN)
        (root / "bin" / name).chmod(0o755)
        (root / "modules" / f"{name}.py").write_text(AS_MODULE)
    for name in REAL.split():
        if found := shutil.which(name):
            (root / "bin" / name).symlink_to(found)
    (root / "bin" / "python").symlink_to(sys.executable)
    return root


def really_started(command: str, world: Path, folder: Path) -> set[str]:
    """The stand-ins that bash starts for a command."""
    record = folder / "record"
    record.touch()
    (folder / "bin").symlink_to(world / "bin")
    (folder / "ruff.toml").touch()
    subprocess.run(
        [str(world / "bin" / "bash"), "-c", f"{command}\nwait"],
        cwd=folder,
        env={
            "PATH": str(world / "bin"),
            "HOME": str(folder),
            "RECORD": str(record),
            "PYTHONPATH": str(world / "modules"),
            "LC_ALL": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return set(record.read_text().split())


@pytest.mark.parametrize("case", TRICKY, ids=lambda case: case.command)
def test_a_command_runs_what_its_text_starts(case: Tricky) -> None:
    found = reading(case.command)
    answers = {name: found.runs([name]) for name in PROGRAMS}

    assert answers == {
        name: True
        if name in case.runs.split()
        else MAY
        if name in case.may.split()
        else False
        for name in PROGRAMS
    }


@pytest.mark.parametrize(
    "case",
    [case for case in TRICKY if case.real != UNSEEN],
    ids=lambda case: case.command,
)
def test_bash_starts_nothing_that_was_denied(
    case: Tricky, world: Path, tmp_path: Path
) -> None:
    """The table's own words are checked: a real bash runs each command."""
    started = really_started(case.command, world, tmp_path)

    real = case.runs if case.real is None else case.real
    assert started == set(real.split())
    assert started <= {*case.runs.split(), *case.may.split()}
