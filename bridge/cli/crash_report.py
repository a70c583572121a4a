"""Write down a bug of ours: one file for each, in the folder for temporary files."""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path


def log_bug(exc: BaseException) -> Path:
    """The path of a new log with what happened: version, arguments, traceback."""
    told = "".join(traceback.format_exception(exc))
    with tempfile.NamedTemporaryFile(
        "w",
        prefix="hostbridge-",
        suffix=".log",
        errors="backslashreplace",
        delete=False,
    ) as log:
        log.write(f"{sys.version}\n{sys.argv}\n{told}")
    return Path(log.name)
