"""Programs that only note that they were started, for a real shell to start."""

import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = ["pytest", "ruff", "mypy"]
REAL = """
    awk bash cat chmod chrt echo ed env find flock git grep head ionice
    linux64 ls mkdir nice node nohup perl printf prlimit python3 script sed setarch
    setpriv setsid sort sqlite3 ssh-agent stdbuf strace tail tar taskset tee test
    timeout touch vim xargs
"""
STAND_IN = """#!/bin/sh
printf '%s\\n' "${0##*/}" >> "$RECORD"
"""
AS_MODULE = """
import os, pathlib
with open(os.environ["RECORD"], "a") as record:
    record.write(__spec__.name.partition(".")[0] + "\\n")
"""


def make_world(root: Path) -> Path:
    """Fill a folder with real tools, and with programs that only note their start."""
    (root / "bin").mkdir()
    (root / "modules").mkdir()
    for name in PROGRAMS:
        (root / "bin" / name).write_text(STAND_IN)
        (root / "bin" / name).chmod(0o755)
        (root / "modules" / f"{name}.py").write_text(AS_MODULE)
    for name in REAL.split():
        if found := shutil.which(name):
            (root / "bin" / name).symlink_to(found)
    # Which obeys FUNCNEST; dash does not.
    (root / "bin" / "sh").symlink_to(root / "bin" / "bash")
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
            # A function may call itself: bash then gives up at this depth.
            "FUNCNEST": "3",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return set(record.read_text().split())
