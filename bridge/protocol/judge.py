"""Judge what an agent said: find the JSON in it, check it, name what is wrong.

Pure. The complaint of a refused answer is written for the agent, which may try again.
Everything an agent says is data from outside: sizes and depths are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.contract import HEADING, answer_schema
from bridge.protocol.embedded_json import Oddity, find_json
from bridge.protocol.record import first_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.request import Request

# Far above what a model can say in one message; checking it must not take a hook's
# time.
MAX_ANSWER_CHARS = 4_000_000
# A verdict that claims nothing that must be proved.
NOT_APPROVED = ("REJECTED", "NEEDS_REVIEW")
_MAX_COMPLAINT = 600
_ECHO_FROM = 80
_FILLED_IN = frozenset(
    {"agentId", "agent_id", "taskId", "task_id", "timestamp"}
    | {"toolUseId", "tool_use_id", "verified"}
)
# What the runner says of a command that it ran, in an item of evidence.
_SEEN = frozenset({"exitCode", "exit_code", "outputSha256", "output_sha256"})

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that hooks saw in the agent: `ok` is None while no end was seen."""

    tool: str
    tool_use_id: str
    command: str | None = None
    ok: bool | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth.

    `code` is None for a valid answer, `agent_failed` or `agent_blocked` for a valid one
    that reports trouble (`parsed` is set), any other code for one that does not count.
    """

    parsed: Any = None
    code: FailureCode | None = None
    complaint: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether there is a typed answer."""
        return self.code in (None, "agent_failed", "agent_blocked")


def judge(
    request: Request,
    words: str,
    *,
    calls: Sequence[ToolCall] | None = None,
    agent_id: str | None = None,
    now_ms: int = 0,
    must_verify: bool = False,
) -> Verdict:
    """Decide what the agent's last words are worth as an answer to `request`.

    `calls` are the tool calls seen in the agent; None where nobody could have seen any.
    With `must_verify` success counts only with evidence of a command that was seen to
    end well.
    """
    words = words.lstrip("\ufeff")
    if not words.replace("\ufeff", "").strip():
        return Verdict(code="empty_answer", complaint="the last message was empty")
    if len(words) > MAX_ANSWER_CHARS:
        return Verdict(
            code="schema_mismatch",
            complaint=f"the answer has {len(words):,} characters; "
            f"{MAX_ANSWER_CHARS:,} is the limit",
        )
    verdict = _choose(request, words)
    if not verdict.is_valid:
        return verdict
    if must_verify and not _is_verified(
        verdict.parsed, request.answer_schema, calls or ()
    ):
        return Verdict(
            code="unverified",
            complaint="success needs evidence: run the command, and name it in the "
            "`command` of an `evidence` item, letter for letter; or say how it failed",
        )
    if request.answer_schema is not None:
        return verdict
    return _check_output(
        request, verdict.parsed, calls=calls, agent_id=agent_id, now_ms=now_ms
    )


def result_told(value: Any, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The `status` and the `verdict` of an answer, as far as its form has them.

    An AgentOutput keeps keys that nobody asked for, and so may the caller's own form:
    such a key would take back a success that everybody else reads. For the same reason
    no verdict counts beside `status: success`. A form that names no key at all has any.
    """
    if not isinstance(value, dict):
        return {}
    form = _named_in(answer_schema(schema))
    names = {"status"} if value.get("status") == "success" else {"status", "verdict"}
    return {name: value[name] for name in names & (form or names) if name in value}


def _named_in(schema: dict[str, Any]) -> set[str]:
    """The properties that a schema names for the value itself, wherever in it."""
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
        parts.append(_referred(schema, part.get("$ref")))
    return found


def _referred(schema: dict[str, Any], reference: Any) -> Any:
    """What a `$ref` into the schema itself points at; None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    place: Any = schema
    for name in reference[1:].split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, dict) else None
    return place


def _is_verified(
    value: Any, schema: dict[str, Any] | None, calls: Sequence[ToolCall]
) -> bool:
    """Whether an answer claims no success, or has a command that was seen to succeed.

    An answer of the caller's own form claims success unless its `status` or its
    `verdict` is another word of ours.
    """
    if not isinstance(value, dict):
        return False
    told = result_told(value, schema)
    if told.get("status") in ("partial", "failed", "blocked"):
        return True
    if told.get("verdict") in NOT_APPROVED:
        return True
    evidence = value.get("evidence")
    items = evidence if isinstance(evidence, list) else []
    named = (item.get("command") for item in items if isinstance(item, dict))
    found = (_find_call(calls, name) for name in named if isinstance(name, str))
    return any(call is not None and call.ok is True for call in found)


def _choose(request: Request, words: str) -> Verdict:
    """Pick the one value in `words` that satisfies the schema."""
    schema = answer_schema(request.answer_schema)
    prompts = dict.fromkeys((request.prompt, request.spoken))
    echoed = any(_is_echo(prompt, words) for prompt in prompts)
    # By their bytes: to Python, 1 and true are equal.
    said = list(find_json(words))
    oddity = next((v.problem for v in said if isinstance(v, Oddity)), "")
    values = {_bytes(v): v for v in said if not isinstance(v, Oddity)}
    values.pop(_bytes(schema), None)
    if echoed:
        for value in chain.from_iterable(map(find_json, prompts)):
            if not isinstance(value, Oddity):
                values.pop(_bytes(value), None)
        if not values:
            return Verdict(
                code="prompt_echo",
                complaint="the last message repeats the prompt instead of answering it",
            )
    found = list(values.values())
    problems = _problems_of(request.answer_schema, found)
    valid = [v for v, problem in zip(found, problems, strict=True) if problem is None]
    if len(valid) == 1:
        return Verdict(parsed=valid[0])
    if valid:
        return Verdict(
            code="schema_mismatch",
            complaint=f"the last message holds {len(valid)} different JSON values "
            "that satisfy the schema; send exactly one",
        )
    if found:
        worst = problems[0] or ""
        return Verdict(code="schema_mismatch", complaint=_short(worst))
    return Verdict(
        code="no_json",
        complaint=oddity or "the last message holds no JSON value",
    )


def _is_echo(prompt: str, words: str) -> bool:
    if HEADING in words:
        return True
    said, asked = _squeeze(words), _squeeze(prompt)
    return said == asked or (len(asked) >= _ECHO_FROM and asked in said)


def _squeeze(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _bytes(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _problems_of(
    schema: dict[str, Any] | None, values: Sequence[Any]
) -> list[str | None]:
    if schema is None:
        return [_problem_of_output(value) for value in values]
    from bridge.protocol.json_schema import problems_of

    return problems_of(schema, values)


def _problem_of_output(value: Any) -> str | None:
    """What is wrong with an AgentOutput; by its model, which is there already.

    The JSON Schema says the same; to import what checks one takes a hook's time.
    """
    if not isinstance(value, dict):
        return "expected a JSON object"
    try:
        AgentOutput.model_validate(_own_words(value), strict=True)
    except ValueError as exc:
        return _short(first_problem(exc))
    return None


def _short(text: str) -> str:
    return text if len(text) <= _MAX_COMPLAINT else text[:_MAX_COMPLAINT] + "…"


def _check_output(
    request: Request,
    value: dict[str, Any],
    *,
    calls: Sequence[ToolCall] | None,
    agent_id: str | None,
    now_ms: int,
) -> Verdict:
    """Fill in what the bridge knows, and refuse evidence of calls nobody saw."""
    output = AgentOutput.model_validate(_own_words(value))
    evidence = []
    for place, item in enumerate(output.evidence):
        call = _find_call(calls or (), item.command)
        if item.command is not None and call is None and calls is not None:
            return Verdict(
                code="unverified",
                complaint=f"evidence[{place}] names the command "
                f"{_short(item.command)!r}, which was not seen to run here: run it, or "
                "drop the claim",
            )
        if call and item.passed and call.ok is False:
            return Verdict(
                code="unverified",
                complaint=f"evidence[{place}] says that {_short(item.command or '')!r} "
                "passed, but the call failed",
            )
        known = call is not None and call.ok is not None
        evidence.append(
            item.model_copy(
                update={
                    "verified": known,
                    "tool_use_id": call.tool_use_id if call else None,
                }
            )
        )
    parsed = output.model_copy(
        update={
            "evidence": tuple(evidence),
            "agent_id": agent_id,
            "task_id": request.task_id,
            "timestamp": now_ms,
        }
    ).model_dump(mode="json", by_alias=True)
    verdict = Verdict(parsed=parsed)
    if output.status == "failed":
        return replace(verdict, code="agent_failed", complaint=output.summary)
    if output.status == "blocked":
        return replace(verdict, code="agent_blocked", complaint=output.summary)
    return verdict


def _own_words(value: dict[str, Any]) -> dict[str, Any]:
    """The answer without what the bridge fills in: whatever an agent says there."""
    kept = {key: part for key, part in value.items() if key not in _FILLED_IN}
    evidence = value.get("evidence")
    if isinstance(evidence, list):
        kept["evidence"] = [
            {k: part for k, part in item.items() if k not in _FILLED_IN | _SEEN}
            if isinstance(item, dict)
            else item
            for item in evidence
        ]
    return kept


def _find_call(calls: Sequence[ToolCall], command: str | None) -> ToolCall | None:
    """The newest finished call that ran `command`, or the newest at all."""
    if command is None:
        return None
    wanted = _squeeze(command)
    same = [c for c in calls if c.command and _squeeze(c.command) == wanted]
    finished = [c for c in same if c.ok is not None]
    return next(reversed(finished or same), None)
