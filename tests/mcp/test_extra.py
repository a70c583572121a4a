"""`hostbridge mcp` without the SDK."""

import subprocess
import sys

WITHOUT = """\
import sys
sys.modules["mcp"] = None
from bridge.cli.main import run
sys.exit(run(["mcp"]))
"""


def test_error_the_extra_is_missing():
    """It says so with the command that adds it, and nothing is on stdout."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    said = "hostbridge: hostbridge mcp takes the package mcp, which is not installed; "
    assert done.stderr.startswith(f"{said}run: ")
    assert "[mcp]" in done.stderr
