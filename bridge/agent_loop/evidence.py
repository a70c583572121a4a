"""Judge a model's answer by what was seen to run. Pure.

Every command and script that the loop ran is attached to the answer with
`verified: true`. An agent that requires verified evidence can report neither success
nor failure without any: if nothing ran, it can only say that it is blocked, or not
approve. Nor can it contradict the evidence: if the last run of any command failed, the
answer reports failure, whatever it says.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bridge.agent_loop.command_tool import Ran
from bridge.agent_loop.tool import ToolResult
from bridge.protocol.agent_output import Evidence
from bridge.protocol.claimed_commands import NOT_APPROVED, ToolCall, reported_result
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.request import Request

# What an answer may say if all commands passed, and if any failed.
_PASSED = {
    "status": ("success", "partial", "blocked"),
    "verdict": ("APPROVED", "NEEDS_REVIEW"),
}
_FAILED = {"status": ("failed", "blocked"), "verdict": NOT_APPROVED}


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool call that the loop carried out."""

    tool_use_id: str
    tool: str
    result: ToolResult

    @property
    def evidence(self) -> list[Evidence]:
        """What it proves: each command that it ran, and its script if it was one."""
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
        return found


def _of_command(tool_use_id: str, ran: Ran) -> Evidence:
    return Evidence.model_validate(
        {
            "type": "command",
            "content": f"{ran.ended}, {ran.size:,} bytes of output",
            "passed": ran.ok,
            "command": ran.command,
            "toolUseId": tool_use_id,
            "verified": True,
            "exitCode": ran.exit_code,
            "outputSha256": ran.digest,
        }
    )


def all_evidence(calls: Sequence[ToolRun]) -> tuple[Evidence, ...]:
    """The evidence of all calls, in order."""
    return tuple(item for call in calls for item in call.evidence)


def judge_submitted(
    request: Request,
    value: Any,
    calls: Sequence[ToolRun],
    *,
    agent_id: str,
    must_be_verified: bool,
    now_ms: int,
) -> Judgement:
    """Judge a submitted value as the answer to `request`."""
    is_output = request.answer_schema is None
    if is_output and isinstance(value, dict):
        value, problem = _with_commands(value, calls)
        if problem:
            return Judgement(code="unverified", complaint=problem)
    words = orjson.dumps(value).decode()
    seen = [
        ToolCall(call.tool, call.tool_use_id, ran.command, ran.ok)
        for call in calls
        for ran in call.result.ran
    ]
    verdict = judge(request, words, calls=seen, agent_id=agent_id, now_ms=now_ms)
    if not verdict.is_valid:
        return verdict
    if is_output:
        verdict = _with_evidence(verdict, value, calls)
    result = reported_result(verdict.parsed, request.answer_schema)
    # To be blocked, or not to approve, claims no result.
    is_blocked = result.get("status") == "blocked"
    if not must_be_verified or is_blocked or result.get("verdict") in NOT_APPROVED:
        return verdict
    last = _last_runs(calls)
    if not last:
        return Judgement(
            code="unverified",
            complaint="nothing was seen to run, so this answer rests on nothing: run "
            "what shows it, or say that you are blocked",
            told="nothing was seen to run",
        )
    failed = [(what, item) for what, item in last.items() if not item.passed]
    # A failure may be one that no command shows.
    if result.get("status") == "failed" or not failed:
        return verdict
    (_, name, *_), item = failed[-1]
    what = item.command or name
    if is_output:
        verdict = verdict._replace(parsed={**verdict.parsed, "status": "failed"})
    return verdict._replace(
        code="agent_failed",
        complaint=f"success was claimed, but {what!r} failed: {item.content}",
    )


def _with_commands(
    value: dict[str, Any], calls: Sequence[ToolRun]
) -> tuple[dict[str, Any], str]:
    """The answer with the command of each call that a claim names, and any problem.

    `judge` compares claims with what ran by their commands.
    """
    claims = value.get("evidence")
    if not isinstance(claims, list):
        return value, ""
    known = {call.tool_use_id: call.result.ran for call in calls}
    changed = []
    for place, claim in enumerate(claims):
        named = claim.get("toolUseId") if isinstance(claim, dict) else None
        if isinstance(named, str) and named:
            if named not in known:
                ids = ", ".join(known) or "none"
                return value, f"evidence[{place}] names {named!r}; the calls are: {ids}"
            if ran := known[named]:
                claim = {**claim, "command": ran[-1].command}  # noqa: PLW2901
        changed.append(claim)
    return {**value, "evidence": changed}, ""


def _with_evidence(
    verdict: Judgement, value: dict[str, Any], calls: Sequence[ToolRun]
) -> Judgement:
    """The answer with its claims, followed by what ran.

    A claim keeps the id of the call it names, even of one that ran no command and so
    proves nothing.
    """
    parsed = verdict.parsed
    claims = []
    for kept, claim in zip(parsed["evidence"], value.get("evidence", ()), strict=True):
        named = claim.get("toolUseId")
        known = named if isinstance(named, str) else None
        claims.append({**kept, "toolUseId": kept["toolUseId"] or known})
    proof = [item.to_data() for item in all_evidence(calls)]
    return verdict._replace(parsed={**parsed, "evidence": [*claims, *proof]})


def consistent_schema(
    schema: dict[str, Any], calls: Sequence[ToolRun]
) -> dict[str, Any]:
    """The schema of an answer whose `status` and `verdict` agree with what ran.

    For a model too small to understand an exit code. If nothing ran, both stay open.
    """
    runs = _last_runs(calls)
    if not runs or "properties" not in schema:
        return schema
    allowed = _PASSED if all(item.passed for item in runs.values()) else _FAILED
    properties = dict(schema["properties"])
    for name, words in allowed.items():
        part = properties.get(name)
        if not isinstance(part, dict):
            continue
        if left := [word for word in part.get("enum", ()) if word in words]:
            properties[name] = {**part, "enum": left}
    return {**schema, "properties": properties}


def _last_runs(calls: Sequence[ToolRun]) -> dict[tuple[str, ...], Evidence]:
    """The last run of each command, however it was quoted, and of each script."""
    runs = {}
    for call in calls:
        for item in call.evidence:
            # It ran, so it can be split.
            words = [call.tool] if item.command is None else shlex.split(item.command)
            runs[(item.type, *words)] = item
    return runs
