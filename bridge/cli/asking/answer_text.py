"""An answer as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bridge.cli.common.output import indented, json_text
from bridge.cli.screen.screen import wrapped
from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from bridge.api.result import Result

_FURTHER = " " * 4


def answer_text(result: Result[Any]) -> str:
    """Status, summary and evidence of an AgentOutput; pretty JSON of anything else.

    Every line of the agent is further in than the line of ours that it belongs to.
    """
    parsed = result.parsed
    if not isinstance(parsed, AgentOutput):
        return json_text(result.response.parsed_output, pretty=True)
    lines = [_below(f"{parsed.status}: {parsed.summary}")]
    if parsed.evidence:
        lines += ["", "evidence:", *map(_evidence, parsed.evidence)]
    return "\n".join(lines)


def answer_lines(result: Result[Any], width: int | None) -> Iterator[str]:
    """The answer in lines that fit `width`; long ones go on below, further in."""
    return wrapped(answer_text(result), width, below=_FURTHER)


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
    said = [f"{one_line(item.type)}: {item.content}"]
    said += [f"$ {item.command}"] if item.command else []
    words = "\n".join(indented(_below(each)) for each in said)
    return f"  [{', '.join(marks)}]\n{words}"


def _below(text: str) -> str:
    """The text, with all but its first line moved in."""
    first, *others = text.splitlines()
    return "\n".join([first, *(_FURTHER + line if line else "" for line in others)])


def by_whom(result: Result[Any]) -> str | None:
    """Who answered, unless an open session did."""
    if result.route == "host":
        return None
    who = f"answered by route {result.route}"
    who += f" ({one_line(result.model)})" if result.model else ""
    if (by := result.served_by) is not None:
        who += f", by {one_line(by.route)} on {one_line(by.machine)}"
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
    mark = "  (degraded)" if result.degraded else ""
    return (
        f"{result.request_id}  {how}{mark}  {result.duration_s:.1f} s  "
        f"{one_line(words, 200)}"
    )
