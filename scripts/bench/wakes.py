"""From a question to its answer, in an idle session, beside the client's own wake."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from stage.api import ScriptedApi
from stage.models import obedient_model
from stage.replies import reply
from stage.stream import StreamSession
from stage.terminal import TerminalSession

from bench import host
from bench.floors import FLOORS
from bench.table import Row
from bench.timing import Series, run
from bridge import Bridge
from bridge.config import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stage.client import Stage

# An idle session, as far as the client's watch and its own tidying are concerned.
PAUSE_S = 1.5


def open_bridge(stage: Stage) -> Bridge:
    """The bridge of a program that runs in that world."""
    settings = Settings.from_environment(host.environment(stage))
    return Bridge(settings, stage.project)


def measure(root: Path, rounds: int) -> list[Row]:
    """Every kind of session, asked in turn, each after a pause."""
    asked: dict[str, Callable[[], float]] = {}
    with ExitStack() as stack:
        for name in ("stream", "terminal", "terminal, auto mode"):
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
        # Three hooks of this kind are on the way: on a busy machine, most of the time.
        asked["library"] = lambda: run(FLOORS["library"], stage.environment()).ms / 1000
        found = {name: Series() for name in asked}
        for turn in range(-1, rounds):
            for name, ask in asked.items():
                time.sleep(PAUSE_S)
                value = ask()
                if turn >= 0:
                    found[name].values.append(value)
    goals = {"stream": 1.3, "terminal": 1.8, "terminal, auto mode": 1.8}
    rows = [
        Row(f"{name}: question -> answer", found[name], found[bare], goal, "value", "s")
        for name, goal in goals.items()
        for bare in [f"bare {name.partition(',')[0]}"]
    ]
    one = Row("  one python with pydantic, jinja2", found["library"], unit="s")
    return [*rows, one]


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
