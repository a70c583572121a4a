"""`hostbridge workflow status|activate|end`: step workflows of open conversations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_pairs
from bridge.cli.common.output import (
    ago,
    json_text,
    prose,
    say,
    say_json,
    say_result,
    visible,
)
from bridge.cli.screen.screen import Styled, screen_of, wrapped
from bridge.errors import InvalidRequest
from bridge.protocol.wording import fitted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from bridge.api.active_workflow import ActiveWorkflow
    from bridge.api.bridge import Bridge
    from bridge.cli.screen.screen import Line
    from bridge.policy.step_record import StepRecord

    Json = dict[str, Any]

_FURTHER = " " * 4
_LAST = 5
_MAX_VALUE = 60


def activate(bridge: Bridge, words: list[str], options: Namespace) -> int:
    """Begin a step workflow; returns the exit code."""
    if len(words) != 1:
        raise InvalidRequest(f"try: {options.prog} activate NAME --param task=42")
    params = read_pairs("--param", options.param)
    begun = bridge.workflows.activate(words[0], params, session=options.session)
    code, step = begun.record["code"], begun.record["step"]
    line = f"{code['name']} is active: step {step}"
    own = sorted(code["variables"].keys() - code["owners"].keys())
    more = [f"it begins with what happens next in {_where(begun.record)}"]
    if own:
        way = "the model sets them with set_variables, or `hostbridge vars set`"
        more.append(f"variables: {', '.join(own)}; {way}")
    lines = [visible(each) for each in (line, *(_FURTHER + one for one in more))]
    say_result(options, _value_of(begun.record, {}), *lines)
    return Exit.OK


def _where(record: StepRecord) -> str:
    session = record.get("session")
    return f"session {session}" if session else "the agent"


def status(bridge: Bridge, options: Namespace) -> int:
    """Say what is active here; returns the exit code."""
    found = bridge.workflows.status()
    if options.session:
        found = [
            each
            for each in found
            if each.holder.owner_id.startswith(options.session)
            or _session_of(each).startswith(options.session)
        ]
    if options.as_json:
        for each in found:
            say_json({"of": each.of, **_shown(each)})
    else:
        width = screen_of(sys.stdout).width
        for each in found:
            for line in _lines(bridge, each):
                if isinstance(line, tuple):
                    say(line)
                else:
                    say(*wrapped(line, width, below=_FURTHER * 2))
        if not found:
            say("no step workflow is active; begin one: hostbridge workflow activate")
    return Exit.FAILED if any(each.problem for each in found) else Exit.OK


def _session_of(found: ActiveWorkflow) -> str:
    return found.record.get("session", "") if found.record else ""


def _shown(found: ActiveWorkflow) -> Json:
    if found.record is None:
        return {"problem": found.problem}
    value = _value_of(found.record, dict(found.variables))
    return value | {"isChanged": found.is_changed}


def _value_of(record: StepRecord, variables: Json) -> Json:
    code = record["code"]
    step = code["steps"][record["step"]]
    return {
        "name": code["name"],
        "run": record["run"],
        "file": code["file"],
        "step": record["step"],
        "session": record["session"],
        "by": record["by"],
        "activatedAt": record["activatedAt"],
        "gate": step["gate"],
        "transitions": [
            {"to": t["to"], "when": t["text"]} for t in step["transitions"]
        ],
        "message": record["message"],
        "variables": variables,
        "owners": code["owners"],
        "history": record["history"],
        "problems": record["problems"],
    }


def _lines(bridge: Bridge, found: ActiveWorkflow) -> Iterator[Line]:
    if found.record is None:
        yield Styled(visible(found.of), "bold"), ""
        yield _FURTHER + prose(found.problem, _FURTHER * 2)
        return
    record, code = found.record, found.record["code"]
    since = ago((bridge.store.now_ms() - record["activatedAt"]) / 1000)
    head = visible(f"  step {record['step']}  ({found.of}, begun {since})")
    yield Styled(visible(code["name"]), "bold"), head
    for line in _told(found, record):
        yield _FURTHER + prose(line, _FURTHER * 2)


def _told(found: ActiveWorkflow, record: StepRecord) -> Iterator[str]:
    code = record["code"]
    step = code["steps"][record["step"]]
    if record.get("entering"):
        yield "it begins with what happens next in the conversation"
    if record.get("waits"):
        yield f"waits: {record['waits']}"
    gate = step["gate"]
    if gate["tools"] is not None:
        names = ", ".join([*gate["tools"], *(gate["mcp"] or ())])
        yield f"tools: {names or 'none'}"
    if refused := [*gate["blocked"], *gate["blockedMcp"]]:
        yield f"refuses: {', '.join(refused)}"
    for each in step["transitions"]:
        yield f"to {each['to']} when {each['text']}"
    for name, value in found.variables.items():
        owner = "" if code["owners"].get(name) != "tool" else "  (set by tools)"
        yield f"{name} = {fitted(json_text(value), _MAX_VALUE)}{owner}"
    for _at, before, after, why in record["history"][-_LAST:]:
        yield f"went {f'from {before} ' if before else ''}to {after}: {why}"
    for problem in record["problems"][-_LAST:]:
        yield f"problem: {problem}"
    if found.is_changed:
        yield f"{code['file']} has changed since: this goes on as it was"


def end(bridge: Bridge, options: Namespace) -> int:
    """End a step workflow before its time; returns the exit code."""
    ended = bridge.workflows.end(session=options.session, agent=options.agent)
    if ended is None:
        line = "what was active could not be read; its record was put aside"
        say_result(options, {"name": None, "step": None}, line)
        return Exit.OK
    record = ended.record
    line = f"{record['code']['name']} has ended in step {record['step']}"
    value = {"name": record["code"]["name"], "step": record["step"]}
    say_result(options, value, visible(line))
    return Exit.OK
