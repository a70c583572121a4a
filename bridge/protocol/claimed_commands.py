"""Compare the commands that an answer names with the commands that were seen to run.

Pure. Only what a hook or our own loop saw counts as verified.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.contract import answer_schema
from bridge.protocol.keywords import part_at
from bridge.protocol.response import CHECK, Response
from bridge.protocol.wording import shortened, unseen

# Verdicts that claim no success, so they need no proof.
NOT_APPROVED = ("REJECTED", "NEEDS_REVIEW")
_MAX_QUOTED = 600
# Where blanks and the ends of lines mean something. To a shell, all that is no blank of
# ASCII is part of a word.
_EXACT = re.compile(r"['\"\\\n\r\v\f]")
_BLANKS = re.compile(r"[ \t]+")


class ToolCall(NamedTuple):
    """An agent's tool call that a hook saw.

    Attributes:
        command: of a shell, as a claim must name it.
        ok: whether it ended with 0; None until its end was seen, or if nobody can tell.
        folder: where it started, if that is known.
        within: what it did in the agent's own folder, if it had to change to that
            first: `pytest` for `cd FOLDER && pytest`.
    """

    tool: str
    tool_use_id: str
    command: str | None = None
    ok: bool | None = None
    folder: str | None = None
    within: str | None = None


def with_what_was_seen(
    evidence: Sequence[Evidence], calls: Sequence[ToolCall] | None
) -> tuple[Evidence, ...] | str:
    """The evidence with what was seen of each command; or why it is rejected.

    `calls` are the agent's tool calls that were seen; None if nobody could see any.
    """
    found = []
    for position, item in enumerate(evidence):
        call = find_call(calls or (), item.command)
        quoted = repr(shortened(item.command or "", _MAX_QUOTED))
        if item.command is not None and call is None and calls is not None:
            return (
                f"evidence[{position}] names the command {quoted}, which was not seen "
                f"to run here{_elsewhere(item.command, calls)}"
            )
        if call and item.passed and call.ok is False:
            return (
                f"evidence[{position}] says that {quoted} passed, but the call failed"
            )
        found.append(
            item.with_(
                verified=call is not None and call.ok is not None,
                tool_use_id=call.tool_use_id if call else None,
            )
        )
    return tuple(found)


def _elsewhere(command: str, calls: Sequence[ToolCall]) -> str:
    """By what a command is to be claimed that ran in another folder."""
    for call in calls:
        if call.command and call.command.endswith(f" && {command.strip()}"):
            return f", but as {shortened(call.command, _MAX_QUOTED)!r}"
    return ""


def reported_result(value: Any, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The `status` and the `verdict` of an answer, if its schema has them.

    An answer may have keys that its schema does not name. Ignore them, so that they
    cannot turn a success into a failure. For the same reason, no verdict counts beside
    `status: success`. A schema that names no keys allows both.
    """
    if not isinstance(value, dict):
        return {}
    allowed = _named_in(answer_schema(schema))
    names = {"status"} if value.get("status") == "success" else {"status", "verdict"}
    return {name: value[name] for name in names & (allowed or names) if name in value}


def _named_in(schema: dict[str, Any]) -> set[str]:
    """All properties of the value itself that any part of a schema names."""
    found: set[str] = set()
    parts: list[Any] = [schema]
    seen: set[int] = set()
    while parts:
        part = parts.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        properties = part.get("properties")
        found.update(properties if isinstance(properties, dict) else ())
        for key in ("allOf", "anyOf", "oneOf"):
            branches = part.get(key)
            parts += branches if isinstance(branches, list) else []
        parts += [part.get(key) for key in ("if", "then", "else")]
        parts.append(part_at(schema, str(part.get("$ref"))))
    return found


def is_verified(
    value: Any, schema: dict[str, Any] | None, calls: Sequence[ToolCall]
) -> bool:
    """Whether an answer claims no success, or names a command that succeeded.

    A partial success is one. An answer with its own schema claims success unless its
    `status` or its `verdict` says otherwise, in the words of AgentOutput or a review.
    """
    if not isinstance(value, dict):
        return False
    result = reported_result(value, schema)
    if result.get("status") in ("failed", "blocked"):
        return True
    if result.get("verdict") in NOT_APPROVED:
        return True
    evidence = value.get("evidence")
    items = evidence if isinstance(evidence, list) else []
    named = (item.get("command") for item in items if isinstance(item, dict))
    found = (find_call(calls, name) for name in named if isinstance(name, str))
    return any(call is not None and call.ok is True for call in found)


def find_call(calls: Sequence[ToolCall], command: str | None) -> ToolCall | None:
    """The last finished call that ran `command`, or else the last one."""
    # Nobody can tell by looking what a character does that is not seen.
    if command is None or unseen(command, kept="\n\t"):
        return None
    wanted = _compared(command)
    same = [
        call
        for call in calls
        if any(
            said and _compared(said) == wanted for said in (call.command, call.within)
        )
    ]
    finished = [c for c in same if c.ok is not None]
    return next(reversed(finished or same), None)


def _compared(command: str) -> str:
    """A command without the blanks that mean nothing to a shell."""
    command = command.strip(" \t\n")
    return command if _EXACT.search(command) else _BLANKS.sub(" ", command)


def rests_on_evidence(response: Response) -> bool:
    """Whether commands or scripts were seen to run, and the last run of each passed.

    Everything in an answer with its own schema is the agent's claim, so there only the
    record of the run counts.
    """
    last = {
        (item.type, item.command or item.content): item.passed
        for item in _evidence(response)
        if item.verified
    }
    return bool(last) and all(passed is True for passed in last.values())


def _evidence(response: Response) -> list[Evidence]:
    """What ran before the answer was given, in the order in which it ran."""
    if response.run:
        seen = response.run.evidence
        return [e for e in seen if not (e.tool_use_id or "").startswith(CHECK)]
    parsed = response.parsed_output
    if response.own_form or not isinstance(parsed, dict) or "status" not in parsed:
        return []
    return list(AgentOutput.model_validate(parsed).evidence)
