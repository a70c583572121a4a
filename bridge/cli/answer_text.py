"""An answer as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.cli.output import indented, json_text
from bridge.protocol.agent_output import AgentOutput

if TYPE_CHECKING:
    from bridge.api.result import Result
    from bridge.protocol.agent_output import Evidence


def answer_text(result: Result[Any]) -> str:
    """Status, summary and evidence of an AgentOutput; pretty JSON of anything else."""
    parsed = result.parsed
    if not isinstance(parsed, AgentOutput):
        return json_text(result.response.parsed_output, pretty=True)
    lines = [f"{parsed.status}: {parsed.summary}"]
    if parsed.evidence:
        lines += ["", "evidence:", *map(_evidence, parsed.evidence)]
    return "\n".join(lines)


def bare_text(result: Result[Any]) -> str:
    """The summary of an AgentOutput, text as it is; pretty JSON of anything else."""
    if isinstance(result.parsed, AgentOutput):
        return result.parsed.summary
    value = result.response.parsed_output
    return value if isinstance(value, str) else json_text(value, pretty=True)


def _evidence(item: Evidence) -> str:
    marks = ["verified" if item.verified else "not verified"]
    if item.passed is not None:
        marks.append("passed" if item.passed else "did not pass")
    command = f"\n$ {item.command}" if item.command else ""
    words = indented(f"{item.type}: {item.content}{command}")
    return f"  [{', '.join(marks)}]\n{words}"


def by_whom(result: Result[Any]) -> str | None:
    """Who answered, unless an open session did."""
    if result.route == "host":
        return None
    who = f"answered by route {result.route}"
    who += f" ({result.model})" if result.model else ""
    if result.degraded and result.trusted:
        return f"{who}, degraded: rely on its verified evidence, not on its words"
    return f"{who}, degraded: not to be relied on" if result.degraded else who


def result_line(result: Result[Any]) -> str:
    """One line for one of many: id, how it ended, after how long, its first words."""
    how: str
    if result.error is not None:
        how, words = result.error.code, result.error.message
    elif isinstance(result.parsed, AgentOutput):
        how, words = result.parsed.status, result.parsed.summary
    else:
        how, words = "success", json_text(result.parsed)
    from bridge.host.output import one_line

    mark = "  (degraded)" if result.degraded else ""
    return (
        f"{result.request_id}  {how}{mark}  {result.duration_s:.1f} s  "
        f"{one_line(words, 200)}"
    )
