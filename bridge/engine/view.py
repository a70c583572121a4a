"""Runs to look at: what each step is, how far it is, and what it waits for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.engine.answers import Answers
from bridge.engine.asks import Texts
from bridge.engine.run_files import folder_of, read, read_details, read_plan
from bridge.engine.run_ids import LIVE, STARTED, child_id, request_id
from bridge.engine.waiting import is_at_work
from bridge.errors import BridgeError
from bridge.store.live_runs import FILE, RUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.engine.run import Details, Entry, Linked, LinkedNode, Run
    from bridge.flow.details import Detail
    from bridge.store.state import State
    from bridge.store.store import Store


def asked_of(run: Run) -> int:
    """How many agents a run has asked, and those that it called."""
    return run["asked"] + sum(run["called"].values())


_BOUNDS = ("--max-agents", "--max-tokens", "--timeout")


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, its plan, and the runs that it has called, by its nodes.

    `background` are the nodes whose agents have not answered, though their steps have
    ended, and what they were asked.
    """

    run: Run
    plan: Linked
    details: Details
    children: dict[str, RunView]
    background: tuple[tuple[str, str], ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.run["status"] in LIVE

    def ended(self) -> tuple[int, int]:
        """How many steps have ended, and how many there are."""
        steps = [entry for _, node, _, entry in self.steps() if node["kind"] != "pass"]
        left = ("open", "cancelled")
        return sum(e.get("state", "open") not in left for e in steps), len(steps)

    def runs(self) -> Iterator[Run]:
        """The run, and all below it."""
        return (each.run for each in self.views())

    def views(self) -> Iterator[RunView]:
        """This, and those of all runs below it."""
        yield self
        for child in self.children.values():
            yield from child.views()

    def kind(self, node: str) -> str:
        """What kind of step it is."""
        return self.plan["nodes"][node]["kind"]

    def open_requests(self) -> Iterator[tuple[str, str]]:
        """The node and the request of each agent that was asked, called flows' too."""
        for node in self.run["open"]:
            if self.kind(node) == "agent":
                if "waits" not in self.run["nodes"][node]:
                    yield node, request_id(self.run, node)
            elif node in self.children:
                yield from self.children[node].open_requests()
        yield from self.background

    def requests(self) -> Iterator[str]:
        """The last request of each agent that was asked, called flows' too."""
        for name, node, _, entry in self.steps():
            if node["kind"] == "agent" and "attempt" in entry:
                yield request_id(self.run, name)
            elif name in self.children:
                yield from self.children[name].requests()

    def checkpoints(self) -> Iterator[tuple[str, str, str]]:
        """The run, the node and this visit's id of each that waits for a person."""
        for node in self.run["open"]:
            asked = request_id(self.run, node)
            is_asked = (
                self.kind(node) == "approval" or "waits" in self.run["nodes"][node]
            )
            if is_asked and asked not in self.run["said"]:
                yield self.run["run"], node, asked
            elif node in self.children:
                yield from self.children[node].checkpoints()

    def steps(self) -> Iterator[tuple[str, LinkedNode, Detail, Entry]]:
        """Every node in written order, and what the run knows of it."""
        for name, node in self.plan["nodes"].items():
            detail = self.details["details"].get(name, {})
            yield name, node, detail, self.run["nodes"].get(name, {})


def view(store: Store, run_id: str, before: RunView | None = None) -> RunView:
    """A run as it is now; raises as `run_files.read`.

    `before` is what was seen of it earlier: its plan is not read again.
    """
    with store.state() as state:
        return view_in(state, run_id, before)


def view_in(state: State, run_id: str, before: RunView | None = None) -> RunView:
    """As `view`, in an open state."""
    with folder_of(state, run_id) as folder:
        run = read(folder, run_id, state.key())
        if before is not None and before.run["run"] == run_id:
            plan, details = before.plan, before.details
        else:
            plan, details = read_plan(folder, run), read_details(folder, run)
    children = {}
    for name, entry in run["nodes"].items():
        if plan["nodes"][name]["kind"] == "call" and "attempt" in entry:
            known = before.children.get(name) if before else None
            with suppress(BridgeError):
                child = child_id(request_id(run, name))
                children[name] = view_in(state, child, known)
    return RunView(run, plan, details, children, (*_background(state, run),))


def _background(state: State, run: Run) -> Iterator[tuple[str, str]]:
    kinds = set()
    for name, entry in run["nodes"].items():
        kinds.add(entry.get("kind"))
        if is_at_work(entry):
            asked = request_id(run, name)
            if not state["responses"].has(f"{asked}.json"):
                yield name, asked
    if "tool" in kinds:
        begins = f"{run['run']}-{STARTED}"
        for folder in ("requests", "processing"):
            for asked in state[folder].names():
                if asked.startswith(begins):
                    yield STARTED, asked


def all_runs(store: Store) -> Iterator[Run | tuple[str, BridgeError]]:
    """The runs that nobody called, the newest first; of a bad one its id and why."""
    if not store.exists():
        return
    with store.state() as state:
        # The logs of requests lie beside the runs.
        folders = (e.name for e in state[RUNS].entries() if e.is_dir())
        names = [each for each in folders if each.startswith("r")]
        for name in sorted(names, reverse=True):
            if not state[RUNS].has(f"{name}/{FILE}"):
                continue
            try:
                with folder_of(state, name) as folder:
                    yield read(folder, name, state.key())
            except BridgeError as error:
                yield name, error


def question(store: Store, run_id: str, node: str) -> str:
    """What a checkpoint asks a person."""
    with store.state() as state:
        return question_in(state, view_in(state, run_id), node)


def question_in(state: State, seen: RunView, node: str) -> str:
    """As `question`, in an open state."""
    return Texts(seen.run, seen.details, Answers(state, seen.run)).question(node)


def resume_command(run: Run) -> str:
    """What goes on with a run that has stopped, and raises a bound that is used up."""
    more = [f" {bound} MORE" for bound in _BOUNDS if f"({bound})" in run["why"]]
    return f"hostbridge run --resume {run['run']}{''.join(more)}"
