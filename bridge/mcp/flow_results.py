"""What the tools of flows return: a run, its steps, and what it came to."""

from typing import Any

import orjson
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from bridge.api.flow_result import FlowResult
from bridge.engine.run_ids import LIVE
from bridge.mcp.results import MAX_ANSWER_BYTES, MAX_TEXT_CHARS, tool_result, uri_of

MAX_STEPS = 100


class FlowStep(BaseModel):
    """A step of a flow: how far it is, and why."""

    id: str
    what: str
    state: str
    took_s: float | None
    request_id: str | None
    why: str


class Checkpoint(BaseModel):
    """What a flow asks a person; you cannot answer it."""

    question: str
    answer_with: str = Field(description="What the person types in a terminal.")


class FlowRun(BaseModel):
    """A run of a flow, and what it came to once it has ended."""

    run: str
    flow: str
    status: str = Field(description="running, paused, completed, failed or cancelled.")
    why: str = Field(description="Why it did not complete.")
    next: str | None = Field(default=None, description="What you must do now.")
    waits_for_person: list[Checkpoint]
    success: bool | None = Field(default=None, description="null until it has ended.")
    text: str = Field(description="What its last steps answered.")
    answers: list[Any] = Field(description="Their whole answers.")
    variables: dict[str, Any] = Field(description="What steps made; null: not yet.")
    steps: list[FlowStep]
    asked: int = Field(description="How many agents were asked.")
    trusted: bool = Field(description="false: it rests on a small model's answer.")
    duration_s: float


def flow_of(
    done: FlowResult, waits: list[Checkpoint], then: str | None = None
) -> FlowRun:
    """A run as a tool returns it; `then` is what its caller must do."""
    has_ended = done.status not in LIVE
    steps = done.steps
    if len(steps) > MAX_STEPS:
        open_ones = ("open", "failed", "error", "stopped")
        steps = [each for each in steps if each.state in open_ones][:MAX_STEPS]
    answers, variables, text = done.answers, done.variables, done.text
    if len(orjson.dumps([answers, variables, text])) > MAX_ANSWER_BYTES:
        answers, variables = [], dict.fromkeys(variables)
        text = f"{text[:MAX_TEXT_CHARS]}…"
        then = then or f"The answers are long: read those of `steps`, as {uri_of('ID')}"
    return FlowRun(
        run=done.run,
        flow=done.name,
        status=done.status,
        why=done.why,
        next=then,
        waits_for_person=waits,
        success=done.success if has_ended else None,
        text=text,
        answers=answers,
        variables=variables,
        steps=[
            FlowStep(
                id=each.node,
                what=each.what.strip(),
                state=each.says or "waiting",
                took_s=each.took_s,
                request_id=each.request_id,
                why=each.why,
            )
            for each in steps
        ],
        asked=done.asked,
        trusted=not done.degraded,
        duration_s=done.duration_s,
    )


def result_of(flow: FlowRun) -> CallToolResult:
    """A run as a result of a tool; one that did not complete is an error."""
    result = tool_result(flow, _text_of(flow))
    result.is_error = flow.status in ("failed", "cancelled")
    return result


def _text_of(flow: FlowRun) -> str:
    ended = f": {flow.why}" if flow.why else ""
    lines = [f"{flow.flow or 'a flow'} ({flow.run}): {flow.status}{ended}"]
    lines += [
        f"{each.id} {each.what}: {each.state}"
        for each in flow.steps
        if flow.status in LIVE
    ]
    lines += [
        f"It asks a person: {each.question}\nYou cannot answer; your user can, with: "
        f"{each.answer_with}"
        for each in flow.waits_for_person
    ]
    lines += [each for each in (flow.text, flow.next) if each]
    return "\n".join(lines)[:MAX_TEXT_CHARS]
