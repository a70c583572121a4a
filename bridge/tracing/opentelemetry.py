"""Spans as OpenTelemetry's own, for any of its exporters: the extra `otel`.

from opentelemetry.sdk.trace.export import ConsoleSpanExporter

from bridge import Bridge
from bridge.tracing.opentelemetry import to_opentelemetry

spans = Bridge.open().spans(since_s=3600)
ConsoleSpanExporter().export(to_opentelemetry(spans))
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING

from bridge.errors import ExtraMissing

if TYPE_CHECKING:
    from bridge.protocol.trace_context import TraceContext
    from bridge.tracing.spans import Span

try:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode
except ImportError:
    raise ExtraMissing("otel", "opentelemetry-sdk") from None

_NS_PER_MS = 1_000_000


def to_opentelemetry(
    spans: Iterable[Span], *, resource: Resource | None = None
) -> list[ReadableSpan]:
    """The same spans for an exporter; `resource` says where they come from.

    By default that is the service `hostbridge`, with what `OTEL_RESOURCE_ATTRIBUTES`
    and `OTEL_SERVICE_NAME` add to it.
    """
    where = resource or Resource.create({"service.name": "hostbridge"})
    scope = InstrumentationScope("hostbridge", version("hostbridge"))
    return [_span(each, where, scope) for each in spans]


def _span(span: Span, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    failed = span.error is not None
    return ReadableSpan(
        name=span.name,
        context=_context(span.context),
        parent=_context(span.parent, is_remote=True) if span.parent else None,
        resource=resource,
        attributes=dict(span.attributes),
        events=[
            Event(each.name, dict(each.attributes), each.at_ms * _NS_PER_MS)
            for each in span.events
        ],
        kind=SpanKind.CLIENT if span.parent else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR if failed else StatusCode.OK, span.error),
        start_time=span.start_ms * _NS_PER_MS,
        end_time=span.end_ms * _NS_PER_MS,
        instrumentation_scope=scope,
    )


def _context(context: TraceContext, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=is_remote,
        trace_flags=TraceFlags(int(context.flags, 16)),
    )
