"""What running a flow costs: a step of a long run, many agents at once, a hook.

    scripts/bench_runs.py             about a minute
    scripts/bench_runs.py --quick     a smoke test

No client and no model: agents answer at once.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from bench.long_answer import peak_mb
from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import take_turns
from bench.world import World
from bench_hooks import Life

from bridge.api.bridge import Bridge
from bridge.api.run_flow import Runner
from bridge.config import Settings
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.link import link
from bridge.engine.run_ids import request_id
from bridge.engine.step import step
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.protocol.request import Request
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.worker.worker import Worker

if TYPE_CHECKING:
    from bridge.store.store import Store

    Figures = dict[str, float]

# Megabytes at most; the record of a report holds its words and its value.
LONG_ANSWERS = {
    "words of 5 MB in three prompts": 25.0,
    "words of 10 MB in three prompts": 50.0,
    "report of 10 MB in three prompts": 70.0,
}
LONG, DONE, SHORT, AGENTS = 1_000, 990, 5, 200
G = "general-purpose"
SAID = {"status": "success", "summary": "done"}


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    chosen = option_parser(__doc__).parse_args()
    rounds = 1 if chosen.quick else 15
    with scratch() as root:
        long = Long(root / "long", LONG, DONE)
        short = Long(root / "short", SHORT, SHORT - 2)
        piped = Piped(root / "piped")
        hooks = Hooks(root)
        found = take_turns(
            [
                *[long.load, long.step, long.advance, short.advance] * 3,
                piped.advance,
                hooks.alone,
                hooks.in_a_run,
            ],
            rounds,
        )
        few = 1 if chosen.quick else 3
        many = Many(root / "many")
        found |= take_turns([many.by_hand, many.flow, many.long_answers], few)
    load, captured = found[f"load {LONG}"], found["capture"]
    short_one = found[f"advance {SHORT}"]
    rows = [
        Row(f"loading the JSON of {DONE} of {LONG:,} steps done", load),
        Row("its next step: load, check, decide", found[f"step {LONG}"], load, 1.5),
        Row(f"all of it, lock, writes and question, {SHORT} steps", short_one),
        Row(f"the same, {LONG:,} steps", found[f"advance {LONG}"], short_one),
        Row(f"{AGENTS} x submit, claim, publish, wait", found["by hand"]),
        Row(f"a flow of {AGENTS} agents at once", found["flow"], found["by hand"], 1.5),
        Row("next step of a pipeline: an answer, a tool, an ask", found["pipeline"]),
        Row("hook that captures an answer", captured),
        Row("and takes a run on", found["capture in a run"], captured, 1.2),
    ]
    rows += [
        Row(name, found[name], goal=most, unit="MB")
        for name, most in LONG_ANSWERS.items()
    ]
    show(f"runs of flows, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


def bridge_in(root: Path) -> Bridge:
    """The bridge of a project in a folder."""
    (root / "project" / ".git").mkdir(parents=True)
    settings = Settings(home=root / "home", claude_dir=root / "claude")
    return Bridge(settings, root / "project")


class Long:
    """A run of which nearly all steps are done; the next one has answered."""

    def __init__(self, root: Path, steps: int, done: int) -> None:
        """Take the run so far, without asking anybody."""
        self.steps = steps
        self.bridge = bridge_in(root)
        store = self.bridge.store
        text = " -> ".join(f'{G}:"Do step {n} with care":v{n}' for n in range(steps))
        self.plan = compile_flow(parse_flow(text))
        self.linked, _ = link(self.plan)
        with store.state() as state:
            self.id = begin(state, self.plan)
        self.folder = store.place.state / "runs" / self.id
        run = orjson.loads((self.folder / "run.json").read_bytes())
        run = step(self.linked, run, {}, lambda *_: True)
        for _ in range(done):
            asked = request_id(run, run["open"][0])
            run = step(self.linked, run, {asked: ("ok", "")}, lambda *_: True)
        run["due"] = []
        self.run = run
        self.begin_again()

    def begin_again(self) -> None:
        """Write the run as it was, its next answer there."""
        from bridge.engine.run_files import write

        store = self.bridge.store
        node = self.run["open"][0]
        with store.state() as state:
            with state["runs"].folder(self.id) as folder:
                write(folder, self.run, state.key())
        for name in ("requests", "processing", "responses", "done"):
            for file in (store.place.state / name).glob("*.json"):
                file.unlink()
        answer(store, request_of(store, request_id(self.run, node)))

    def load(self) -> Figures:
        """Load what a step reads."""
        plan, run = (self.folder / name for name in ("plan.json", "run.json"))
        begun = time.process_time()
        orjson.loads(plan.read_bytes())
        orjson.loads(run.read_bytes())
        return {f"load {self.steps}": (time.process_time() - begun) * 1e3}

    def step(self) -> Figures:
        """Load it and take the step, as `advance` does, without the disk's writes.

        In processor time, as `load`: what else the machine does is not our concern.
        """
        from bridge.engine.run_files import folder_of, read, read_plan

        node = self.run["open"][0]
        with self.bridge.store.state() as state, folder_of(state, self.id) as folder:
            key = state.key()
            begun = time.process_time()
            run = read(folder, self.id, key)
            plan = read_plan(folder, run)
            after = step(
                plan, run, {request_id(run, node): ("ok", "")}, lambda *_: True
            )
            orjson.dumps(after)
            return {f"step {self.steps}": (time.process_time() - begun) * 1e3}

    def advance(self) -> Figures:
        """All of it."""
        begun = time.perf_counter()
        after = advance(self.bridge.store, self.bridge.settings, self.id)
        taken = (time.perf_counter() - begun) * 1e3
        assert after["open"] != self.run["open"]
        self.begin_again()
        return {f"advance {self.steps}": taken}


class Piped:
    """A pipeline whose agent has answered; a tool and another agent follow."""

    def __init__(self, root: Path) -> None:
        """Open its project."""
        self.bridge = bridge_in(root)
        nodes: dict[str, Any] = {
            "one": {"kind": "agent", "in": []},
            "note": {"kind": "tool", "in": [("one", None)]},
            "two": {"kind": "agent", "in": [("note", None)]},
        }
        summary = ["get", 0, ["get", 0, ["name", 0, "steps"], "one"], "output"]
        title: list[Any] = ["map", 0, "title", ["get", 0, summary, "summary"]]
        call = {"agent": G, "prompt": "Do it"}
        self.plan: Any = {
            "schemaVersion": 2, "name": "bench", "source": "",
            "nodes": nodes, "out": [("two", None)], "inputs": {},
            "agents": {}, "flows": {},
            "details": {
                "one": {"call": call},
                "note": {"tool": {"name": "create_task", "arguments": title}},
                "two": {"call": call},
            },
        }  # fmt: skip

    def advance(self) -> Figures:
        """From the first agent's answer to the second one's request."""
        store = self.bridge.store
        with store.state() as state:
            run = begin(state, self.plan)
        advance(store, self.bridge.settings, run, long=[])
        known = RequestId(f"{run}-one-1-1")
        publish(store, known)
        begun = time.perf_counter()
        after = advance(store, self.bridge.settings, run, long=[])
        taken = (time.perf_counter() - begun) * 1e3
        assert after["open"] == ["two"], after["why"]
        return {"pipeline": taken}


def request_of(store: Store, name: str) -> Request:
    """A request of now."""
    now_ms = store.now_ms()
    return Request(
        request_id=name, prompt="Do it", created_at=now_ms, timeout=3_600_000
    )


def answer(store: Store, request: Request) -> None:
    """Submit, claim and publish."""
    store.submit(request)
    publish(store, RequestId(request.request_id))


def publish(store: Store, known: RequestId) -> None:
    """Claim and publish."""
    me = identify(os.getpid())
    assert me is not None
    (mine,) = store.claim(Claimant("bench", me), 999, lambda _: "take", only=known)
    response = answered(
        mine, raw="{}", parsed=SAID, now_ms=store.now_ms(), route="host"
    )
    assert store.publish(response, source="bench")


class _AtOnce:
    def answer(self, *_: object) -> Outcome:
        return Outcome(json.dumps(SAID))


class _Runner(Runner):
    def worker(self, route: Any, is_left: Any = None) -> Worker:
        del route, is_left

        def define(request: Request) -> tuple[Request, None]:
            return request, None

        return Worker(self.store, "claude", _AtOnce(), define=define, max_depth=2)


class Many:
    """Many agents that answer at once."""

    def __init__(self, root: Path) -> None:
        """Make a project for each way."""
        self.root = root
        self.count = 0

    def bridge(self) -> Bridge:
        """A project of its own."""
        self.count += 1
        return bridge_in(self.root / str(self.count))

    def by_hand(self) -> Figures:
        """One after the other, without a flow."""
        store = self.bridge().store
        begun = time.perf_counter()
        for number in range(AGENTS):
            answer(store, request_of(store, f"r{number}"))
            assert len([*store.wait([RequestId(f"r{number}")], timeout_s=9)]) == 1
        return {"by hand": (time.perf_counter() - begun) * 1e3}

    def flow(self) -> Figures:
        """As branches of a flow."""
        bridge = self.bridge()
        runner = _Runner(bridge.store, bridge.settings, bridge.quick)
        branches = " || ".join(f'{G}:"{number}"' for number in range(AGENTS))
        begun = time.perf_counter()
        done = runner.run(f"[{branches}]", {}, {"route": "claude"})
        taken = (time.perf_counter() - begun) * 1e3
        assert done.success, done
        return {"flow": taken}

    def long_answers(self) -> Figures:
        """How far the process grows by which long answer."""
        words = {name: name.split() for name in LONG_ANSWERS}
        return {
            name: peak_mb(
                self.bridge(), float(parts[2]), is_report=parts[0] == "report"
            )
            for name, parts in words.items()
        }


class Hooks:
    """A hook that captures an answer, and one whose answer belongs to a run."""

    def __init__(self, root: Path) -> None:
        """Make a session for each."""
        self.life = Life(World(root, "alone"))
        self.life_in_a_run = InARun(World(root, "in-a-run"))

    def alone(self) -> Figures:
        """Nobody waits but a program."""
        return {"capture": self.life()["capture"]}

    def in_a_run(self) -> Figures:
        """A run waits, and asks the next."""
        return {"capture in a run": self.life_in_a_run()["capture"]}


class InARun(Life):
    """A request that is the first step of a run."""

    def __call__(self) -> Figures:
        """Answer it; the hook asks the second."""
        world = self.world
        settings = Settings(home=world.home / ".hostbridge", claude_dir=world.home)
        bridge = Bridge(settings, world.project)
        plan = compile_flow(parse_flow(f'{G}:"one":x -> {G}:"two {{x}}"'))
        for file in world.folder("live").iterdir():
            file.unlink()

        def ask() -> str:
            with bridge.store.state() as state:
                run = begin(state, plan)
            first = f"{run}-node-0-1-1"
            world.drop_request(first)
            advance(bridge.store, settings, run)
            return first

        found = self.answered(ask)
        waiting = [file.stem for file in world.folder("requests").iterdir()]
        assert any(name.endswith("node-1-1-1") for name in waiting), waiting
        return found


if __name__ == "__main__":
    sys.exit(main())
