"""The spans of a journal: one for each request and each run that has ended. Pure.

A span lies in the trace of its asker (`traceparent`); without one, in that of the run
or of the request that made it; and otherwise it begins a trace. All ids follow from
names, so the same journal always gives the same spans, and a part of it that is
exported again gives no second span.

Names and attributes are those of OpenTelemetry's conventions for agents where there is
one, and begin with `hostbridge.` otherwise.

Source: OpenTelemetry semantic conventions, "GenAI agent spans".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.protocol.status import FINAL, Status
from bridge.protocol.trace_context import (
    TraceContext,
    find_context,
    span_of,
    trace_of,
)

Json = Mapping[str, Any]
Attribute = str | int | float | bool

_RUN_ENDS = {
    "run completed": Status.COMPLETED,
    "run failed": Status.FAILED,
    "run cancelled": Status.CANCELLED,
}
_BEGINS = frozenset({"submitted", "run begun"})
# What is known of an end, and its name as an attribute.
_ATTRIBUTES = {
    "agent": "gen_ai.agent.name",
    "model": "gen_ai.response.model",
    "flow": "hostbridge.flow",
    "route": "hostbridge.route",
    "by": "hostbridge.requester",
    "taskId": "hostbridge.task.id",
    "degraded": "hostbridge.degraded",
    "verified": "hostbridge.verified",
    "code": "error.type",
    "why": "hostbridge.why",
}
_USAGE = {
    "inputTokens": "gen_ai.usage.input_tokens",
    "outputTokens": "gen_ai.usage.output_tokens",
    "cacheReadTokens": "gen_ai.usage.cache_read.input_tokens",
    "cacheWriteTokens": "gen_ai.usage.cache_creation.input_tokens",
}
# Longer texts are cut: names and reasons may come from anybody.
MAX_TEXT = 500
# More parents than that stand above no request.
_MAX_ABOVE = 64


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened on the way; `at_ms` is in milliseconds since 1970."""

    name: str
    at_ms: int
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class Span:
    """One request or one run, from its beginning to its end.

    Attributes:
        name: what was asked of whom, such as `invoke_agent reviewer`.
        context: its trace and its own id.
        parent: the span that it belongs to; None if it begins its trace.
        start_ms, end_ms: milliseconds since 1970.
        attributes: what is known about it.
        events: what happened on the way, oldest first.
        error: how it failed, in one word; None for a success.
    """

    name: str
    context: TraceContext
    parent: TraceContext | None
    start_ms: int
    end_ms: int
    attributes: Mapping[str, Attribute]
    events: tuple[SpanEvent, ...]
    error: str | None


@dataclass(slots=True)
class _Story:
    """What the lines say of one request or run; `usage` is of the last that has it."""

    begin: Json
    end: Json | None = None
    usage: Json = field(default_factory=dict)
    between: list[Json] = field(default_factory=list)


def spans_of(lines: Iterable[Json]) -> Iterator[Span]:
    """The spans of what has ended, in the order of their beginnings.

    `lines` are those of the journal, oldest first. What began before the first of them,
    or has not ended, is left out.
    """
    stories: dict[str, _Story] = {}
    for line in lines:
        _read(stories, line)
    for name, story in stories.items():
        if story.end is not None:
            yield _span(name, story, story.end, stories)


def _read(stories: dict[str, _Story], line: Json) -> None:
    name, event, at = line.get("requestId"), line.get("event"), line.get("at")
    if not (isinstance(name, str) and isinstance(event, str) and type(at) is int):
        return
    if event in _BEGINS:
        # An id may be used again once its request is forgotten.
        stories[name] = _Story(line)
        return
    story = stories.get(name)
    if story is None:
        return
    usage = line.get("usage")
    if isinstance(usage, dict):
        story.usage = usage
    if event in FINAL or event in _RUN_ENDS:
        # A run that has failed may be resumed: its last end counts.
        if story.end is None or event in _RUN_ENDS:
            story.end = line
    elif event != "usage":
        story.between.append(line)


def _span(name: str, story: _Story, end: Json, stories: Mapping[str, _Story]) -> Span:
    parent = _parent(name, stories)
    trace = parent.trace_id if parent else trace_of(name)
    flags = parent.flags if parent else "01"
    event = str(end["event"])
    failed = _RUN_ENDS.get(event, event) != Status.COMPLETED or "code" in end
    known = {**story.begin, **end}
    return Span(
        name=_title(known),
        context=TraceContext(trace, span_of(name), flags),
        parent=parent,
        start_ms=story.begin["at"],
        end_ms=max(story.begin["at"], end["at"]),
        attributes=_attributes(name, known, story.usage),
        events=tuple(_event(line) for line in story.between),
        error=_text(end.get("code", event)) if failed else None,
    )


def _parent(name: str, stories: Mapping[str, _Story]) -> TraceContext | None:
    """The span above one; None if nobody traced stands there."""
    begin = stories[name].begin
    told = begin.get("traceparent")
    if context := find_context(told if isinstance(told, str) else None):
        return context
    above = _above(name, stories)
    if above is None:
        return None
    top, flags = above, "01"
    for _ in range(_MAX_ABOVE):
        told = stories[top].begin.get("traceparent")
        if context := find_context(told if isinstance(told, str) else None):
            return context._replace(span_id=span_of(above))
        higher = _above(top, stories)
        if higher is None:
            break
        top = higher
    return TraceContext(trace_of(top), span_of(above), flags)


def _above(name: str, stories: Mapping[str, _Story]) -> str | None:
    """The run that has asked a request, or the request or run that made it."""
    run = name.partition("-")[0]
    if run != name and run in stories:
        return run
    parent = stories[name].begin.get("parent")
    return parent if isinstance(parent, str) and parent in stories else None


def _title(known: Json) -> str:
    if "flow" in known or str(known["event"]) in _RUN_ENDS:
        return f"invoke_workflow {_text(known.get('flow', ''))}".rstrip()
    return f"invoke_agent {_text(known.get('agent', ''))}".rstrip()


def _attributes(name: str, known: Json, usage: Json) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {
        "gen_ai.operation.name": _title(known).partition(" ")[0],
        "gen_ai.provider.name": "hostbridge",
        "hostbridge.id": name,
    }
    for key, attribute in _ATTRIBUTES.items():
        value = known.get(key)
        if isinstance(value, str | int | float):
            found[attribute] = _text(value) if isinstance(value, str) else value
    for key, attribute in _USAGE.items():
        value = usage.get(key)
        if type(value) is int:
            found[attribute] = value
    return found


def _event(line: Json) -> SpanEvent:
    told = {
        f"hostbridge.{key}": _text(value) if isinstance(value, str) else value
        for key, value in line.items()
        if key not in ("at", "event", "requestId")
        and isinstance(value, str | int | float)
    }
    return SpanEvent(_text(line["event"]), line["at"], told)


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
