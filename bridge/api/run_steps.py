"""The steps of a run as people follow them: how far each is, for how long, and why."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from bridge.api.hosts import Hosts
from bridge.api.upkeep import stage_of
from bridge.engine.answers import Answers
from bridge.engine.facts import fact_of
from bridge.engine.reasons import Reasons
from bridge.engine.run_ids import request_id
from bridge.engine.waiting import awaited
from bridge.flow.drawing import shown_as
from bridge.protocol.ids import RequestId
from bridge.protocol.retries import pause_words
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config import Settings
    from bridge.engine.run import Entry, LinkedNode, Time
    from bridge.engine.view import RunView
    from bridge.store import Found
    from bridge.store.store import Store

_YOU = "waits for you"


class Try(NamedTuple):
    """One time that a step was asked; `says` is how that ended."""

    visit: int
    attempt: int
    says: str
    took_s: float | None
    request_id: str


class StepSeen(NamedTuple):
    """A step of a run.

    Attributes:
        node: its id; of a called flow's steps, after that of the call.
        what: what it does, in a line, moved in as the flow is.
        state: what the run knows: open, ok, failed, skipped …; empty before it is
            reached.
        says: the same as a person reads it, and what it waits for.
        took_s: how long it took, or has taken so far, in seconds.
        request_id: what it asked last, if it is an agent.
        why: why it is so: an error, the values that a condition saw, what was said.
        tries: each time that it was asked, if that was more than once.
    """

    node: str
    what: str
    state: str
    says: str
    took_s: float | None
    request_id: str | None
    why: str
    tries: list[Try]


def steps_of(
    store: Store,
    settings: Settings,
    seen: RunView,
    *,
    only_open: bool = False,
    whole: bool = True,
) -> Iterator[StepSeen]:
    """Every step that does something, in written order; those of called flows below.

    With `only_open` those that run, wait, or have an agent at work; unless `whole`,
    without reasons and tries.
    """
    with store.state() as state:
        reasons = Reasons(state, seen) if whole else None
        looked = _Looked(store, settings, seen, reasons)
        answers = Answers(state, seen.run)
        at_work = dict(seen.background)
        for name, node, detail, entry in seen.steps():
            if only_open and entry.get("state") != "open" and name not in at_work:
                continue
            if what := shown_as(node, answers.shown(detail, entry)):
                yield looked.step(name, node, entry, str(what))
            if child := seen.children.get(name):
                below = steps_of(
                    store, settings, child, only_open=only_open, whole=whole
                )
                for each in below:
                    yield each._replace(
                        node=f"{name}/{each.node}", what=f"   {each.what}"
                    )


class _Looked(NamedTuple):
    """A run that is looked at."""

    store: Store
    settings: Settings
    seen: RunView
    reasons: Reasons | None

    def step(self, name: str, node: LinkedNode, entry: Entry, what: str) -> StepSeen:
        is_agent = node["kind"] == "agent" and "attempt" in entry
        asked = request_id(self.seen.run, name) if is_agent else None
        found = self.store.find(RequestId(asked)) if asked else None
        says = self._says(name, node, entry, found)
        if "state" in entry and "back" not in node and (again := _ordinal(entry)):
            says = f"{says} ({again})".strip()
        took_s = _took_s(found)
        is_at_work = name in dict(self.seen.background)
        if took_s is None and (is_at_work or entry.get("state") == "open"):
            took_s = max(0, self.store.now_ms() - entry.get("at", 0)) / 1000
        return StepSeen(
            name,
            what,
            entry.get("state", ""),
            says,
            took_s,
            asked,
            self.reasons.of(name) if self.reasons else "",
            self._tries(name, entry) if is_agent and self.reasons else [],
        )

    def _tries(self, name: str, entry: Entry) -> list[Try]:
        """Each time that an agent was asked, if more than once, as far as kept."""
        tries: list[Try] = []
        visits = entry.get("visit", 1)
        if visits == entry.get("attempt", 1) == 1:
            return tries
        for visit in range(1, visits + 1):
            for attempt in count(1):
                asked = f"{self.seen.run['run']}-{name}-{visit}-{attempt}"
                found = self.store.find(RequestId(asked))
                if found is None:
                    break
                says = fact_of(found.response)[0] if found.response else "open"
                tries.append(Try(visit, attempt, says, _took_s(found), asked))
        return tries if len(tries) > 1 else []

    def _says(
        self, name: str, node: LinkedNode, entry: Entry, found: Found | None
    ) -> str:
        """The state of a step in a word or two; of a guard which way it went."""
        state = entry.get("state", "")
        shows = self.seen.details["details"].get(name, {}).get("shows")
        for back in node.get("back", ()) if node["kind"] == "pass" else ():
            if taken := self.seen.run["loops"].get(f"{name}>{back['to']}"):
                return f"{taken} of {back['max']}"
        if not state and self.seen.is_live:
            first, *more = [*self._before(name)] or [""]
            return (
                f"after {first}" + (f" +{len(more)}" if more else "") if first else ""
            )
        if state == "open":
            return self._open(node, entry, found)
        if name in dict(self.seen.background):
            return f"background: {self._stage(found)}"
        if state == "passed" and node["kind"] != "pass":
            return "left out"
        if state == "passed" and shows == "condition":
            return "no" if node["to"][0][0] in entry.get("dead", ()) else "yes"
        if state == "passed":
            return "" if shows == "label" else "done"
        return "failed" if state == "stopped" else state

    def _open(self, node: LinkedNode, entry: Entry, found: Found | None) -> str:
        """What an open step does, or waits for."""
        kind = node["kind"]
        if kind == "approval" or "waits" in entry:
            return _YOU + self._left("deadline", entry)
        if kind == "agent":
            return self._stage(found)
        if kind != "wait":
            return "running"
        names = awaited(node)
        what = f"waits for {', '.join(names)}" if names else "waits"
        ends: list[Time] = ["until", "moment", "deadline"]
        return what + self._left(next((e for e in ends if e in entry), ends[-1]), entry)

    def _left(self, which: Time, entry: Entry) -> str:
        """How long a step may wait."""
        if which not in entry:
            return ""
        left_s = max(0, entry[which] - self.store.now_ms()) // 1000
        return f", {left_s} s left"

    def _before(self, name: str) -> Iterator[str]:
        """The steps that a step waits for; what only joins them does not count."""
        known, nodes = self.seen.run["nodes"], self.seen.plan["nodes"]
        left = [name]
        for each in left:
            for source in nodes[each]["in"]:
                if known.get(source, {}).get("state", "open") != "open":
                    continue
                if nodes[source]["kind"] != "pass":
                    yield source
                elif source not in left:
                    left.append(source)

    def _stage(self, found: Found | None) -> str:
        if found is None or found.request is None:
            return Stage.WAITING.words
        request, store = found.request, self.store
        if request.held is not None:
            return "held: needs your yes"
        stage = stage_of(store, found)
        if pause := pause_words(request, store.now_ms()):
            return pause
        if stage is Stage.WAITING and request.route == "host":
            why = Hosts(store, self.settings).why_waiting(request)
            return why.why if why else stage.words
        return stage.words


def _took_s(found: Found | None) -> float | None:
    return found.response.duration / 1000 if found and found.response else None


def _ordinal(entry: Entry) -> str:
    visit, attempt = entry.get("visit", 1), entry.get("attempt", 1)
    parts = [f"round {visit}"] if visit > 1 else []
    parts += [f"attempt {attempt}"] if attempt > 1 else []
    return ", ".join(parts)
