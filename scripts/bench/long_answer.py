"""What memory it takes to put one long answer into three prompts. Linux only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.protocol.ids import RequestId
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.host_process import identify

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.api.bridge import Bridge

G = "general-purpose"
FLOW = f'{G}:"one":x -> [{G}:"a {{x}}" || {G}:"b {{x}}" || {G}:"c {{x}}"]'
MB = 1_000_000


def peak_mb(bridge: Bridge, size_mb: float, *, is_report: bool) -> float:
    """How far the process grows, as words alone or as the summary of a report."""
    store = bridge.store
    with store.state() as state:
        run = begin(state, compile_flow(parse_flow(FLOW)))
    advance(store, bridge.settings, run)
    _in_a_child(lambda: _answer(bridge, f"{run}-node-0-1-1", size_mb, is_report) or 0.0)
    return _in_a_child(lambda: _grown(bridge, run))


def _answer(bridge: Bridge, asked: str, size_mb: float, is_report: bool) -> None:  # noqa: FBT001
    me = identify(os.getpid())
    assert me is not None
    store = bridge.store
    known = RequestId(asked)
    (mine,) = store.claim(Claimant("bench", me), 999, lambda _: "take", only=known)
    words = "words and \n" * int(size_mb * MB / 11)
    report = {"status": "success", "summary": words} if is_report else None
    raw = json.dumps(report) if is_report else words
    response = answered(
        mine, raw=raw, parsed=report, now_ms=store.now_ms(), route="host"
    )
    assert store.publish(response, source="bench")


def _grown(bridge: Bridge, run: str) -> float:
    before = _told("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    advance(bridge.store, bridge.settings, run)
    assert [*bridge.store.waiting()]
    return _told("VmHWM") - before


def _told(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1000


def _in_a_child(act: Callable[[], float]) -> float:
    """What a function returns in a process of its own."""
    ours, theirs = os.pipe()
    if not (child := os.fork()):
        os.write(theirs, str(act()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return float(os.read(ours, 99))
