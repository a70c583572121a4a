"""Runs that share a lock: one that nobody called, and all below it.

Each is taken one step after the other, and each step is written before what it makes
due is done (`bridge.engine.effects`).
"""

from __future__ import annotations

import time
from collections import deque
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bridge.engine import by_hand
from bridge.engine.answers import Answers
from bridge.engine.budgets import Used
from bridge.engine.ends import Ends
from bridge.engine.kinds import LONG
from bridge.engine.long_steps import LongStep, headless_sign, is_claimed
from bridge.engine.run_clock import is_over, nodes_now, until_now
from bridge.engine.run_files import folder_of, read, read_details, read_plan, write
from bridge.engine.run_ids import LIVE, request_id
from bridge.engine.step import Step
from bridge.engine.waiting import is_at_work
from bridge.errors import BridgeError, InvalidRequest, StateUnavailable
from bridge.protocol.wording import one_line
from bridge.store import live_runs
from bridge.store.clock import uptime
from bridge.store.state import file_of
from bridge.store.switch import is_off

# How long tools are called before the rest is left to a process of its own.
_TOOLS_S = 5.0
_MOST_OF_NAME = 128

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.engine.asks import Definitions
    from bridge.engine.facts import Fact
    from bridge.engine.run import Command, Details, Entry, Linked, Run
    from bridge.routes import RouteName
    from bridge.store.directory import Folder
    from bridge.store.state import State
    from bridge.store.store import Store

    # What a person does with a run.
    Act = Callable[[Step], object]
    # What is done in the world for a run: with the id and the node that are due.
    Effect = Callable[["HeldRun", str, str], None]


class RunTree:
    """A run that nobody called, and all below it, under its lock.

    Attributes:
        effects: how what is due is done (`bridge.engine.effects`).
        next: runs that were told of something, still to be advanced.
        has_asked: whether a session could take something new.
        reached: the checkpoints that a session may ask its person about since now.
        long: what is to be done that takes long, and that nobody does.
        is_unfinished: whether tools are left to be called, for want of time.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        state: State,
        root: str,
        folders: ExitStack,
        effects: Mapping[str, Effect],
    ) -> None:
        self.store = store
        self.settings = settings
        self.state = state
        self.effects = effects
        self.next: deque[str] = deque()
        self.has_asked = False
        self.reached: set[str] = set()
        self.long: list[LongStep] = []
        self.is_unfinished = False
        self._until_s = time.monotonic() + _TOOLS_S
        self._folders = folders
        self._known: dict[str, HeldRun] = {}
        self._root_id = root

    def advance(self, run_id: str, act: Act | None) -> Run:
        """Advance a run, and whom it has told of that."""
        run, root = self.run(run_id), self.root
        if act and run is not root and root.run["status"] == "completed":
            raise InvalidRequest(f"run {self._root_id} has completed without it")
        run.advance(act)
        has_ended = root.run["status"] not in LIVE
        is_marked = has_ended or live_runs.is_marked(self.state, self._root_id)
        for called in [*root.run["called"]] if run is root else ():
            # Whoever has removed one mark may have removed more of them.
            if not is_marked or live_runs.is_marked(self.state, called):
                self.look(called)
        while self.next:
            self.look(self.next.popleft())
        for name, each in self._known.items():
            if each.run["status"] not in LIVE:
                live_runs.unmark(self.state, name)
            elif not live_runs.is_marked(self.state, name):
                live_runs.mark(self.state, name)
        return run.run

    def look(self, run_id: str, act: Act | None = None) -> None:
        """Advance another run; one that cannot be is left for its user to see."""
        try:
            self.run(run_id).advance(act)
        except StateUnavailable:
            raise
        except BridgeError:
            pass

    def run(self, run_id: str) -> HeldRun:
        """A run, read once."""
        if run_id not in self._known:
            folder = self._folders.enter_context(folder_of(self.state, run_id))
            self._known[run_id] = HeldRun(self, folder, run_id)
        return self._known[run_id]

    @property
    def root(self) -> HeldRun:
        """The run that nobody called."""
        return self.run(self._root_id)

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of the agents that are asked."""
        from bridge.engine.asks import Definitions

        return Definitions(self.settings, self.store.place.project)

    def note_asked(self) -> None:
        """Note that a session could take something new."""
        self.has_asked = True

    def is_late(self) -> bool:
        """Whether calling tools has taken as long as a hook may take."""
        return time.monotonic() >= self._until_s

    def used_by_others(self, run: Run) -> Used:
        """What the budgets of a run have to do with besides what it has asked."""
        root = self.root.run
        asked = {root["run"]: root["asked"], **root["called"]}
        tokens = 0
        if root["tokens"] is not None:
            tokens = sum(live_runs.tokens_of(self.state, each) for each in asked)
        asked.pop(run["run"], None)
        return Used(sum(asked.values()), tokens)

    def is_off(self) -> bool:
        """Whether nobody is to be asked."""
        return (
            self.root.run["status"] != "running"
            or self.settings.off
            or is_off(self.store)
        )


class HeldRun:
    """A run whose lock is held."""

    def __init__(self, tree: RunTree, folder: Folder, run_id: str) -> None:
        self.tree = tree
        self.folder = folder
        self.run = read(folder, run_id, tree.state.key())
        self.answers = Answers(tree.state, self.run)
        self.ends = Ends(self.answers)
        self.answers.have_back = partial(tree.effects["recall"], self)
        # What could not be asked at all.
        self.refused: dict[str, Fact] = {}
        self.is_unwritten = False

    @cached_property
    def plan(self) -> Linked:
        """The part of the plan that each step reads."""
        return read_plan(self.folder, self.run)

    @cached_property
    def details(self) -> Details:
        """The part of the plan that is only read to ask."""
        return read_details(self.folder, self.run)

    def find_definition(self, agent: str, route: RouteName) -> Definition | None:
        """The definition of an agent that the run asks, as a route needs it."""
        return self.tree.definitions.find(self.folder, self.plan, agent, route)

    def advance(self, act: Act | None) -> None:
        """Take the run as far as it goes now.

        Raises:
            StateUnavailable: some of what is due could not be done, and stays due.
                Neither its time nor what a person does with it waits for that.
        """
        has_acted = act is not None
        try:
            unavailable = self._try_due()
            while self._step(act):
                act = None
                if self.is_unwritten and self.tree.is_late():
                    self.tree.is_unfinished = True
                    break
                unavailable = self._try_due()
        finally:
            # What tools have done since the last writing leads to the same again.
            if self.is_unwritten:
                self.write(self.run)
        self._find_long()
        if unavailable and not has_acted:
            raise unavailable

    def _step(self, act: Act | None) -> bool:
        """Take a step, and write it; False if nothing has changed."""
        run, now_ms = self.bounded(), self.tree.state.now_ms()
        self.answers.follow(run)
        is_running = run["status"] == "running"
        facts = {**self.refused} if is_running else {}
        if is_running and self.ends.is_any():
            facts = {**self.ends.facts(self.plan), **facts}
        is_late = is_running and is_over(run, now_ms, facts)
        if not (act or facts or is_late or (is_running and run["look"])):
            return False
        used = self.tree.used_by_others(run)
        run |= {"at": now_ms, "uptime": uptime(self.tree.state.clock).to_data()}
        made = Step(self.plan, run, self.answers.truth, used, self.answers.evaluated)
        # Conditions are about the run as it becomes.
        self.answers.follow(made.run)
        if act is not None:
            act(made)
            # What a person said is a fact, too.
            facts = {**self.ends.facts(self.plan), **facts}
        if made.run["status"] == "running":
            made.hear(facts)
            if is_late:
                made.halt("failed", "its time is over (--timeout)")
            made.lead_on()
        self.refused = {}
        if act is None and _leads_only_to_tools(made.run, run):
            # A tool's call has a key: what it did is found out again by that.
            self.run, self.is_unwritten = made.run, True
        else:
            # What a person has done cannot be found out again.
            self.write(made.run, durable=act is not None)
        self.tree.reached |= self._questions(made.run) - self._questions(run)
        return True

    def _questions(self, run: Run) -> set[str]:
        """The checkpoints that a session may ask its person about."""
        if run["status"] != "running":
            return set()
        names = by_hand.checkpoints(self.plan["nodes"], run)
        return {request_id(run, name) for name in names}

    def bounded(self) -> Run:
        """The run, within what holds for all runs of the tree."""
        root, state = self.tree.root.run, self.tree.state
        bounds: dict[str, Any] = {
            "agents": root["agents"],
            "tokens": root["tokens"],
            "until": until_now(root, state),
            "policy": root["policy"],
            "nodes": nodes_now(self.run, state),
        }
        return {**self.run, **bounds}  # type: ignore[typeddict-item]

    def write(self, run: Run, *, durable: bool = False) -> None:
        """Write how far the run is."""
        state, before = self.tree.state, self.run
        if run["status"] in LIVE and before["status"] not in LIVE:
            live_runs.mark(state, run["run"])
        if run["asked"] != before["asked"] and self is not self.tree.root:
            self.count(run["run"], run["asked"])
        write(self.folder, run, state.key(), durable=durable)
        if run["status"] != before["status"]:
            event, why = f"run {run['status']}", run["why"] or None
            state.note(event, run["run"], why=why, **self._facts_of_end(run))
        self.run, self.is_unwritten = run, False
        self.answers.follow(run)

    def _facts_of_end(self, run: Run) -> dict[str, Any]:
        """What the journal says of a run that has ended, for metrics."""
        if run["status"] in LIVE:
            return {}
        state = self.tree.state
        return {
            "flow": one_line(run["name"], _MOST_OF_NAME) or None,
            "durationMs": max(0, state.now_ms() - run["createdAt"]),
            "agents": run["asked"],
            "tokens": live_runs.tokens_of(state, run["run"]) or None,
        }

    def count(self, called: str, asked: int) -> None:
        """Note a called run, and how many agents it has asked, before it is so."""
        root = self.tree.root
        counts = {**root.run["called"], called: asked}
        root.write({**root.run, "rev": root.run["rev"] + 1, "called": counts})

    def _try_due(self) -> StateUnavailable | None:
        """Do what is due; what kept it from being done, if anything did."""
        try:
            self._do_due()
        except StateUnavailable as exc:
            return exc
        return None

    def _do_due(self) -> None:
        """Do what is due. What cannot be done now stays due."""
        run = self.run
        dropped = {id_ for act, id_, _ in run["due"] if act == "cancel"}
        may_ask = run["status"] == "running" and not self.tree.is_off()
        left: list[Command] = []
        for command in run["due"]:
            act, id_, node = command
            if act in ("ask", "call") and (id_ in dropped or run["status"] not in LIVE):
                continue
            if act in ("ask", "call") and not may_ask:
                left.append(command)
                continue
            self.tree.effects[act](self, id_, node)
        # While it was done, agents of a called run may have been counted.
        self.run = {**self.run, "due": left}
        for name in run["open"] if may_ask else ():
            if run["nodes"][name].get("kind") == "tool":
                self.tree.effects["tool"](self, request_id(run, name), name)

    def _find_long(self) -> None:
        """What is open that takes long, and that nobody does."""
        run = self.run
        if run["status"] != "running" or self.tree.is_off():
            return
        at_work = (n for n, entry in run["nodes"].items() if is_at_work(entry))
        for name in (*run["open"], *at_work):
            entry, asked = run["nodes"][name], request_id(run, name)
            if self._is_to_be_done(entry, asked) and not is_claimed(self.folder, asked):
                self.tree.long.append(LongStep(run["run"], name, asked))

    def _is_to_be_done(self, entry: Entry, asked: str) -> bool:
        """Whether a step takes long, and has not ended."""
        kind = entry.get("kind")
        if kind in LONG:
            return self.answers.result(asked) is None
        if kind != "agent" and not is_at_work(entry):
            return False
        is_waiting = self.tree.state["requests"].has(file_of(asked))
        return is_waiting and self.folder.has(headless_sign(asked))


def _leads_only_to_tools(run: Run, before: Run) -> bool:
    """Whether a step has made nothing due, but calls of tools."""
    if run["due"] or run["status"] != before["status"]:
        return False
    new = [name for name in run["open"] if name not in before["open"]]
    return bool(new) and all(run["nodes"][each].get("kind") == "tool" for each in new)
