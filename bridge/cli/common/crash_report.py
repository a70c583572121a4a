"""Log a bug of ours in a new temporary file."""

import sys
import tempfile
import traceback
from pathlib import Path


def log_bug(exc: BaseException) -> Path:
    """Write version, arguments and traceback to a new log; returns its path."""
    trace = "".join(traceback.format_exception(exc))
    with tempfile.NamedTemporaryFile(
        "w",
        prefix="hostbridge-",
        suffix=".log",
        errors="backslashreplace",
        delete=False,
    ) as log:
        log.write(f"{sys.version}\n{sys.argv}\n{trace}")
    return Path(log.name)
