"""The names in a run: what it has asked, and which states are which. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.engine.run import Run

VERSION = 2
LIVE = ("running", "paused")
# The end of a plan, among the targets of its nodes.
OUT = ""
# What begins the ids of requests that a tool of a run has made, after the run's.
STARTED = "tool_"
# How the id of a called run begins; that of another begins otherwise.
_CALLED = "f"


def request_id(run: Run, node: str) -> str:
    """What a node asks at its present visit and attempt."""
    entry = run["nodes"].get(node, {})
    visit, attempt = entry.get("visit", 1), entry.get("attempt", 1)
    return f"{run['run']}-{node}-{visit}-{attempt}"


def node_of(asked: str) -> str:
    """The node that has asked this."""
    return asked.partition("-")[2].rsplit("-", 2)[0]


def child_id(request: str) -> str:
    """The run that a `call` begins: short, however deep, and always the same."""
    return f"{_CALLED}{hashlib.sha256(request.encode()).hexdigest()[:15]}"


def is_called(run: str) -> bool:
    """Whether a run was called by another."""
    return run.startswith(_CALLED)
