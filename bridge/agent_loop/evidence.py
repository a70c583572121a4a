"""A model's word is not evidence: what ran is, and what a claim is worth beside it.

Pure. Every command and script that the loop ran is attached to the answer with
`verified: true`. An agent that requires verified evidence tells no result without it,
be it success or failure: where nothing ran it can say that it is blocked, or approve of
nothing. And it has no success against it: where the last run of any command failed, the
answer reports failure, whatever it says.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from bridge.protocol.agent_output import Evidence
from bridge.protocol.judge import (
    NOT_APPROVED,
    ToolCall,
    Verdict,
    judge,
    reported_result,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.agent_loop.command_tool import Ran
    from bridge.agent_loop.tool import ToolResult
    from bridge.protocol.request import Request

_FAILURES = ("failed", "blocked")
# What may be said of commands that all passed, and of any that failed.
_PASSED = {
    "status": ("success", "partial", "blocked"),
    "verdict": ("APPROVED", "NEEDS_REVIEW"),
}
_FAILED = {"status": _FAILURES, "verdict": NOT_APPROVED}


@dataclass(frozen=True, slots=True)
class Seen:
    """A tool call that the loop carried out."""

    tool_use_id: str
    tool: str
    result: ToolResult

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What it proves: each command that ran in it, and the script that it was."""
        found = [_of_command(self.tool_use_id, ran) for ran in self.result.ran]
        if self.result.is_script:
            found.append(
                Evidence(
                    type="script",
                    content=f"{self.tool} {'ran' if self.result.ok else 'failed'}",
                    passed=self.result.ok,
                    tool_use_id=self.tool_use_id,
                    verified=True,
                )
            )
        return tuple(found)


def _of_command(tool_use_id: str, ran: Ran) -> Evidence:
    ended = "ended at its time limit"
    if ran.exit_code is not None:
        ended = f"exit code {ran.exit_code}"
    return Evidence.model_validate(
        {
            "type": "command",
            "content": f"{ended}, {ran.size:,} bytes of output",
            "passed": ran.ok,
            "command": ran.command,
            "toolUseId": tool_use_id,
            "verified": True,
            "exitCode": ran.exit_code,
            "outputSha256": ran.digest,
        }
    )


def all_evidence(seen: Sequence[Seen]) -> tuple[Evidence, ...]:
    """What was seen to run, in its order."""
    return tuple(item for call in seen for item in call.evidence)


def weigh(
    request: Request,
    value: Any,
    seen: Sequence[Seen],
    *,
    agent_id: str,
    must_be_verified: bool,
    now_ms: int,
) -> Verdict:
    """Decide what a submitted value is worth as the answer to `request`."""
    if request.answer_schema is None and isinstance(value, dict):
        value, unknown = _claims_by_command(value, seen)
        if unknown:
            return Verdict(code="unverified", complaint=unknown)
    try:
        words = orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, RecursionError) as exc:
        return Verdict(code="AGENT_003", complaint=f"cannot be kept as JSON: {exc}")
    verdict = judge(
        request, words, calls=_calls(seen), agent_id=agent_id, now_ms=now_ms
    )
    if not verdict.is_valid:
        return verdict
    if request.answer_schema is None:
        verdict = _attached(verdict, value, seen)
    told = reported_result(verdict.parsed, request.answer_schema)
    if not must_be_verified or _claims_nothing(told):
        return verdict
    if told.get("status") == "failed" and _last_runs(seen):
        # A failure may be one that no command shows; but some command ran.
        return verdict
    return _held_to(verdict, seen, can_change=request.answer_schema is None)


def _claims_by_command(
    value: dict[str, Any], seen: Sequence[Seen]
) -> tuple[dict[str, Any], str]:
    """The answer with claims that name a call naming its command; what is wrong.

    A claim keeps to commands where it can: by them it is compared with what ran.
    """
    claims = value.get("evidence")
    if not isinstance(claims, list):
        return value, ""
    known = {call.tool_use_id: call for call in seen}
    changed = []
    for place, claim in enumerate(claims):
        named = claim.get("toolUseId") if isinstance(claim, dict) else None
        if not isinstance(named, str) or not named:
            changed.append(claim)
            continue
        if named not in known:
            calls = ", ".join(known) or "none"
            return value, f"evidence[{place}] names {named!r}; the calls are: {calls}"
        ran = known[named].result.ran
        command = {"command": ran[-1].command} if ran else {}
        changed.append({**claim, **command})
    return {**value, "evidence": changed}, ""


def _calls(seen: Sequence[Seen]) -> list[ToolCall]:
    return [
        ToolCall(call.tool, call.tool_use_id, ran.command, ran.ok)
        for call in seen
        for ran in call.result.ran
    ]


def _attached(verdict: Verdict, value: dict[str, Any], seen: Sequence[Seen]) -> Verdict:
    """The answer with what ran after what was claimed.

    A claim that rests on a call without a command says which; that alone proves
    nothing.
    """
    parsed = verdict.parsed
    named = [claim.get("toolUseId") for claim in value.get("evidence") or ()]
    claims = [
        {
            **claim,
            "toolUseId": claim["toolUseId"]
            or (name if isinstance(name, str) else None),
        }
        for claim, name in zip(parsed["evidence"], named, strict=True)
    ]
    proof = [item.to_data() for item in all_evidence(seen)]
    return replace(verdict, parsed={**parsed, "evidence": [*claims, *proof]})


def _claims_nothing(told: dict[str, Any]) -> bool:
    """Whether the answer tells no result: to be blocked, to approve of nothing."""
    return told.get("status") == "blocked" or told.get("verdict") in NOT_APPROVED


def held_to_what_ran(schema: dict[str, Any], seen: Sequence[Seen]) -> dict[str, Any]:
    """The schema of an answer whose `status` and `verdict` agree with what ran.

    For a model too small to read an exit code. What nothing ran for stays open.
    """
    runs = _last_runs(seen)
    if not runs:
        return schema
    allowed = _PASSED if all(item.passed for item in runs.values()) else _FAILED
    properties = dict(schema.get("properties", {}))
    for name, words in allowed.items():
        part = properties.get(name)
        if isinstance(part, dict) and (left := _both(part.get("enum"), words)):
            properties[name] = {**part, "enum": left}
    return {**schema, "properties": properties} if properties else schema


def _both(known: Any, words: Sequence[str]) -> list[str]:
    return [word for word in known if word in words] if isinstance(known, list) else []


def _last_runs(seen: Sequence[Seen]) -> dict[tuple[str, ...], Evidence]:
    """The last run of each command, however it was spelt, and of each script."""
    return {_what(call, item): item for call in seen for item in call.evidence}


def _what(call: Seen, item: Evidence) -> tuple[str, ...]:
    # What ran was split by the same rules.
    words = [call.tool] if item.command is None else shlex.split(item.command)
    return (item.type, *words)


def _held_to(verdict: Verdict, seen: Sequence[Seen], *, can_change: bool) -> Verdict:
    """A claimed result against what ran: the last run of each thing counts."""
    last = _last_runs(seen)
    if not last:
        return Verdict(
            code="unverified",
            complaint="nothing was seen to run, so this answer rests on nothing: run "
            "what shows it, or say that you are blocked",
        )
    failed = [(what, item) for what, item in last.items() if not item.passed]
    if not failed:
        return verdict
    (_, *words), item = failed[-1]
    what = item.command or words[0]
    parsed = {**verdict.parsed, "status": "failed"} if can_change else verdict.parsed
    return Verdict(
        parsed=parsed,
        code="agent_failed",
        complaint=f"success was claimed, but {what!r} failed: {item.content}",
    )
