"""Time a question to an idle session, less the client's own wake-up.

The client itself needs time to notice a file and to start a turn. That time is measured
in a session with a bare hook, and subtracted; the rest is ours. Its unit is one start
of Python with pydantic and jinja2, which is what a hook with work to do costs on any
machine.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench import host
from bench.floors import FLOORS
from bench.table import Row
from bench.timing import Series, run
from bridge import Bridge
from bridge.config import Settings
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
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
GOALS = {"stream": 2.5, "terminal": 4.0, "terminal, auto mode": 4.0}


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
            stage = host.world(root / name.replace(", ", "-"), api, host.our_hooks())
            enter(stack, stage, name)
            asked[name] = _asking(open_bridge(stage))
        for name in ("stream", "terminal"):
            api = stack.enter_context(ScriptedApi(lambda _: reply("ok")))
            bell = root / f"bell-{name}"
            stage = host.world(root / f"bare-{name}", api, host.bare_bell(bell))
            enter(stack, stage, name)
            asked[f"bare {name}"] = _waking(api, bell)
        asked[START] = lambda: run(FLOORS["library"], stage.environment()).ms / 1000
        found = {name: Series() for name in asked}
        for turn in range(-1, rounds):
            for name, ask in asked.items():
                time.sleep(PAUSE_S)
                value = ask()
                if turn >= 0:
                    found[name].values.append(value)
    return [row for name in GOALS for row in compare(name, found)]


def compare(name: str, found: dict[str, Series]) -> Iterator[Row]:
    """The rows of one kind of session."""
    bare = found[f"bare {name.partition(',')[0]}"]
    ours = (a - b for a, b in zip(found[name].values, bare.values, strict=True))
    yield Row(f"{name}: question -> answer; a bare wake", found[name], bare, unit="s")
    what = f"  what we add, in starts of {START}"
    yield Row(what, Series([*ours]), found[START], GOALS[name], unit="s")


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


def _waking(api: ScriptedApi, bell: Path) -> Callable[[], float]:
    def wake() -> float:
        before = len(api.turns("main"))
        start = time.monotonic()
        (bell / "wake").touch()
        deadline = start + 20
        while len(turns := api.turns("main")) == before:
            assert time.monotonic() < deadline, "the bare hook woke nobody"
            time.sleep(0.002)
        return turns[-1].time_s - start

    return wake
