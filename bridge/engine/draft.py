"""A run that is being changed: what is asked, left, begun anew, stopped. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from bridge.engine.link import last_steps
from bridge.engine.run_ids import OUT, child_id, request_id
from bridge.engine.waiting import is_at_work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.engine.run import Linked, Run


class RunDraft:
    """A run that is being changed; the one that it began with stays as it was."""

    def __init__(self, plan: Linked, run: Run) -> None:
        self.nodes = plan["nodes"]
        self.out = plan["out"]
        self.run: Run = {
            **run,
            "rev": run["rev"] + 1,
            "nodes": {**run["nodes"]},
            "open": [*run["open"]],
            "vars": {**run["vars"]},
            "loops": {**run["loops"]},
            "due": [*run["due"]],
        }
        self.known = self.run["nodes"]
        # Whether a person has it go on: then what failed is asked again.
        self.goes_on = False
        # What may be decided now.
        self.queue: deque[str] = deque()
        if run["look"]:
            self.run["look"] = False
            self.touch(self.nodes)

    def token(self, source: str, target: str) -> bool | None:
        """Whether an edge is live; None if its source has not ended."""
        entry = self.known.get(source, {})
        state = entry.get("state", "open")
        if state in ("open", "stopped", "cancelled"):
            return None
        return state != "skipped" and target not in entry.get("dead", ())

    def last_steps(self, name: str, *, own: bool = False) -> list[str]:
        """The last steps before a `pass`, or the end."""
        # The end of a run is answered by those who were asked.
        failed = self.failed_passes if name != OUT else frozenset()
        return last_steps(
            self.nodes, self.out, self.token, name, own=own, failed=failed
        )

    @property
    def failed_passes(self) -> frozenset[str]:
        """The jumps of loops that are used up."""
        return frozenset(
            name
            for name, entry in self.known.items()
            if entry.get("state") == "failed" and self.nodes[name]["kind"] == "pass"
        )

    def reset(self, names: Iterable[str]) -> None:
        """Let nodes begin anew: what runs there is cancelled, their ends forgotten."""
        chosen = {*names}
        body = [name for name in self.nodes if name in chosen]
        for name in body:
            if is_at_work(self.known.get(name, {})):
                self.do("cancel", self.asked(name), name)
            self.cancel(name)
            if entry := self.known.get(name):
                self.known[name] = {"visit": entry.get("visit", 1) + 1}
        loops = self.run["loops"]
        for key in [key for key in loops if key.partition(">")[0] in chosen]:
            del loops[key]
        self.touch(body)

    def leave(self, names: Iterable[str]) -> None:
        """Do without nodes that have not ended, and without all that led only there."""
        left = [*names]
        while left:
            name = left.pop()
            state = self.known.get(name, {}).get("state")
            if state is None or self.cancel(name):
                self.known[name] = {**self.known.get(name, {}), "state": "skipped"}
                self.touch(target for target, _ in self.nodes[name]["to"])
                left += [s for s in self.nodes[name]["in"] if self.is_idle(s)]

    def is_idle(self, name: str) -> bool:
        """Whether all that a node leads to is decided without it."""
        targets = (target for target, _ in self.nodes[name]["to"])
        return all("state" in self.known.get(target, {}) for target in targets)

    def cancel(self, name: str) -> bool:
        """Cancel what a node has asked; False if it has not asked anything."""
        state = self.known.get(name, {}).get("state")
        if state != "open" or name not in self.run["open"]:
            return False
        self.run["open"].remove(name)
        self.do("cancel", self.asked(name), name)
        return True

    def asked(self, name: str) -> str:
        """The request, checkpoint or run that a node has begun."""
        asked = request_id(self.run, name)
        return child_id(asked) if self.nodes[name]["kind"] == "call" else asked

    def stop(self, name: str, why: str) -> None:
        """A node has failed, and nothing looks at that: pause, or give up."""
        self.known[name] = {**self.known.get(name, {}), "state": "stopped", "why": why}
        if self.run["status"] == "running":
            is_asked = self.run["policy"] == "ask"
            self.halt("paused" if is_asked else "failed", f"{name}: {why}")

    def halt(self, status: Literal["paused", "failed", "cancelled"], why: str) -> None:
        """Stop the run; unless it is only paused, what it has asked is cancelled."""
        self.run |= {"status": status, "why": why}
        for name in [*self.run["open"]] if status != "paused" else ():
            self.cancel(name)
            self.known[name] = {**self.known[name], "state": "cancelled"}
        for name, entry in self.known.items() if status != "paused" else ():
            if is_at_work(entry):
                self.do("cancel", self.asked(name), name)
        self.do("tell", self.run["run"], "")

    def touch(self, names: Iterable[str]) -> None:
        """Have nodes looked at again."""
        self.queue.extend(name for name in names if name != OUT)

    def do(self, act: Any, id_: str, node: str) -> None:
        """Have something done in the world."""
        self.run["due"].append((act, id_, node))
