"""Runs that share a lock: one that nobody called, and all below it.

Each is taken one step after the other, and each step is written before what it makes
due is done.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from bridge.engine import by_hand
from bridge.engine.answers import Answers
from bridge.engine.run_files import folder_of, read, read_details, read_plan, write
from bridge.engine.run_ids import LIVE, request_id
from bridge.engine.step import Step, Used
from bridge.errors import BridgeError, InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Uptime
from bridge.protocol.response import failed
from bridge.store import live_runs
from bridge.store.clock import uptime
from bridge.store.queries import find_unfinished
from bridge.store.responses import publish
from bridge.store.state import file_of
from bridge.store.submit import FOLDERS_OF_IDS, submit
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import ExitStack

    from bridge.config import Settings
    from bridge.engine.asks import Definitions
    from bridge.engine.run import Command, Details, Linked, Run
    from bridge.engine.step import Fact
    from bridge.store.directory import Folder
    from bridge.store.state import State
    from bridge.store.store import Store

    # What a person does with a run.
    Act = Callable[[Step], object]


class Family:
    """A run that nobody called, and all below it, under its lock.

    Attributes:
        next: runs that were told of something, still to be advanced.
        has_asked: whether a session could take something new.
        reached: the checkpoints that a session may ask its person about since now.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        state: State,
        root: str,
        folders: ExitStack,
    ) -> None:
        self.store = store
        self.settings = settings
        self.state = state
        self.next: deque[str] = deque()
        self.has_asked = False
        self.reached: set[str] = set()
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
            # Who has removed one mark may have removed more of them.
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

    def __init__(self, family: Family, folder: Folder, run_id: str) -> None:
        self.family = family
        self.folder = folder
        self.run = read(folder, run_id, family.state.key())
        self.answers = Answers(family.state, self.run)
        # What could not be asked at all.
        self.refused: dict[str, Fact] = {}

    @cached_property
    def plan(self) -> Linked:
        """The part of the plan that each step reads."""
        return read_plan(self.folder, self.run)

    @cached_property
    def details(self) -> Details:
        """The part of the plan that is only read to ask."""
        return read_details(self.folder, self.run)

    def advance(self, act: Act | None) -> None:
        """Take the run as far as it goes now."""
        self._do_due()
        while self._step(act):
            act = None
            self._do_due()

    def _step(self, act: Act | None) -> bool:
        """Take a step, and write it; False if nothing has changed."""
        run, now_ms = self._bounded(), self.family.state.now_ms()
        is_running = run["status"] == "running"
        facts = {**self.refused} if is_running else {}
        if is_running and self.answers.is_any():
            facts = {**self.answers.facts(self.plan), **facts}
        is_late = is_running and now_ms >= (run["until"] or now_ms + 1)
        if not (act or facts or is_late or (is_running and run["look"])):
            return False
        used = self.family.used_by_others(run)
        run |= {"at": now_ms, "uptime": uptime(self.family.state.clock).to_data()}
        made = Step(self.plan, run, self.answers.truth, used)
        if act is not None:
            act(made)
            # What a person said is a fact, too.
            self.answers.follow(made.run)
            facts = {**self.answers.facts(self.plan), **facts}
        if made.run["status"] == "running":
            made.hear(facts)
            if is_late:
                made.halt("failed", "its time is over (--timeout)")
            made.lead_on()
        self.refused = {}
        # What a person has done cannot be found out again.
        self.write(made.run, durable=act is not None)
        self.family.reached |= self._questions(made.run) - self._questions(run)
        return True

    def _questions(self, run: Run) -> set[str]:
        """The checkpoints that a session may ask its person about."""
        if run["status"] != "running":
            return set()
        names = by_hand.checkpoints(self.plan, run["open"])
        return {request_id(run, name) for name in names}

    def _bounded(self) -> Run:
        """The run, within what holds for all runs of the family."""
        root = self.family.root.run
        return {
            **self.run,
            "agents": root["agents"],
            "tokens": root["tokens"],
            "until": _until(root, self.family.state),
            "policy": root["policy"],
        }

    def write(self, run: Run, *, durable: bool = False) -> None:
        """Write how far the run is."""
        state, before = self.family.state, self.run
        if run["status"] in LIVE and before["status"] not in LIVE:
            live_runs.mark(state, run["run"])
        if run["asked"] != before["asked"] and self is not self.family.root:
            self._count(run["run"], run["asked"])
        write(self.folder, run, state.key(), durable=durable)
        if run["status"] != before["status"]:
            state.note(f"run {run['status']}", run["run"], why=run["why"] or None)
        self.run = run
        self.answers.follow(run)

    def _count(self, called: str, asked: int) -> None:
        """Note a called run, and how many agents it has asked, before it is so."""
        root = self.family.root
        counts = {**root.run["called"], called: asked}
        root.write({**root.run, "rev": root.run["rev"] + 1, "called": counts})

    def _do_due(self) -> None:
        """Do what is due. What cannot be done now stays due."""
        run = self.run
        dropped = {id_ for act, id_, _ in run["due"] if act == "cancel"}
        may_ask = run["status"] == "running" and not self.family.is_off()
        left: list[Command] = []
        for command in run["due"]:
            act, id_, node = command
            if act in ("ask", "call") and (id_ in dropped or run["status"] not in LIVE):
                continue
            if act in ("ask", "call") and not may_ask:
                left.append(command)
                continue
            DEEDS[act](self, id_, node)
        # While it was done, agents of a called run may have been counted.
        self.run = {**self.run, "due": left}

    def ask(self, asked: str, node: str) -> None:
        """Submit the request of a node, unless that was done."""
        family, state = self.family, self.family.state
        if any(state[folder].has(file_of(asked)) for folder in FOLDERS_OF_IDS):
            return
        from bridge.engine.asks import Texts, request_of

        with self._refusing(asked):
            request = request_of(
                family.store,
                partial(family.definitions.find, self.folder, self.plan),
                Texts(self._bounded(), self.details, self.answers),
                node=node,
                request_id=asked,
                is_retried="retry" in self.plan["nodes"][node],
            )
            submit(state, request, fan_out=self.run["fanOut"])
            family.has_asked |= request.route == "host"

    def call(self, child: str, node: str) -> None:
        """See that a called run is there, and goes on if its caller was resumed."""
        from bridge.engine.asks import Texts
        from bridge.engine.begin import begin_child

        family, resumed = self.family, self.run["resumed"]
        with self._refusing(request_id(self.run, node)):
            texts = Texts(self.run, self.details, self.answers)
            begin_child(family.state, texts, node=node, child=child)
            if child not in family.root.run["called"]:
                self._count(child, 0)
            called = family.run(child)
            is_behind = called.run["resumed"] < resumed
            called.advance(
                partial(by_hand.go_on, resumed=resumed) if is_behind else None
            )

    @contextmanager
    def _refusing(self, asked: str) -> Iterator[None]:
        """What cannot be asked at all is a fact of the run."""
        try:
            yield
        except StateUnavailable:
            raise
        except (BridgeError, ValueError) as exc:
            self.refused[asked] = ("error", f"{exc}")

    def cancel(self, id_: str, _node: str) -> None:
        """End a request, or a called run."""
        state = self.family.state
        if "-" not in id_:
            self.family.look(id_, by_hand.cancel)
        elif request := find_unfinished(state, RequestId(id_)):
            why = "the flow that asked goes on without it"
            response = failed(request, "cancelled", why, now_ms=state.now_ms())
            publish(state, response, source="flow")

    def tell(self, _id: str, _node: str) -> None:
        """Have the run that called this one look at it."""
        if self.run["parent"]:
            self.family.next.append(self.run["parent"][0])


def _until(run: Run, state: State) -> int | None:
    """When a run has to end, on the wall clock as it is now."""
    until, then = run["until"], run["uptime"]
    if until is None or then is None:
        return until
    now = uptime(state.clock)
    return until + Uptime.model_validate(then).set_since(run["at"], state.now_ms(), now)


# What is done for what a run says is due.
DEEDS: Mapping[str, Callable[[HeldRun, str, str], None]] = {
    "ask": HeldRun.ask,
    "call": HeldRun.call,
    "cancel": HeldRun.cancel,
    "tell": HeldRun.tell,
}
