"""The kinds of steps, each read from the fields of its own.

Programs are run without a shell. A command that is one text is split as a shell would
split it if it has nothing that only a shell understands; otherwise the list to write is
shown, in which values are arguments of that shell and never part of what it reads.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.diagnostic import describe
from bridge.hints import did_you_mean, meant
from bridge.pipelines.expressions import Known
from bridge.pipelines.foreign import foreign
from bridge.pipelines.reading import Made, Reading
from bridge.policy.command_grants import refusal
from bridge.policy.condition_text import EXPRESSION
from bridge.policy.shell_signs import expansion_sign, shell_sign
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from bridge.flow.details import AgentCall, Detail, ExecCall, Template
    from bridge.flow.plan import Step

# Each stands for an expression while words are split, if the text has it not itself.
_STAND_INS = range(0xE000, 0xF900)
# What a shell would hand on as it is: `bash -c 'a | b'` is a plain list of three.
_QUOTED = re.compile(r"""'[^']*'|"[^"\\$`]*\"""")


class NeedsShell(ValueError):
    """A command has something that only a shell understands."""


def split_command(command: str) -> list[str]:
    """The words of a command, expressions as they are written.

    Raises:
        NeedsShell: it has signs of a shell; says the list to write instead.
    """
    expressions = [found[0] for found in EXPRESSION.finditer(command)]
    free = (chr(code) for code in _STAND_INS if chr(code) not in command)
    stands_for = dict(zip(free, expressions, strict=False))
    signs = iter(stands_for)
    plain = EXPRESSION.sub(lambda _: next(signs, ""), command).strip()
    bare = _QUOTED.sub('""', plain)
    sign = shell_sign(bare) or expansion_sign(bare)
    if sign or len(stands_for) < len(expressions):
        shown = {"\n": "a line break", "": "it"}.get(sign or "", sign)
        argv = json.dumps(_as_script(plain, stands_for), ensure_ascii=False)
        raise NeedsShell(
            f"exec runs a program without a shell, and {shown} means nothing without "
            f"one; write the list: exec: {argv}"
        )
    words = shlex.split(plain)
    return ["".join(stands_for.get(sign, sign) for sign in word) for word in words]


def _as_script(plain: str, stands_for: dict[str, str]) -> list[str]:
    """A shell that is given the values as arguments: `$1` in place of the first."""
    parts, quote = [], ""
    numbers = {sign: number for number, sign in enumerate(stands_for, 1)}
    for sign in plain:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if sign not in numbers:
            parts.append(sign)
            continue
        name = f"${{{numbers[sign]}}}"
        parts.append({"": f'"{name}"', '"': name, "'": f"'\"{name}\"'"}[quote])
    script = "".join(parts)
    return [
        "bash",
        "-c",
        script,
        *(["bash", *stands_for.values()] if stands_for else []),
    ]


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
# Fields of an agent's step, and what they are in a plan.
_OF_CALL = {
    "prompt": "prompt", "task_id": "task_id", "workflow": "workflow", "mode": "mode",
    "model": "model", "arguments": "arguments", "worktree": "cwd",
}  # fmt: skip


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
        known = Known(("request_id", "agent", "task_id"), foreign("outputs")["agent"])
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
        step.expressions.text(place, raw)
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
        step.expressions.text((*place, at) if is_list else place, text)
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
        known = Known(known.fields, foreign("outputs")["wait"])
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
        step.expressions.condition(step.place_of("for"), f"steps[{name!r}]")
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
        hint = meant(action, _WORKTREE)
        step.error("worktree", f"no action is called {action!r}{hint}")
        return Made("worktree", "worktree", node, {})
    arguments = step.given(_WORKTREE[action])
    detail: Detail = {"worktree": {"action": action, "arguments": arguments}}
    known = Known(_MADE[action], foreign("outputs").get(action, {}))
    return Made("worktree", f"worktree {action}", node, detail, known)


class StepKind(NamedTuple):
    """A kind of step: how it is read, and what it takes beside what all have.

    Without `read` it is another spelling of one of the others.
    """

    read: Callable[[Reading], Made] | None
    takes: str = ""
    is_retried: bool = True


# By the field that says which kind a step is.
KINDS: Mapping[str, StepKind] = {
    "agent": StepKind(
        read_agent,
        "prompt model mode task_id workflow background worktree arguments timeout",
    ),
    "prompt": StepKind(read_agent, "model mode task_id background worktree timeout"),
    "exec": StepKind(read_exec, "cwd env timeout"),
    "tool": StepKind(read_tool, "arguments"),
    "wait": StepKind(read_wait, "timeout", is_retried=False),
    "pipeline": StepKind(read_pipeline, "inputs", is_retried=False),
    "worktree": StepKind(read_worktree, "arguments"),
    "set": StepKind(read_set, is_retried=False),
    "fail": StepKind(read_fail, is_retried=False),
    "approval": StepKind(read_approval, "timeout", is_retried=False),
    "mcp": StepKind(None),
    "invoke_pipeline": StepKind(None, "inputs", is_retried=False),
}
