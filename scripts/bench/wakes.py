"""Time a question to an idle session, less the client's own wake-up.

The client itself needs time to notice a file and to start a turn. That time is measured
in a session with a bare hook, and subtracted; the rest is ours. Its unit is one start
of Python with pydantic and jinja2, which is what a hook with work to do costs on any
machine. A session at a terminal is rung; once more it watches a file, as others do.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from bench import host
from bench.floors import FLOORS
from bench.table import Row
from bench.timing import Series, run
from bridge import Bridge
from bridge.config import Settings
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import reply
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.testing.stage.client import Stage

# Long enough for the client to finish its own cleaning up and be idle.
PAUSE_S = 1.5
START = "python with pydantic, jinja2"
# How many of them may be added to the client's own wake-up.
GOALS = {
    "stream": 2.5,
    "terminal": 4.0,
    "terminal, auto mode": 4.0,
    "terminal, watching": 4.0,
}
COLD = "claude -p from cold"


def open_bridge(stage: Stage) -> Bridge:
    """The bridge of a program in that world."""
    settings = Settings.from_environment(host.environment(stage))
    return Bridge(settings, stage.project)


def measure(root: Path, rounds: int) -> list[Row]:
    """All kinds of sessions, asked in turn, each after a pause."""
    asked: dict[str, Callable[[], float]] = {}
    with ExitStack() as stack:
        for name in GOALS:
            api = stack.enter_context(ScriptedApi(obedient_model()))
            env = {"BRIDGE_WAKE": "watch"} if "watching" in name else None
            folder = root / name.replace(", ", "-")
            stage = host.world(folder, api, host.our_hooks(), env)
            enter(stack, stage, name)
            asked[name] = _asking(open_bridge(stage))
        for name in ("stream", "terminal", "terminal, watching"):
            api = stack.enter_context(ScriptedApi(lambda _: reply("ok")))
            bell = root / f"bell-{name}"
            is_rung = name == "terminal"
            hooks = host.bare_ring(bell) if is_rung else host.bare_bell(bell)
            stage = host.world(root / f"bare-{name}", api, hooks)
            enter(stack, stage, name)
            call = _ring if is_rung else _touch
            asked[_bare(name)] = _waking(api, partial(call, bell))
            asked.setdefault(COLD, _printing(stage))
        asked[START] = lambda: run(FLOORS["library"], stage.environment()).ms / 1000
        found = {name: Series() for name in asked}
        for turn in range(-1, rounds):
            for name, ask in asked.items():
                time.sleep(PAUSE_S)
                value = ask()
                if turn >= 0:
                    found[name].values.append(value)
    ring, watch = (found[_bare(name)] for name in ("terminal", "terminal, watching"))
    bare = Row("the client alone: woken by a ring; by a file", ring, watch, unit="s")
    return [bare, *(row for name in GOALS for row in compare(name, found))]


def compare(name: str, found: dict[str, Series]) -> Iterator[Row]:
    """The rows of one kind of session."""
    bare = found[_bare(name)]
    ours = (a - b for a, b in zip(found[name].values, bare.values, strict=True))
    yield Row(f"{name}: question -> answer; a bare wake", found[name], bare, unit="s")
    what = f"  what we add, in starts of {START}"
    yield Row(what, Series([*ours]), found[START], GOALS[name], unit="s")
    yield Row(f"  question -> answer; {COLD}", found[name], found[COLD], unit="s")


def _bare(name: str) -> str:
    """The session that shows how quickly the client wakes without us."""
    return f"bare {name.removesuffix(', auto mode')}"


def enter(stack: ExitStack, stage: Stage, kind: str) -> Callable[[str], None]:
    """Open a session and greet it; returns how to say something and be answered."""
    if kind == "stream":
        session = stack.enter_context(StreamSession(stage))

        def say(words: str) -> None:
            session.ask(words)

    else:
        mode = "auto" if "auto" in kind else "default"
        terminal = stack.enter_context(TerminalSession(stage, mode=mode))

        def say(words: str) -> None:
            terminal.submit(words)
            stage.api.wait_for(lambda r: r.role == "main" and r.contains(words))
            terminal.wait_for_text("ok")

    say("hello")
    return say


def _asking(bridge: Bridge) -> Callable[[], float]:
    def ask() -> float:
        start = time.perf_counter()
        result = bridge.ask("How are you?", timeout_s=60)
        assert result.success
        return time.perf_counter() - start

    return ask


def _printing(stage: Stage) -> Callable[[], float]:
    def ask() -> float:
        start = time.perf_counter()
        assert run_print(stage, "How are you?").text == "ok"
        return time.perf_counter() - start

    return ask


def _touch(bell: Path) -> None:
    (bell / "wake").touch()


def _ring(bell: Path) -> None:
    (bell / "ring").write_text("\n")


def _waking(api: ScriptedApi, call: Callable[[], None]) -> Callable[[], float]:
    def wake() -> float:
        before = len(api.turns("main"))
        start = time.monotonic()
        call()
        deadline = start + 20
        while len(turns := api.turns("main")) == before:
            assert time.monotonic() < deadline, "the bare hook woke nobody"
            time.sleep(0.002)
        return turns[-1].time_s - start

    return wake
