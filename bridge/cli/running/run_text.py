"""A run on the screen: each step, how far it is, and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.api import compiled_runs
from bridge.api.flow_result import result_of
from bridge.api.run_steps import Try, steps_of
from bridge.cli.common.output import counted, indented, prose, span, visible
from bridge.cli.screen.screen import Styled, cut
from bridge.cli.screen.table import Column, table
from bridge.engine import by_hand
from bridge.engine.view import asked_of, question, resume_command
from bridge.protocol.consent import HOW_TO_SAY
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.api.bridge import Bridge
    from bridge.cli.screen.screen import Line, Style
    from bridge.engine.run import Run
    from bridge.engine.view import RunView

_STEPS = (
    Column("STEP"),
    Column("STATE", least=10),
    Column("TOOK", spare=2),
    Column("WHAT", least=20),
)
_RUNS = (
    Column("RUN"),
    Column("STATUS"),
    Column("AGENTS", spare=1),
    Column("BEGUN", spare=2),
    Column("NAME", least=10),
    Column("WHY", least=12, spare=3),
)
_MAX_WHY = 400
_MOST_SHOWN = 30
_COLOURS: dict[str, Style] = {
    "ok": "green", "completed": "green", "running": "cyan", "open": "cyan",
    "failed": "red", "error": "red", "stopped": "red", "paused": "yellow",
    "cancelled": "yellow", "skipped": "dim", "no": "dim",
    "after": "dim",
}  # fmt: skip

CHANGED = "{file} has changed since; the run goes on with what it began with"
# What a run was given, of which it needs more to go on.


def run_lines(
    bridge: Bridge, seen: RunView, width: int | None, *, is_live: bool = False
) -> Iterator[Line]:
    """A run: its head, and its steps.

    With `is_live` without reasons, and of a long flow only the steps that run: to look
    up every answer again and again takes too long.
    """
    run = seen.run
    took = span(max(0, _until_ms(bridge, run) - run["createdAt"]) / 1000)
    yield (
        f"{run['name'] or 'a flow'}  {run['run']}  ",
        coloured(run["status"]),
        f"  {took}, {counted(asked_of(run), 'agent')} asked",
    )
    if run["why"]:
        yield f"    {prose(run['why'])}"
    for file in changed_files(bridge, seen):
        yield f"    {CHANGED.format(file=file)}"
    only_open = is_live and len(seen.plan["nodes"]) > _MOST_SHOWN
    found = steps_of(
        bridge.store, bridge.settings, seen, only_open=only_open, whole=not is_live
    )
    steps = [*found]
    rows = [(s.node, coloured(s.says), _took(s.took_s), s.what) for s in steps]
    if not rows:
        return
    head, *lines = table(_STEPS, rows, width)
    yield head
    for step, line in zip(steps, lines, strict=True):
        yield line
        below = [step.why] if step.why else []
        below += map(_tried, step.tries)
        for each in below:
            yield Styled(
                cut(f"    {one_line(each, _MAX_WHY)}", width or _MAX_WHY), "dim"
            )


def changed_files(bridge: Bridge, seen: RunView) -> list[str]:
    """Which files of a run's flow have changed since, while it may go on."""
    if seen.run["status"] == "completed":
        return []
    project = bridge.store.place.project
    return [
        str(each)
        for each in compiled_runs.changed_files(bridge.settings, project, seen)
    ]


def _tried(one: Try) -> str:
    again = f", attempt {one.attempt}" if one.attempt > 1 else ""
    took = f" after {_took(one.took_s)}" if one.took_s is not None else ""
    return f"round {one.visit}{again}: {one.says}{took} ({one.request_id})"


def _took(took_s: float | None) -> str:
    return "" if took_s is None else span(took_s)


def _until_ms(bridge: Bridge, run: Run) -> int:
    return bridge.store.now_ms() if run["status"] == "running" else run["at"]


def waits_for_you(bridge: Bridge, run_id: str, node: str) -> str:
    """What a checkpoint asks, and how it is answered."""
    asks = indented(visible(question(bridge.store, run_id, node), kept="\n"))
    return f"{node} waits for you: hostbridge reply {run_id} ANSWER\n{asks}"


def how_to_say(seen: RunView, run_id: str, node: str) -> str:
    """How a checkpoint may be answered, for people."""
    at = next(each for each in seen.views() if each.run["run"] == run_id)
    if by_hand.takes_words(at.plan["nodes"], at.run, node):
        return "yes, no, or what you want to say"
    return HOW_TO_SAY


def stands(run: Run) -> str:
    """How a run that has stopped stands, and why, in a line."""
    how = "failed" if run["status"] == "failed" else f"is {run['status']}"
    return f"run {run['run']} {how}" + (f": {prose(run['why'])}" if run["why"] else "")


def ways_out(run: Run) -> Iterator[str]:
    """What a person can do with a run that has stopped."""
    again = resume_command(run)
    if run["status"] == "paused":
        yield f"go on with it: {again}"
    elif run["status"] in ("failed", "cancelled"):
        yield f"go on where it stopped: {again}"


def run_table(
    runs: Iterable[Run | tuple[str, Exception]], now_ms: int, width: int | None
) -> Iterator[Line]:
    """The list of runs."""
    return table(_RUNS, [_listed(run, now_ms) for run in runs], width)


def _listed(run: Run | tuple[str, Exception], now_ms: int) -> list[str]:
    if isinstance(run, tuple):
        return [run[0], Styled("unreadable", "red"), "", "", "", str(run[1])]
    agents = f"{asked_of(run)} asked"
    agents += f", {len(run['open'])} open" if run["open"] else ""
    begun = f"{span(max(0, now_ms - run['createdAt']) / 1000)} ago"
    return [
        run["run"], coloured(run["status"]), agents, begun, run["name"], run["why"],
    ]  # fmt: skip


def coloured(word: str) -> str:
    """A state in its colour."""
    colour = _COLOURS.get(word.partition(" ")[0])
    return Styled(word, colour) if colour else word


def run_value(bridge: Bridge, seen: RunView) -> dict[str, Any]:
    """A run as JSON."""
    run = seen.run
    done = result_of(bridge.store, bridge.settings, seen)
    return {
        "run": run["run"],
        "flow": run["name"],
        "source": run["source"],
        "changed": changed_files(bridge, seen),
        "status": run["status"],
        "why": run["why"],
        "asked": done.asked,
        "createdAt": run["createdAt"],
        "at": run["at"],
        "params": run["params"],
        "steps": [
            {
                "id": step.node,
                "what": step.what.strip("│├─ "),
                "state": step.state or "waiting",
                "says": step.says,
                "requestId": step.request_id,
                "durationMs": None if step.took_s is None else int(step.took_s * 1000),
                "why": step.why,
                "tries": step.tries,
            }
            for step in done.steps
        ],
        "variables": done.variables,
        "checkpoints": [f"{run_id}/{node}" for run_id, node, _ in seen.checkpoints()],
    }
