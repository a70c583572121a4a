"""When hooks do nothing at all: switched off, or in a client below a request."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import bridge

HOOKS = Path(bridge.__file__).parents[1] / "hooks"


def looks(tmp_path: Path, **env: str) -> bool:
    """Whether a hook goes on to start Python, which is a program of ours here."""
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\necho started\n")
    stub.chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", str(HOOKS / "always"), "SessionStart", "local", str(stub)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **env},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert ran.stdout in ("", "started\n")
    return bool(ran.stdout)


def test_a_client_below_a_request_serves_no_queue(tmp_path: Path):
    """It is there for one request; to serve others it would start agents of its own."""
    assert looks(tmp_path)
    assert looks(tmp_path, BRIDGE_PARENT="")
    assert not looks(tmp_path, BRIDGE_PARENT="1k0t3fvvgkr-n-hj92wn")
