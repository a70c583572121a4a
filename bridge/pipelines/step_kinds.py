"""The kinds of steps, each read from the fields of its own."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import describe
from bridge.hints import did_you_mean
from bridge.pipelines.argv import NeedsShell, split_command
from bridge.pipelines.expressions import Known
from bridge.pipelines.reading import Made, Reading
from bridge.policy.command_grants import refusal
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.flow.details import AgentCall, Detail, ExecCall, Template
    from bridge.flow.plan import Step

_REQUEST = re.compile(
    r"\s*\$\{\{\s*(?:steps\s*\.\s*)?([A-Za-z_][\w-]*)\s*\.\s*output"
    r"\s*\.\s*(?:run_id|request_id)\s*\}\}\s*"
)
_WORKTREE: Mapping[str, Mapping[str, bool]] = {
    "branch": {},
    "create": {"name": True, "base": False},
    "status": {"worktree": True},
    "commit": {"worktree": True, "message": True},
    "merge": {"worktree": True, "into": False, "message": False},
    "remove": {"worktree": True, "discard": False},
}
_MADE = {
    "branch": ("branch",),
    "create": ("folder", "branch", "base"),
    "status": ("changed", "files"),
    "commit": ("commit",),
    "merge": ("commit", "how", "into", "conflict", "change"),
    "remove": (),
}
_FOLDER = "{}.output.folder"
_RENAMED_FOLDER = dict.fromkeys(
    ("clone_id", "worktree_id", "clone_path", "worktree_path", "path"), _FOLDER
) | {"branch_name": "{}.output.branch"}
_RENAMED_RUN = {"run_id": "{}.output.request_id"}
# Fields of an agent's step, and what they are in a plan.
_OF_CALL = {
    "prompt": "prompt", "task_id": "task_id", "workflow": "workflow", "mode": "mode",
    "model": "model", "arguments": "arguments", "worktree": "cwd",
}  # fmt: skip
_COMPLETED = dict.fromkeys(("completed", "success"), "{}.status == 'completed'")


def read_agent(step: Reading) -> Made:
    """`agent` and `prompt`, or `prompt` alone."""
    raw = step.raw
    name = raw.get("agent") or GENERAL
    node: Step = {"kind": "agent"}
    call: AgentCall = {"agent": step.value("agent") if "agent" in raw else name}
    for key, here in _OF_CALL.items():
        if raw.get(key) is not None:
            call[here] = step.value(key)  # type: ignore[literal-required]  # a table
    if "timeout" in raw:
        call["timeout_s"] = step.seconds("timeout")
    if raw.get("prompt") is None and raw.get("task_id") is None:
        step.error("agent", "says nothing: give it a prompt, or a task_id")
    detail: Detail = {"call": call}
    known = Known()
    if "${{" not in name:
        detail["agent"] = name
        known = Known(step.around.answer_fields(name))
        _check_agent(step, name)
    if raw.get("background") or step.is_foreign:
        node["background"] = True
        known = Known(("request_id", "agent", "task_id"), _RENAMED_RUN)
    says = f"{name}: {raw.get('prompt') or raw.get('task_id') or ''}"
    return Made("agent", says, node, detail, known)


def _check_agent(step: Reading, name: str) -> None:
    if wrong := step.around.wrong_agent(name):
        step.error("agent" if "agent" in step.raw else "prompt", wrong)


def read_exec(step: Reading) -> Made:
    """`exec`: a list, or a text without anything that needs a shell."""
    raw, place = step.raw["exec"], step.place_of("exec")
    words: list[Any] = raw if isinstance(raw, list) else []
    if isinstance(raw, str):
        # The whole text first: its places are right.
        step.expressions.text(raw, place)
        try:
            words = split_command(raw)
        except NeedsShell as error:
            step.error("exec", str(error))
            return Made("exec", raw, {"kind": "exec"}, {})
    if not words:
        step.error("exec", "names no program")
    for at, word in enumerate(words):
        if not isinstance(word, (str, int, float)) or isinstance(word, bool):
            step.error("exec", f"word {at + 1}: expected a text, got {describe(word)}")
    texts = [str(word) for word in words]
    is_list = isinstance(raw, list)
    argv = [
        step.expressions.text(text, (*place, at) if is_list else place)
        for at, text in enumerate(texts)
    ]
    call: ExecCall = {"argv": ["list", 0, *argv], "allow": step.allow}
    for key in ("cwd", "env"):
        if step.raw.get(key) is not None:
            call[key] = step.value(key)
    if "timeout" in step.raw:
        call["timeout_s"] = step.seconds("timeout")
    if all(isinstance(word, (str, int, float)) for word in words):
        _check_grant(step, texts)
    known = Known(("exit_code", "stdout", "stderr", "timed_out"))
    return Made(
        "exec", f"exec {' '.join(texts)}", {"kind": "exec"}, {"exec": call}, known
    )


def _check_grant(step: Reading, argv: list[str]) -> None:
    """That the file grants what can be known of a command before it runs."""
    is_known = not any("${{" in word for word in argv)
    if not argv or (step.allow and not is_known):
        return
    given = step.raw.get("env")
    env = (
        {str(name): _literal(given[name]) for name in given}
        if isinstance(given, dict)
        else {}
    )
    wrong = refusal(argv if is_known else argv[:1], step.allow, env=env)
    if wrong is not None and "`env` sets" in wrong:
        step.error("env", wrong)
    elif wrong is not None:
        rules = [f"Bash({shlex.join(argv)})"] if is_known else []
        rules += [f"Bash({argv[0]} *)"] if "${{" not in argv[0] else []
        fitting = (one for one in rules if not is_known or not refusal(argv, [one]))
        rule = json.dumps(next(fitting, "Bash"), ensure_ascii=False)
        step.error("exec", f"{wrong}; grant it in this file: allow: [{rule}]")


def _literal(value: object) -> str | None:
    return None if "${{" in str(value) else str(value)


def read_tool(step: Reading) -> Made:
    """`tool` with `arguments`: a tool of our table."""
    name = step.raw["tool"]
    found = step.around.tool(name)
    arguments: Template
    if isinstance(found, str):
        step.error("tool", found)
        arguments = None
    elif found is None:
        arguments = step.value("arguments") if "arguments" in step.raw else ["map", 0]
    else:
        arguments = step.given(found)
    detail: Detail = {"tool": {"name": name, "arguments": arguments}}
    return Made("tool", f"tool {name}", {"kind": "tool"}, detail)


def read_set(step: Reading) -> Made:
    """`set`: a mapping of values, which is the step's output."""
    values = step.value("set")
    detail: Detail = {"tool": {"name": "set", "arguments": values}}
    names = tuple(step.raw["set"])
    says = f"set {', '.join(names)}"
    return Made("tool", says, {"kind": "tool"}, detail, Known(names))


def read_fail(step: Reading) -> Made:
    """`fail`: the run fails here, and says why."""
    message = ["map", 0, "message", step.value("fail")]
    detail: Detail = {"tool": {"name": "fail", "arguments": message}}
    return Made("tool", f"fail: {step.raw['fail']}", {"kind": "tool"}, detail)


def read_wait(step: Reading) -> Made:
    """`wait`: a step, a length of time, or a time."""
    raw = step.raw
    node: Step = {"kind": "wait"}
    named = [each for each in ("for", "seconds", "until") if raw.get(each) is not None]
    if len(named) != 1:
        step.error("wait", "expected one of for, seconds and until")
        return Made("wait", "wait", node, {})
    known = Known()
    match named[0]:
        case "for":
            target = _awaited(step, str(raw["for"]))
            node["wait"] = {"node": target}
            says = f"wait for {target}"
        case "seconds":
            node["wait"] = {"seconds": step.seconds("seconds")}
            says, known = f"wait {raw['seconds']}", Known(())
        case _:
            node["wait"] = {"until": step.value("until")}
            says, known = f"wait until {raw['until']}", Known(())
    if "timeout" in raw:
        node["deadline_s"] = step.seconds("timeout")
    if step.is_foreign:
        # Elsewhere a wait ends well whatever the agent did, and says how that was.
        node["on_failure"] = "skip"
        known = Known(known.fields, _COMPLETED)
    return Made("wait", says, node, {}, known)


def _awaited(step: Reading, named: str) -> str:
    """The step that is waited for, by its id or by the request that it gave."""
    found = _REQUEST.fullmatch(named)
    name = found[1] if found else named.strip()
    if "${{" in name:
        step.error(
            "for", "a wait names a step: write its id, or ${{ steps.ID.output.run_id }}"
        )
    elif name in step.expressions.scope.later:
        # The same words as of any other reference.
        step.expressions.condition(f"steps[{name!r}]", step.place_of("for"))
    elif name not in (known := step.expressions.scope.steps):
        hint = did_you_mean(name, known) or ": name one above it"
        way = "or a time such as 90s or 5m"
        step.error("for", f"no step is called {name!r}{hint}, {way}")
    return name


def read_approval(step: Reading) -> Made:
    """`approval`: a person's yes, or a no, which ends the run."""
    node: Step = {"kind": "approval"}
    if "timeout" in step.raw:
        node["deadline_s"] = step.seconds("timeout")
    message = step.raw.get("message") or f"Go on with {step.id}?"
    prompt = step.value("message") if "message" in step.raw else message
    return Made("approval", f"approval: {message}", node, {"prompt": prompt})


def read_pipeline(step: Reading) -> Made:
    """`pipeline` with `inputs`: another pipeline, whose outputs are this output."""
    name = step.raw["pipeline"]
    known = Known()
    wanted: Mapping[str, bool] | None = None
    if "${{" in name:
        step.error("pipeline", "names a pipeline: an expression cannot stand here")
    elif step.around.find_pipeline is not None:
        other = step.around.find_pipeline(name)
        if isinstance(other, str):
            step.error("pipeline", other)
        else:
            wanted = {k: bool(v.get("required")) for k, v in other.inputs.items()}
            match other.outputs:
                case ["map", _, *parts]:
                    known = Known(tuple(map(str, parts[::2])))
    if wanted is not None:
        given = step.given(wanted, "inputs")
    else:
        given = step.value("inputs") if step.raw.get("inputs") else ["map", 0]
    detail: Detail = {"flow": name, "given": given}
    return Made("call", f"pipeline {name}", {"kind": "call"}, detail, known)


def read_worktree(step: Reading) -> Made:
    """`worktree`: branch, create, status, commit, merge or remove."""
    action = step.raw["worktree"]
    node: Step = {"kind": "worktree"}
    if action not in _WORKTREE:
        hint = did_you_mean(action, _WORKTREE)
        hint = hint or f"; there are {', '.join(_WORKTREE)}"
        step.error("worktree", f"no action is called {action!r}{hint}")
        return Made("worktree", "worktree", node, {})
    arguments = step.given(_WORKTREE[action])
    detail: Detail = {"worktree": {"action": action, "arguments": arguments}}
    renamed = _RENAMED_FOLDER if action == "create" else {}
    known = Known(_MADE[action], renamed)
    return Made("worktree", f"worktree {action}", node, detail, known)


# By the field that says which kind a step is.
KINDS: Mapping[str, Callable[[Reading], Made]] = {
    "agent": read_agent,
    "prompt": read_agent,
    "exec": read_exec,
    "tool": read_tool,
    "wait": read_wait,
    "pipeline": read_pipeline,
    "worktree": read_worktree,
    "set": read_set,
    "fail": read_fail,
    "approval": read_approval,
}
