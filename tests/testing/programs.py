"""What a program asks for, and the command that it starts."""

from __future__ import annotations

import subprocess
import sys

MODULES = {"type": "object", "required": ["modules"]}


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "bridge", *words],
        capture_output=True,
        text=True,
        check=False,
    )
