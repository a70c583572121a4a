"""Measure each hook as a process, beside the cheapest process of its kind.

There is no client and no model: the hooks run as the client runs them, in sessions that
they have registered. In each round one request goes through its whole life, so the
expensive hooks are measured on real work, and their output is checked.

    scripts/bench_hooks.py             about a minute
    scripts/bench_hooks.py --quick     a smoke test: few rounds, few files
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.floors import FLOORS
from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import run, take_turns
from bench.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.timing import Ran, Series

    Figures = dict[str, float]

BASH = {
    "tool_name": "Bash",
    "tool_use_id": "toolu_main",
    "tool_input": {"command": "ls -l", "description": "List"},
}
ENDED = {**BASH, "tool_response": {"stdout": "a line of output\n" * 40, "stderr": ""}}
STEPS = """
name: bench
variables: {seen: false, done: false}
steps:
  - name: look
    allowed_tools: [Read, Grep, Glob, Bash]
    on_enter: [{inject_message: Look around first.}]
    transitions: [{to: work, when: seen}]
  - name: work
    transitions: [{to: complete, when: done}]
  - name: complete
exit_condition: current_step == 'complete'
"""
# The stamp `.looked` counts only if the queue has not changed for this long.
SETTLED_S = 2.2
# One look takes at most a second; ten thousand requests take one or two looks.
MOST_LOOKS = 10
# Processes that take less than a millisecond are run more often.
SHORT_TURNS = 5
# How long an agent has worked, and what each of its calls returned.
AGENT_TURNS = 40
FILE = "a line of a file\n" * 400


def main() -> int:
    """Run the benchmark; the exit code is 1 if a goal is missed."""
    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="processes each (60)")
    parser.add_argument("--files", type=int, default=10_000, help="requests (10,000)")
    chosen = parser.parse_args()
    rounds, files = (2, 50) if chosen.quick else (chosen.rounds, chosen.files)
    with scratch() as root:
        found = take_turns(cases(root, files), rounds)
    rows = compare(found, files)
    show(f"hooks as processes, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


def cases(root: Path, files: int) -> list[Callable[[], Figures]]:
    """Everything that is measured, each case in its own world."""
    names = ("idle", "finished", "agents", "closed", "bash", "steps")
    idle, finished, agents, closed, bash, steps = (World(root, name) for name in names)
    steps.begin_workflow(STEPS)
    finished.finish_requests(files)
    agents.start_agents(4)
    bash.start_agents(4)
    (bash.folder("agents") / "toolu_other.bash").write_text("{}")
    for number in range(files):
        closed.drop_request(f"closed-{number}", session="another")
    time.sleep(SETTLED_S)
    # A session looks when it starts, and otherwise loads the library to find nothing to
    # claim. The look that reaches the end of the queue leaves a stamp.
    finished.hook("always", "SessionStart", source="resume")
    for world in (finished, closed):
        stamp = world.state / "sessions" / f"{world.session}.looked"
        for _ in range(MOST_LOOKS):
            world.hook("tool-end", "PostToolUse", **ENDED)
            if stamp.exists():
                break
            time.sleep(1)
        assert stamp.exists(), "the hook left no stamp"

    def after(world: World, name: str) -> Callable[[], Figures]:
        return lambda: {name: quiet(world.hook("tool-end", "PostToolUse", **ENDED))}

    def before(world: World, name: str) -> Callable[[], Figures]:
        return lambda: {name: quiet(world.hook("tool-start", "PreToolUse", **BASH))}

    def floor(name: str) -> Callable[[], Figures]:
        return lambda: {name: run(FLOORS[name], idle.environment).ms}

    short = [
        floor("shell"),
        after(idle, "idle"),
        after(finished, "finished"),
        after(agents, "agents run"),
        after(closed, "closed"),
        before(idle, "start idle"),
        lambda: {"turn idle": quiet(idle.hook("turn", "Stop"))},
    ]
    return [
        *short * SHORT_TURNS,
        floor("python"),
        floor("library"),
        after(bash, "bash runs"),
        before(agents, "start, agents run"),
        before(steps, "step allows"),
        after(steps, "step stays"),
        Life(World(root, "life")),
    ]


def quiet(ran: Ran) -> float:
    """The time of a hook that printed nothing."""
    assert ran.stdout == b"", ran
    return ran.ms


class Life:
    """One request for each call, from offer to answer, through the hooks alone."""

    def __init__(self, world: World) -> None:
        """Use this world."""
        self.world = world
        self._count = 0

    def __call__(self) -> Figures:
        """Answer one request; returns the time of each step."""

        def ask() -> str:
            name = f"request-{self._count}"
            self.world.drop_request(name)
            return name

        return self.answered(ask)

    def answered(self, ask: Callable[[], str]) -> Figures:
        """Answer what `ask` asks; returns the time of each step."""
        self._count += 1
        agent, call = f"agent{self._count}", f"toolu_agent{self._count}"
        ours = {"agent_id": agent, "agent_type": "general-purpose"}
        self.world.start_over()
        name = ask()
        offer = self.world.hook("tool-end", "PostToolUse", **ENDED)
        assert f"bridge:{name}" in str(spoken(offer, "additionalContext"))
        launch = self.world.hook(
            "agent-call",
            "PreToolUse",
            tools="agent",
            tool_name="Agent",
            tool_use_id=call,
            tool_input={"description": "b", "prompt": f"bridge:{name}"},
        )
        rewritten = spoken(launch, "updatedInput")
        assert "lack tests" in str(rewritten)
        self._start(agent, call, rewritten["prompt"])
        first = self.world.hook("tool-start", "PreToolUse", **BASH, **ours)
        plain = {**BASH, "tool_use_id": "toolu_2", "tool_name": "TodoWrite"}
        allowed = self.world.hook("tool-start", "PreToolUse", **plain, **ours)
        read = {
            "tool_use_id": "toolu_3",
            "tool_name": "Read",
            "tool_input": {"file_path": __file__},
        }
        looks = self.world.hook("tool-start", "PreToolUse", **read, **ours)
        seen = (self.world.folder("agents") / f"{agent}.calls").read_text()
        assert "toolu_2" in seen
        assert __file__ in seen
        ended = self.world.hook("tool-end", "PostToolUse", **ENDED, **ours)
        answer = {"status": "success", "summary": "two of them", "evidence": []}
        words = json.dumps(answer)
        captured = self.world.hook(
            "agent-event", "SubagentStop", last_assistant_message=words, **ours
        )
        response = self.world.folder("responses") / f"{name}.json"
        assert json.loads(response.read_bytes())["success"] is True
        return {
            "offer": offer.ms,
            "launch": launch.ms,
            "first call": quiet(first),
            "allowed": quiet(allowed),
            "looks": quiet(looks),
            "bash ended": quiet(ended),
            "capture": quiet(captured),
        }

    def _start(self, agent: str, call: str, prompt: str) -> None:
        """What the client writes about a subagent that it starts."""
        folder = self.world.transcript.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        meta = json.dumps({"agentType": "general-purpose", "toolUseId": call})
        (folder / f"agent-{agent}.meta.json").write_text(meta)
        message = {"role": "user", "content": prompt}
        records = [{"type": "user", "message": message}]
        for turn in range(AGENT_TURNS):
            records += self._turn(turn)
        lines = [json.dumps(each, separators=(",", ":")) for each in records]
        (folder / f"agent-{agent}.jsonl").write_text("\n".join([*lines, ""]))

    def _turn(self, turn: int) -> list[dict[str, Any]]:
        """A message of the model in two blocks, and the result of its call."""
        usage = {"input_tokens": 900, "output_tokens": 90}
        said = {"id": f"msg_{turn}", "model": "m", "usage": usage, "role": "assistant"}
        blocks = [{"type": "text", "text": "x" * 500}, {"type": "tool_use", "id": "t"}]
        result = {"role": "user", "content": [{"type": "tool_result", "content": FILE}]}
        return [
            {"type": "user", "message": result},
            *(
                {"type": "assistant", "message": {**said, "content": [b]}}
                for b in blocks
            ),
        ]


def spoken(ran: Ran, field: str) -> Any:
    """One field of a hook's output."""
    return json.loads(ran.stdout)["hookSpecificOutput"][field]


def compare(found: dict[str, Series], files: int) -> list[Row]:
    """The rows of the table."""
    shell, python, library = (found[name] for name in FLOORS)
    many = f"{files:,}"
    return [
        Row("idle PostToolUse", found["idle"], shell, 1.3),
        Row(f"  {many} finished requests", found["finished"], shell, 1.3),
        Row("  our agents run", found["agents run"], shell, 1.5),
        Row(f"  {many} waiting, none for us", found["closed"], shell, 1.5),
        Row("call in our subagent, allowed", found["allowed"], python, 1.5),
        Row("  which reads: its look is noted", found["looks"], found["allowed"], 1.05),
        Row("call inside an active step, allowed", found["step allows"], python, 1.25),
        Row("  its end, which moves nothing", found["step stays"], python, 1.5),
        Row("claims and instructs", found["offer"], python, 5),
        Row("PreToolUse(Agent), rewritten", found["launch"], library),
        Row("SubagentStop, captured", found["capture"], library),
        Row("first call in our subagent", found["first call"], library),
        Row("Bash ended in our subagent", found["bash ended"], python),
        Row("main thread's call, our agents run", found["start, agents run"], shell),
        Row("  its end, a Bash call of ours runs", found["bash runs"], shell),
        Row("idle PreToolUse", found["start idle"], shell),
        Row("idle Stop", found["turn idle"], shell),
        Row("floor: sh -c :", shell),
        Row("floor: python, json, os", python),
        Row("floor: python, pydantic, jinja2, ...", library),
    ]


if __name__ == "__main__":
    sys.exit(main())
