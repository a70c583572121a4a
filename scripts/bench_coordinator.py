"""What the coordinator costs beside its agents: an epic of 20 tasks, answered at once.

    scripts/bench_coordinator.py             about a minute
    scripts/bench_coordinator.py --quick     a smoke test

The floor is the same agents, asked one after the other by a program, each task in a
worktree of its own that is made, committed, merged and removed: no run, no claim of a
task. Both look up and fill in the agents' definitions. No client and no model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import take_turns

from bridge import worktrees
from bridge.api.bridge import Bridge
from bridge.api.run_flow import Runner
from bridge.config import Settings
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.protocol.response import answered
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.worker.worker import Worker

if TYPE_CHECKING:
    from bridge.protocol.request import Request

    Figures = dict[str, float]

TASKS, FILES = 20, 100
DONE = {"status": "success", "summary": "done", "files": ["part"], "evidence": []}
SEEN = {"approved": True, "feedback": [], "summary": "seen", "evidence": []}
VALID = {"passed": True, "feedback": []}


def main() -> int:
    """Run the benchmark; exit 1 when the goal is missed."""
    chosen = option_parser(__doc__).parse_args()
    rounds, tasks = (1, 2) if chosen.quick else (7, TASKS)
    with scratch() as folder:
        bench = Bench(folder, tasks)
        found = take_turns([bench.alone, bench.coordinator], rounds)
    asks = found.pop("asks").median
    assert found.pop("asks of the floor").median == asks
    rows = [
        Row(f"{asks:.0f} asks and {tasks} worktrees alone", found["alone"]),
        Row("the coordinator does the same", found["run"], found["alone"], 1.5),
    ]
    show(f"an epic of {tasks} tasks, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


class Bench:
    """An epic again and again, each time in a project of its own."""

    def __init__(self, root: Path, tasks: int) -> None:
        self.root, self.tasks = root, tasks
        self.count = 0

    def epic(self) -> Bridge:
        """A repository, and the task #1 with subtasks."""
        self.count += 1
        root = self.root / str(self.count)
        project = root / "project"
        project.mkdir(parents=True)
        for number in range(FILES):
            (project / f"file{number}.py").write_text(f"print({number})\n" * 40)
        for words in (
            ["init", "-q", "-b", "main"],
            ["config", "user.name", "bench"],
            ["config", "user.email", "bench@localhost"],
            ["add", "-A"],
            ["commit", "-qm", "begin"],
        ):
            subprocess.run(["git", *words], cwd=project, check=True)
        settings = Settings(home=root / "home", claude_dir=root / "claude")
        bridge = Bridge(settings, project)
        bridge.tasks.create("An epic")
        for number in range(self.tasks):
            bridge.tasks.create(f"Part {number}", parent="#1")
        return bridge

    def coordinator(self) -> Figures:
        """The shipped workflow, followed by this process."""
        bridge = self.epic()
        runner = _Runner(bridge.store, bridge.settings, bridge.quick)
        runner.agents = Agents(bridge)
        begun = time.perf_counter()
        done = runner.run("coordinator", {"task": "#1"}, {"route": "claude"})
        taken = (time.perf_counter() - begun) * 1e3
        assert done.success, done
        return {"run": taken, "asks": runner.agents.asked}

    def alone(self) -> Figures:
        """Its asks and worktrees, and nothing else."""
        bridge = self.epic()
        agents = Agents(bridge)
        begun = time.perf_counter()
        for number in range(2, self.tasks + 2):
            self.task(bridge, agents, f"#{number}")
        taken = (time.perf_counter() - begun) * 1e3
        assert len(bridge.tasks.list(status=["closed"])) == self.tasks
        return {"alone": taken, "asks of the floor": agents.asked}

    def task(self, bridge: Bridge, agents: Agents, ref: str) -> None:
        """One task."""
        state = bridge.store.place.state
        made = worktrees.create(
            Path(bridge.store.place.project),
            f"hostbridge/run/{ref[1:]}",
            worktrees.folder_of(state, "run", ref[1:]),
        )
        options: Any = {"task_id": ref, "route": "claude"}
        for agent in ("developer", "qa-reviewer", "task-ops"):
            more = {"workflow": "validation"} if agent == "task-ops" else {}
            asked = bridge.submit("", agent=agent, **options, **more)
            agents.publish(RequestId(asked), made.folder)
        worktrees.commit(made, ref)
        assert isinstance(
            worktrees.merge(made.project, made.branch, made.base), worktrees.Merged
        )
        worktrees.remove(made)


class Agents:
    """Answer at once; `asked` counts how many were."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.asked = 0
        me = identify(os.getpid())
        assert me is not None
        self.me = Claimant("bench", me, "claude")

    def say(self, request: Request, folder: Path) -> str:
        """What the agent of a request does and answers."""
        self.asked += 1
        task = request.task_id or ""
        match request.agent_type:
            case "developer":
                (folder / f"part{task[1:]}.py").write_text(f"# {task}\n")
            case "qa-reviewer":
                return json.dumps(SEEN)
            case "task-validator":
                return json.dumps(VALID)
            case "task-ops":
                self.validate(task)
        return json.dumps(DONE)

    def validate(self, task: str) -> None:
        """Have a task validated and closed."""
        said = self.bridge.call_tool("validate_task", {"task_id": task})
        self.publish(RequestId(said["request_id"]), self.bridge.store.place.project)
        said = self.bridge.call_tool("get_validation_status", {"task_id": task})
        assert said["state"] == "passed", said
        self.bridge.call_tool("close_task", {"task_id": task})

    def publish(self, asked: RequestId, folder: str | Path) -> None:
        """Claim a request, publish its answer, and wait for that."""
        store = self.bridge.store
        mine = store.claim_one(asked, self.me)
        assert mine is not None
        said = self.say(mine, Path(folder))
        response = answered(
            mine, raw=said, parsed=json.loads(said), now_ms=store.now_ms(),
            route="claude",
        )  # fmt: skip
        assert store.publish(response, source="bench")
        assert len([*store.wait([asked], timeout_s=9)]) == 1


class _AtOnce:
    def __init__(self, agents: Agents) -> None:
        self.agents = agents

    def answer(self, request: Request, *_: object) -> Outcome:
        return Outcome(self.agents.say(request, Path(request.folder or "")))


class _Runner(Runner):
    agents: Agents

    def worker(self, route: Any, is_left: Any = None) -> Worker:
        del route, is_left

        def define(request: Request) -> tuple[Request, None]:
            return request, None

        answers = _AtOnce(self.agents)
        return Worker(self.store, "claude", answers, define=define, max_depth=2)


if __name__ == "__main__":
    sys.exit(main())
