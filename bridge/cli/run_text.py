"""A run on the screen: each step, how far it is, and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.api.hosts import Hosts
from bridge.api.upkeep import stage_of
from bridge.cli.output import counted, span
from bridge.cli.screen import Styled
from bridge.cli.table import Column, table
from bridge.engine.run_ids import request_id
from bridge.errors import InvalidRequest
from bridge.flow.drawing import shown_as
from bridge.protocol.ids import RequestId
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.api.bridge import Bridge
    from bridge.cli.screen import Line, Style
    from bridge.engine.run import Entry, LinkedNode, Run
    from bridge.engine.view import RunView
    from bridge.flow.plan import Detail
    from bridge.store import Found

_STEPS = (
    Column("STEP"),
    Column("STATE", least=10),
    Column("TOOK", spare=2),
    Column("WHAT", least=20),
)
_RUNS = (
    Column("RUN"),
    Column("STATUS"),
    Column("STEPS", spare=1),
    Column("BEGUN", spare=2),
    Column("FLOW", least=10),
    Column("WHY", least=12, spare=3),
)
_COLOURS: dict[str, Style] = {
    "ok": "green", "completed": "green", "running": "cyan", "open": "cyan",
    "failed": "red", "error": "red", "stopped": "red", "paused": "yellow",
    "cancelled": "yellow", "skipped": "dim", "no": "dim",
}  # fmt: skip
_YOU = "waits for you"


class StepSeen(NamedTuple):
    """A step of a run: `state` is what the run knows, `says` what a person reads."""

    node: str
    what: str
    state: str
    says: str
    took_s: float | None
    request_id: str | None
    why: str


def steps_of(
    bridge: Bridge, seen: RunView, *, only_open: bool = False
) -> Iterator[StepSeen]:
    """Every step that does something, in written order; those of called flows below."""
    for name, node, detail, entry in seen.steps():
        if only_open and entry.get("state") != "open":
            continue
        if what := shown_as(node, detail):
            yield _step(bridge, seen, name, node, entry, f"{what}")
        if child := seen.children.get(name):
            for each in steps_of(bridge, child, only_open=only_open):
                yield each._replace(node=f"{name}/{each.node}", what=f"   {each.what}")


def _step(
    bridge: Bridge,
    seen: RunView,
    name: str,
    node: LinkedNode,
    entry: Entry,
    what: str,
) -> StepSeen:
    state = entry.get("state", "")
    asked = request_id(seen.run, name) if "attempt" in entry else None
    found = None
    if asked and node["kind"] == "agent":
        found = bridge.store.find(RequestId(asked))
    says = _says(bridge, seen, name, node, entry, found)
    if entry.get("attempt", 1) > 1 or entry.get("visit", 1) > 1:
        says += f" ({_ordinal(entry)})"
    took_s = None
    if found and found.response:
        took_s = found.response.duration / 1000
    elif state == "open":
        took_s = max(0, bridge.store.now_ms() - entry.get("at", 0)) / 1000
    request = asked if node["kind"] == "agent" else None
    return StepSeen(name, what, state, says, took_s, request, entry.get("why", ""))


def _ordinal(entry: Entry) -> str:
    visit, attempt = entry.get("visit", 1), entry.get("attempt", 1)
    parts = [f"round {visit}"] if visit > 1 else []
    parts += [f"attempt {attempt}"] if attempt > 1 else []
    return ", ".join(parts)


def _says(
    bridge: Bridge,
    seen: RunView,
    name: str,
    node: LinkedNode,
    entry: Entry,
    found: Found | None,
) -> str:
    """The state of a step in a word or two; of a guard which way it went."""
    state = entry.get("state")
    detail = seen.details["details"].get(name, {})
    if state is None:
        return ""
    if state == "open":
        if node["kind"] == "approval":
            return _YOU
        return _stage(bridge, found) if node["kind"] == "agent" else "running"
    if state == "passed" and detail.get("shows") == "condition":
        first = node["to"][0][0]
        return "no" if first in entry.get("dead", ()) else "yes"
    if state == "passed":
        return "" if detail.get("shows") == "label" else "done"
    return state


def _stage(bridge: Bridge, found: Found | None) -> str:
    if found is None or found.request is None:
        return Stage.WAITING.words
    request = found.request
    if request.held is not None:
        return "held: needs your yes"
    stage = stage_of(bridge.store, found)
    if stage is Stage.WAITING and request.route == "host":
        why = Hosts(bridge.store, bridge.settings).why_waiting(request)
        return why.why if why else stage.words
    return stage.words


def run_lines(
    bridge: Bridge, seen: RunView, width: int | None, *, only_open: bool = False
) -> Iterator[Line]:
    """A run: its head, and its steps."""
    run = seen.run
    took = span(max(0, _until_ms(bridge, run) - run["createdAt"]) / 1000)
    yield (
        f"{run['name'] or 'a flow'}  {run['run']}  ",
        coloured(run["status"]),
        f"  {took}, {counted(run['asked'], 'agent')} asked",
    )
    if run["why"]:
        yield f"    {run['why']}"
    rows = [
        (
            step.node,
            coloured(step.says),
            "" if step.took_s is None else span(step.took_s),
            step.what,
        )
        for step in steps_of(bridge, seen, only_open=only_open)
    ]
    yield from table(_STEPS, rows, width)


def _until_ms(bridge: Bridge, run: Run) -> int:
    return bridge.store.now_ms() if run["status"] == "running" else run["at"]


def ways_out(run: Run) -> Iterator[str]:
    """What a person can do with a run that has stopped."""
    if run["status"] == "paused":
        yield f"go on with it: hostbridge run --resume {run['run']}"
    elif run["status"] in ("failed", "cancelled"):
        yield f"go on where it stopped: hostbridge run --resume {run['run']}"


def listed(runs: Iterable[Run | tuple[str, Exception]], now_ms: int) -> list[list[str]]:
    """A line of the list for each run."""
    return [_listed(run, now_ms) for run in runs]


def _listed(run: Run | tuple[str, Exception], now_ms: int) -> list[str]:
    if isinstance(run, tuple):
        return [run[0], Styled("unreadable", "red"), "", "", "", str(run[1])]
    ended = [e for e in run["nodes"].values() if e.get("state", "open") != "open"]
    steps = f"{len(ended)} ended, {len(run['open'])} open"
    begun = f"{span(max(0, now_ms - run['createdAt']) / 1000)} ago"
    return [
        run["run"], coloured(run["status"]), steps, begun, run["name"], run["why"],
    ]  # fmt: skip


def run_table(rows: list[list[str]], width: int | None) -> Iterator[Line]:
    """The list of runs."""
    return table(_RUNS, rows, width)


def coloured(word: str) -> str:
    """A state in its colour."""
    colour = _COLOURS.get(word.partition(" ")[0])
    return Styled(word, colour) if colour else word


def run_value(bridge: Bridge, seen: RunView) -> dict[str, Any]:
    """A run as JSON."""
    run = seen.run
    return {
        "run": run["run"],
        "flow": run["name"],
        "source": run["source"],
        "status": run["status"],
        "why": run["why"],
        "asked": run["asked"],
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
            }
            for step in steps_of(bridge, seen)
        ],
        "checkpoints": [f"{run_id}/{node}" for run_id, node in seen.checkpoints()],
    }


def which_run(bridge: Bridge, words: str) -> str:
    """The run that is meant: the beginning of an id names it, if it is the only one.

    Raises:
        InvalidRequest: several begin with it; lists them.
    """
    folder = bridge.store.place.state / "runs"
    known = [file.parent.name for file in folder.glob("*/run.json")]
    found = [each for each in known if each.startswith(words)] if words else []
    if words in known or len(found) != 1:
        if len(found) > 1 and words not in known:
            raise InvalidRequest(
                f"run {words}: {len(found)} begin so: {', '.join(sorted(found)[:10])}"
            )
        return words
    return found[0]


def step_of(seen: RunView, words: str) -> str:
    """The step that is meant: by its number, its label or its agent, if it is the only.

    Raises:
        InvalidRequest: there is none, or there are several.
    """
    nodes = seen.plan["nodes"]
    if words in nodes:
        return words
    name = words.removeprefix("@").removeprefix("$")
    fits = [
        node for node, detail in seen.details["details"].items() if _fits(detail, name)
    ]
    if words.startswith("@"):
        fits = fits[:1]
    if len(fits) == 1:
        return fits[0]
    what = f"several: {', '.join(fits)}" if fits else "none"
    raise InvalidRequest(
        f"step {words!r}: {what}; see `hostbridge runs show {seen.run['run']}`"
    )


def _fits(detail: Detail, name: str) -> bool:
    return name in (detail.get("label"), detail.get("own"), detail.get("agent"))
