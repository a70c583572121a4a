"""What a test needs beside Python: a tool that is missing skips the test, by its name.

With BRIDGE_TEST_STRICT=1 it fails instead: a machine that is there to test has them
all.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NoReturn

import pytest
from stage.client import ClientUnavailable, ensure_client

if TYPE_CHECKING:
    from pathlib import Path


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


def _missing(why: str) -> NoReturn:
    if os.environ.get("BRIDGE_TEST_STRICT") == "1":
        pytest.fail(why)
    pytest.skip(why)
