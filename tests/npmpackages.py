"""The packages of scripts/report_page, installed once, as its lock says."""

import fcntl
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import needs

from bridge.testing.stage.client import cache_folder

SOURCE = Path(__file__).parents[1] / "scripts" / "report_page"


def installed() -> Path:
    """A copy of scripts/report_page with its node_modules."""
    npm = needs.tool("npm")
    lock_file = SOURCE / "package-lock.json"
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    wanted = f"report-page-{sha256(lock_file.read_bytes()).hexdigest()[:16]}"
    folder = cache / wanted
    with (cache / f"{wanted}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            skipped = shutil.ignore_patterns("node_modules")
            shutil.copytree(SOURCE, folder, ignore=skipped)
            command = [npm, "ci", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            (folder / "done").touch()
    for file in SOURCE.glob("*.js"):
        shutil.copy(file, folder)
    return folder
