"""What a test needs beside Python; without it the test is skipped, and says why.

With BRIDGE_TEST_STRICT=1 it fails instead: a machine that is there to test has them
all.
"""

import ctypes
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from bridge.agent_loop.chat_model import ModelFailed
from bridge.config import Settings
from bridge.errors import ExtraMissing
from bridge.llama.model_files import find_model, require_extra
from bridge.testing.stage.client import ClientUnavailable, ensure_client

_SCOPES_SIGNALS = 6


def tool(name: str) -> str:
    """The path of a program."""
    found = shutil.which(name)
    return found if found is not None else _missing(f"{name} not found")


def client() -> Path:
    """The real Claude Code client, installed at the first call."""
    try:
        return ensure_client()
    except ClientUnavailable as why:
        _missing(str(why))


def local_model() -> Path:
    """The default model's file, with all that is needed to run it."""
    try:
        require_extra()
        return find_model(None, Settings(home=Path("/nowhere"))).path
    except (ExtraMissing, ModelFailed) as why:
        _missing(str(why))


def signal_walls() -> None:
    """A kernel that can keep a program from signalling others: Linux 6.12 or later."""
    # landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION.
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < _SCOPES_SIGNALS:
        _missing("no Landlock with scopes of signals here")


def _missing(why: str) -> NoReturn:
    if os.environ.get("BRIDGE_TEST_STRICT") == "1":
        pytest.fail(why)
    pytest.skip(why)
