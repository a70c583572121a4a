"""Runs in a real store, whose requests are claimed and answered by hand."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from flow.simulation import plan_of
from storeworld import claimant, store_in, take

from bridge.config import Settings
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.run import Run
from bridge.flow.plan import Plan
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import judge
from bridge.protocol.request import Request
from bridge.protocol.response import Response, answered, failed
from bridge.store.live_runs import live_runs
from bridge.store.store import Store


class World:
    """A store with runs in it."""

    def __init__(self, folder: Path, store: Store | None = None) -> None:
        self.store = store or store_in(folder)
        self.settings = Settings(home=folder / "home", claude_dir=folder / "claude")
        self.store.place.project.mkdir(parents=True, exist_ok=True)
        agents = folder / "claude" / "agents"
        agents.mkdir(parents=True, exist_ok=True)
        for name in "abcdefg":
            text = f"---\nname: {name}\ndescription: For tests.\n---\nYou are {name}.\n"
            (agents / f"{name}.md").write_text(text)

    def begin(self, plan: Plan | str, **options: Any) -> str:
        """Begin a run, and take its first step."""
        plan = plan_of(plan) if isinstance(plan, str) else plan
        with self.store.state() as state:
            run_id = begin(state, plan, **options)
        self.advance(run_id)
        return run_id

    def advance(self, run_id: str, act=None) -> Run:
        return advance(self.store, self.settings, run_id, act)

    def answered(self, run_id: str, agent: str, said: str = "", **fields: Any) -> Run:
        """Have an agent answer, and the run hear of it."""
        self.answer(agent, said, **fields)
        return self.advance(run_id)

    def told(self, run_id: str, text: str | None) -> Run:
        """Have a person answer the checkpoint at which a run waits."""
        say = partial(by_hand.say, node=None, text=text, by="reply")
        return self.advance(run_id, say)

    def waiting(self) -> dict[str, Request]:
        """What waits, by the agent that is asked; those of one agent in order."""
        found = {}
        for request_id in sorted(self.store.waiting()):
            seen = self.store.find(request_id)
            if seen and seen.request:
                found[seen.request.agent_type] = seen.request
        return found

    def answer(self, agent: str, said: str = "", **fields: Any) -> None:
        """Have the waiting request of an agent answered; nobody is told."""
        request = self.waiting()[agent]
        self.answer_id(request.request_id, said, **fields)

    def answer_with(self, agent: str, output: Any, **facts: Any) -> None:
        """Have the waiting request of an agent answered with this value."""
        known = RequestId(self.waiting()[agent].request_id)
        (mine,) = self.store.claim(claimant(), 99, take, only=known)
        response = said_to(mine, output).with_(**facts)
        assert self.store.publish(response, source="test")

    def answer_id(self, request_id: str, said: str = "", **fields: Any) -> None:
        known = RequestId(request_id)
        (mine,) = self.store.claim(claimant(), 99, take, only=known)
        if said in ("agent_stopped", "host_gone"):
            response = failed(mine, said, "as the test wants", now_ms=mine.created_at)
        else:
            output = {"status": "success", "summary": said or "done", **fields}
            response = said_to(mine, output)
        assert self.store.publish(response, source="test")


def said_to(request: Request, output: Any) -> Response:
    """The response in which an agent has said this."""
    raw = json.dumps(output)
    verdict = judge(request, raw)
    return answered(
        request,
        raw=raw,
        parsed=verdict.parsed,
        now_ms=request.created_at,
        route="host",
        failure=verdict.failure_at(request.stage),
    )


def lives(world: World) -> list[str]:
    """The runs that live."""
    with world.store.state() as state:
        return live_runs(state)


def child_of(world: World) -> str:
    """The only called run that lives."""
    (child,) = (each for each in lives(world) if each.startswith("f"))
    return child
