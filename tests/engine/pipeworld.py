"""Pipelines in a real store: plans of a few steps in a line, written by hand."""

from pathlib import Path
from typing import Any

from engine.flowworld import World
from storeworld import FakeClock, store_in

from bridge.engine.advance import advance
from bridge.engine.run import Run
from bridge.engine.view import view
from bridge.flow.plan import Plan
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_text import compile_text
from bridge.worker.long_work import LongWork


def code(value: Any) -> Any:
    """A template, of JSON with `${{ }}` in its texts."""
    match value:
        case str():
            return compile_text(value).code
        case list():
            return ["list", 0, *map(code, value)]
        case dict():
            return ["map", 0, *(c for k, v in value.items() for c in (k, code(v)))]
    return value


def condition(text: str) -> Any:
    return compile_condition(text).code


def agent(name: str, prompt: str = "do it", **more: Any) -> dict[str, Any]:
    call = {"agent": code(name), "prompt": code(prompt)}
    call |= {key: code(more.pop(key)) for key in ("task_id", "model") if key in more}
    return {"kind": "agent", "detail": {"call": call}, **more}


def tool(name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    call = {"name": name, "arguments": code(arguments or {})}
    return {"kind": "tool", "detail": {"tool": call}, **more}


def program(*argv: str, allow: list[str] | None = None, **more: Any) -> dict[str, Any]:
    keys = ("cwd", "env", "timeout_s")
    call = {"argv": code([*argv]), "allow": ["Bash"] if allow is None else allow}
    call |= {key: code(more.pop(key)) for key in keys if key in more}
    return {"kind": "exec", "detail": {"exec": call}, **more}


def worktree(action: str, **arguments: Any) -> dict[str, Any]:
    call = {"action": action, "arguments": code(arguments)}
    return {"kind": "worktree", "detail": {"worktree": call}}


def wait(**more: Any) -> dict[str, Any]:
    deadline = {"deadline_s": more.pop("deadline_s")} if "deadline_s" in more else {}
    awaited = {key: more.pop(key) for key in ("node", "nodes") if key in more}
    times = {key: code(more.pop(key)) for key in ("seconds", "until") if key in more}
    return {"kind": "wait", "wait": {**awaited, **times}, **deadline, **more}


def approval(prompt: str, **more: Any) -> dict[str, Any]:
    return {"kind": "approval", "detail": {"prompt": code(prompt)}, **more}


def pipeline(_name: str = "test", /, **steps: dict[str, Any]) -> Plan:
    """The plan of steps in a line; `_inputs`, `_outputs`, `_flows` are the plan's."""
    inputs, outputs = steps.pop("_inputs", {}), steps.pop("_outputs", None)
    flows = steps.pop("_flows", {})
    nodes: dict[str, Any] = {}
    details: dict[str, Any] = {}
    before: list[Any] = []
    for line, (name, step) in enumerate(steps.items(), 1):
        node = {**step}
        detail = node.pop("detail", {})
        if isinstance(node.get("if"), str):
            node |= {"if": condition(node["if"]), "skip": "pass"}
        nodes[name] = {**node, "in": before, "at": f"test.yaml:{line}:1"}
        details[name] = {"line": line, "column": 1, "says": name, **detail}
        before = [(name, None)]
    plan: Any = {
        "schemaVersion": 1, "name": _name, "source": "", "nodes": nodes,
        "out": before, "agents": {}, "details": details, "flows": flows,
        "inputs": inputs,
    }  # fmt: skip
    if outputs is not None:
        plan["outputs"] = code(outputs)
    return plan


class PipeWorld(World):
    """A store with runs of pipelines; what takes long is done when a test says."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        super().__init__(folder, store_in(folder, clock=self.clock))
        self.long: list[Any] = []

    def advance(self, run_id: str, act=None) -> Run:
        self.long = []
        return advance(self.store, self.settings, run_id, act, long=self.long)

    def do_all(self, run_id: str, until: str | None = None) -> Run:
        """Do what takes long, until nothing does, or this step is about to be done."""
        run = self.advance(run_id)
        with LongWork(self.store, self.settings) as work:
            while self.long and until not in {each.node for each in self.long}:
                work.take(each for each in self.long if each.node)
                while work.is_busy:
                    work.wait(5)
                run = self.advance(run_id)
        return run

    def output(self, run_id: str, step: str) -> Any:
        """What a step gave."""
        from bridge.engine.answers import Answers

        with self.store.state() as state:
            return Answers(state, self.run(run_id)).output(step)

    def run(self, run_id: str) -> Run:
        return view(self.store, run_id).run

    def states(self, run_id: str) -> dict[str, str]:
        known = self.run(run_id)["nodes"]
        return {name: entry.get("state", "") for name, entry in known.items()}
