"""When hooks do nothing at all: switched off, or in a client below a request."""

import os
import subprocess
from pathlib import Path

import pytest

import bridge
from bridge.config import Settings

HOOKS = Path(bridge.__file__).parents[1] / "hooks"


def starts_python(tmp_path: Path, **env: str) -> bool:
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


def test_a_client_below_a_request_serves_no_queue(tmp_path):
    """It is there for one request; to serve others it would start agents of its own."""
    assert starts_python(tmp_path)
    assert starts_python(tmp_path, BRIDGE_PARENT="")
    assert not starts_python(tmp_path, BRIDGE_PARENT="1k0t3fvvgkr-n-hj92wn")


OFF = ["1", "true", "YES", "On", " on ", "\t1\n"]
ON = ["", " ", "0", " 0", "0\n", "\t0 ", "false", "False", "FALSE", "fAlSe", "no"]
ON += ["NO", "nO", "off", "OFF", "Off", " OFF "]


@pytest.mark.parametrize("value", OFF + ON)
def test_hooks_and_commands_agree_on_what_is_off(tmp_path, value):
    """Otherwise `ask` would wait for a session whose hooks do nothing."""
    env = {"HOME": str(tmp_path), "BRIDGE_OFF": value}
    is_off = value in OFF

    assert Settings.from_environment(env).off is is_off
    assert starts_python(tmp_path, BRIDGE_OFF=value) is not is_off
