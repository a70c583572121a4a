"""One step of a run: what has ended leads on to what runs next. Pure.

    step(plan, run, facts, truth) -> run

Dead-path elimination: each edge carries a live or a dead token once its source has
ended. A node whose edges all have one is decided: any live one runs it, all dead ones
skip it, and it passes dead ones on. What is to be done in the world is in `run["due"]`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.engine.budgets import Used, spent
from bridge.engine.draft import RunDraft
from bridge.engine.facts import is_persons
from bridge.engine.kinds import DONE_HERE, KINDS
from bridge.engine.run_ids import OUT, node_of, request_id
from bridge.engine.waiting import awaited, ends_by, is_at_work
from bridge.policy.condition import ConditionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.facts import Fact
    from bridge.engine.run import Entry, Linked, LinkedNode, Run, State
    from bridge.flow.details import Template
    from bridge.flow.plan import Back, Code

    # Whether a condition holds for steps that ended so with these requests, and for
    # these variables.
    Truth = Callable[[Code, list[tuple[State, str]], Mapping[str, str]], bool]
    # The value of a template.
    Value = Callable[[Template], Any]

_CAUGHT: Mapping[str, tuple[str, ...]] = {
    "": ("ok",), "failed": ("ok", "failed"), "any": ("ok", "failed", "error"),
}  # fmt: skip
_STILL_OPEN = ("paused", "asks")
# What an attempt does not have from the one before.
_OF_ONE_ATTEMPT = ("why", "waits", "until", "deadline", "moment", "awaits")
# Jumps back between two questions: more lead nowhere, and loops in loops multiply them.
_MAX_IDLE_JUMPS = 1_000


def step(plan: Linked, run: Run, facts: Mapping[str, Fact], truth: Truth) -> Run:
    """The run after these facts, which are known by the ids of what was asked.

    A run that is not `running` stays as it is.
    """
    if run["status"] != "running":
        return run
    made = Step(plan, run, truth)
    made.hear(facts)
    made.lead_on()
    return made.run


class Step(RunDraft):
    """A run that is led on; `used` is what others have used of its budgets."""

    def __init__(
        self,
        plan: Linked,
        run: Run,
        truth: Truth,
        used: Used | None = None,
        value: Value = lambda code: code,
    ) -> None:
        super().__init__(plan, run)
        self.truth = truth
        self.value = value
        self.used = used or Used()
        self.jumps = 0
        self.whys: dict[str, str] = {}
        self.facts: Mapping[str, Fact] = {}

    # What has ended, and what follows

    def hear(self, facts: Mapping[str, Fact]) -> None:
        """Note all that has ended, before anything follows from it."""
        self.facts = facts
        if self.goes_on:
            self._ask_in_background()
        asked = {name: request_id(self.run, name) for name in self.run["open"]}
        heard = {name: facts[id_] for name, id_ in asked.items() if id_ in facts}
        paused = {name for name, (how, _) in heard.items() if how in _STILL_OPEN}
        # First of all, so that a failure cancels only what has not ended.
        self.run["open"] = [n for n in asked if n not in heard or n in paused]
        for name, fact in heard.items():
            # Unless another's end has begun it anew, or stopped the run.
            if name in paused and self.run["status"] != "running":
                continue
            if asked[name] == request_id(self.run, name):
                self._or_stop(name, partial(self._hear, fact=fact))

    def _hear(self, name: str, fact: Fact) -> None:
        node = self.nodes[name]
        how, why = fact
        if how == "asks":
            self._has_asked(node_of(why) or name)
            return
        self.whys[name] = why
        if causes := self._causes(name, how):
            self._hear_causes(name, how, causes)
            return
        self._withdraw(awaited(node))
        if how == "paused":
            self.halt("paused", f"{name}: {why}")
        elif how == "answered" or (how != "ok" and self._may_retry(name)):
            self._ask_again(name)
        elif how in _CAUGHT[node.get("caught", "")] or self._may_skip(node, why):
            self.end(name, how)
        else:
            self.stop(name, why)

    # Agents in the background

    def _causes(self, name: str, how: str) -> dict[str, str]:
        """The steps whose agents a wait has waited for in vain, and why."""
        found = {}
        for each in awaited(self.nodes[name]) if how in ("failed", "error") else ():
            ended, why = self._end_of(each)
            if ended in ("failed", "error"):
                found[each] = why
        return found

    def _end_of(self, name: str) -> Fact:
        """How the agent of a step in the background has ended; ok if it has not."""
        is_there = is_at_work(self.known.get(name, {}))
        return self.facts.get(self.asked(name), ("ok", "")) if is_there else ("ok", "")

    def _hear_causes(self, name: str, how: str, causes: dict[str, str]) -> None:
        """Agents that a wait waits for have failed: that is theirs, not the wait's."""
        node = self.nodes[name]
        if again := [*filter(self._may_retry, causes)]:
            self.run["open"].append(name)
            for each in again:
                self._ask_again(each)
            if self.run["status"] != "running":
                self._leave_wait(name)
            return
        self._withdraw(awaited(node))
        is_caught = how in _CAUGHT[node.get("caught", "")]
        if is_caught or all(map(partial(self._goes_on, name), causes)):
            self.end(name, "failed" if how == "failed" else "error")
            return
        self._leave_wait(name)
        for each, why in causes.items():
            self.stop(each, why)

    def _leave_wait(self, name: str) -> None:
        """Have a wait begin anew with the agents that it waits for."""
        self.run["open"] = [each for each in self.run["open"] if each != name]
        self.known[name] = {**self.known[name], "state": "cancelled"}

    def _goes_on(self, name: str, cause: str) -> bool:
        """Whether the run goes on though the agent that a wait waits for has failed."""
        why = self._end_of(cause)[1]
        return any(self._may_skip(self.nodes[each], why) for each in (name, cause))

    def _may_retry(self, name: str) -> bool:
        entry = self.known[name]
        tries = entry.get("attempt", 1) - entry.get("questions", 0)
        return tries <= self.nodes[name].get("retry", 0)

    def _ask_again(self, name: str) -> None:
        before = self.asked(name)
        self.ask(name)
        self._await_instead(before, self.asked(name))

    def _ask_in_background(self) -> None:
        """Ask those again that have failed since, or were cancelled with the run.

        Not where a wait has let the run go on in spite of that.
        """
        waits = [(each, *awaited(self.nodes[each])) for each in self.nodes]
        heard = {
            name
            for wait, *names in waits
            if self.known.get(wait, {}).get("state") in ("ok", "failed", "error")
            for name in names
        }
        for name in [*self.known]:
            if name not in heard and self._end_of(name)[0] in ("failed", "error"):
                self._or_stop(name, self._ask_again)

    def _has_asked(self, name: str) -> None:
        """An agent asks its person something, and is open until there is an answer."""
        entry = self.known[name]
        if "waits" in entry:
            return
        asked = entry.get("questions", 0) + 1
        self.known[name] = {**entry, "waits": True, "questions": asked, "state": "open"}
        if name not in self.run["open"]:
            # It runs in the background: whoever waits for it has heard.
            self.run["open"].append(name)

    def _withdraw(self, names: list[str]) -> None:
        """Ask no person any more for agents that nobody waits for now."""
        for name in names:
            if "waits" in (entry := self.known.get(name, {})):
                self.known[name] = {**entry, "state": "ok"}
                self.known[name].pop("waits")
                self.run["open"].remove(name)

    def _await_instead(self, before: str, now: str) -> None:
        """Have those wait for what an agent is asked now who waited for it."""
        for name in self.run["open"]:
            if before in (awaits := self.known[name].get("awaits", [])):
                changed = [now if each == before else each for each in awaits]
                self.known[name] = {**self.known[name], "awaits": changed}

    def _may_skip(self, node: LinkedNode, why: str) -> bool:
        """Whether the run goes on though a node has failed."""
        if on_failure := node.get("on_failure"):
            return on_failure == "skip"
        # Not even in a flow that it called: what follows may be what was refused.
        return self.run["policy"] == "skip" and not is_persons(why)

    def lead_on(self) -> None:
        """Decide nodes until what is left waits for others."""
        while self.queue and self.run["status"] == "running":
            self._or_stop(self.queue.popleft(), self.decide)
        if self.run["status"] == "running" and not self.run["open"]:
            self._complete()

    def _or_stop(self, name: str, act: Callable[[str], None]) -> None:
        """Do something with a node, whose conditions may be beyond deciding."""
        try:
            act(name)
        except ConditionError as error:
            at = self.nodes[name].get("at", "")
            where = f"{at}: " if at else ""
            self.stop(name, f"{where}a condition cannot be decided: {error.message}")

    def _complete(self) -> None:
        left = [name for name in self.nodes if "state" not in self.known.get(name, {})]
        if left:
            self.stop(left[0], "nothing leads to it")
            return
        out = [self.asked(name) for name in self.last_steps(OUT)]
        self.run |= {"status": "completed", "out": out}
        self.do("tell", self.run["run"], "")

    def decide(self, name: str) -> None:
        """Run or skip a node, unless it has to wait."""
        entry, node = self.known.get(name, {}), self.nodes[name]
        if "state" in entry:
            return
        tokens = [self.token(source, name) for source in node["in"]]
        is_live = True in tokens or not tokens or entry.get("forced", False)
        is_first = node.get("any", False) and True in tokens
        if None in tokens and not is_first and not entry.get("forced", False):
            return
        if not is_live:
            self.end(name, "skipped")
        elif not self._holds(node.get("if"), lambda: self.last_steps(name)):
            is_dead = node.get("skip", "dead") == "dead"
            self.end(name, "skipped" if is_dead else "passed")
        elif self._is_used_up_before(name) and not self._may_skip(node, ""):
            self.stop(name, self._used_up(node["last"]["jump"]))
        elif node["kind"] == "pass" or self._awaits_nobody(node):
            self.end(name, "passed")
        else:
            self.ask(name)
        if is_first:
            self.leave(source for source in node["in"] if self.is_idle(source))

    def _awaits_nobody(self, node: LinkedNode) -> bool:
        """Whether none of the steps that a node waits for has begun anything."""
        names = awaited(node)
        ends = [self.known.get(each, {}).get("state") for each in names]
        return bool(names) and not any(end in ("open", "ok") for end in ends)

    def ask(self, name: str) -> None:
        """Ask what a node is there for; not if the run has stopped meanwhile."""
        entry: Entry = {**self.known.get(name, {})}
        for key in _OF_ONE_ATTEMPT:
            entry.pop(key, None)  # type: ignore[misc]  # each is one of an entry's
        self.known[name] = entry
        run, node = self.run, self.nodes[name]
        kind = node["kind"]
        if run["status"] == "running" and (used_up := spent(run, kind, self.used)):
            self.halt("paused", used_up)
        if run["status"] != "running":
            entry["state"] = "cancelled"
            return
        entry |= {"state": "open", "at": run["at"]}
        entry["attempt"] = entry.get("attempt", 0) + 1
        run["open"].append(name)
        run["asked"] += kind == "agent"
        self._note(node, entry)
        if act := KINDS[kind]:
            self.do(act, self.asked(name), name)

    def _note(self, node: LinkedNode, entry: Entry) -> None:
        """Note what a step waits for, and until when."""
        kind = node["kind"]
        entry["kind"] = "background" if "background" in node else kind
        if kind in DONE_HERE:
            self.run["done"] = self.run.get("done", 0) + 1
        if kind == "wait":
            known = (each for each in awaited(node) if "attempt" in self.known[each])
            entry["awaits"] = [self.asked(each) for each in known]
        entry |= ends_by(node, self.run["at"], self.value)

    def end(self, name: str, state: State) -> None:
        """A node has ended: decide its edges, or jump back."""
        node = self.nodes[name]
        entry: Entry = {**self.known.get(name, {}), "state": state}
        entry.pop("dead", None)
        if state in ("failed", "error"):
            entry["why"] = self.whys.get(name, "")
        self.known[name] = entry
        if state in ("ok", "failed") and (var := node.get("var")):
            self.run["vars"][var] = self.asked(name)
        if state != "skipped" and "back" in node and self._jumps(name, node["back"]):
            return
        targets = node["to"]
        if state != "skipped":
            own = self._about(name, own=True)
            if "fail" in node and self._holds(node["fail"], own):
                why = self._used_up(name)
                if not (node.get("caught") or self._may_skip(node, why)):
                    self.stop(name, why)
                    return
                self.known[name] |= {"state": "failed", "why": why}
            dead = self._dead(name, targets)
            if dead:
                entry["dead"] = dead
        self.touch(target for target, _ in targets)

    def _dead(self, name: str, targets: list[tuple[str, Code | None]]) -> list[str]:
        """The targets that a node does not lead to."""
        live = {target for target, code in targets if code is None}
        asked = [each for each in targets if each[0] not in live]
        about = self._about(name)
        live |= {target for target, code in asked if self._holds(code, about)}
        return list(dict.fromkeys(each for each, _ in asked if each not in live))

    def _holds(self, code: Code | None, about: Callable[[], list[str]]) -> bool:
        if code is None or code is True:
            return True
        known, run = self.known, self.run
        steps = [(known[each]["state"], request_id(run, each)) for each in about()]
        return self.truth(code, steps, run["vars"])

    # Steps that a condition is about

    def _about(self, name: str, *, own: bool = False) -> Callable[[], list[str]]:
        has_failed = self.known.get(name, {}).get("state") == "failed"
        if has_failed or self.nodes[name]["kind"] != "pass":
            return lambda: [name]
        return partial(self.last_steps, name, own=own)

    # Jumps, and stops

    def _jumps(self, name: str, backs: list[Back]) -> bool:
        """Take the first jump back that is due, if any."""
        loops, own = self.run["loops"], self._about(name, own=True)
        for back in backs:
            key = f"{name}>{back['to']}"
            taken = loops.get(key, 0)
            if taken < back["max"] and self._holds(back["when"], own):
                self.jumps += 1
                if self.jumps > _MAX_IDLE_JUMPS:
                    self.stop(name, "it jumps back again and again, and asks no agent")
                    return True
                names = [*self.nodes]
                first, last = map(names.index, back["body"])
                self.reset(names[first : last + 1])
                loops[key] = taken + 1
                self.known[back["to"]]["forced"] = True
                return True
        return False

    def _is_used_up_before(self, name: str) -> bool:
        """Whether a loop may not go back once more for what a node would do in it."""
        last = self.nodes[name].get("last")
        if last is None:
            return False
        jump = last["jump"]
        taken = self.run["loops"]
        is_left = any(
            taken.get(f"{jump}>{back['to']}", 0) < back["max"]
            for back in self.nodes[jump]["back"]
        )
        return not is_left and self._holds(last["when"], lambda: self.last_steps(name))

    def _used_up(self, name: str) -> str:
        """That no jump back is left, after how many rounds, and why it would be due."""
        back = self.nodes[name]["back"][0]
        rounds = self.run["loops"].get(f"{name}>{back['to']}", 0) + 1
        names = [*self.nodes]
        first, last = map(names.index, back["body"])
        ended = ((each, self.known.get(each, {})) for each in names[first : last + 1])
        failed = [
            f"{each}: {entry.get('why', '')}".rstrip(": ")
            for each, entry in ended
            if entry.get("state") in ("failed", "error")
        ]
        if not failed and "says" in back:
            failed = [f"still so: {back['says']}"]
        many = "round" if rounds == 1 else "rounds"
        return f"used up after {rounds} {many}: {'; '.join(failed)}".rstrip(": ")
