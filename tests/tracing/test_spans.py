"""The journal as spans: one for each end, below the right parent."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.protocol.trace_context import TraceContext, span_of, trace_of
from bridge.tracing.spans import MAX_TEXT, SpanEvent, spans_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACED = f"00-{TRACE}-00f067aa0ba902b7-01"


def line(at, event, name, **facts):
    return {"at": at, "event": event, "requestId": name, **facts}


def asked(name, at=1000, **facts):
    return line(at, "submitted", name, agent="reviewer", by="make", **facts)


def test_a_request_is_a_span_with_what_happened_on_its_way():
    (span,) = spans_of([
        asked("a", traceparent=TRACED),
        line(1200, "claimed", "a", pid=7),
        line(1300, "corrected", "a"),
        line(3000, "completed", "a", route="host", model="opus"),
        line(3100, "usage", "a", usage={"inputTokens": 10, "outputTokens": 4}),
    ])  # fmt: skip

    assert (span.name, span.start_ms, span.end_ms) == (
        "invoke_agent reviewer", 1000, 3000,
    )  # fmt: skip
    assert span.context == TraceContext(TRACE, span_of("a"), "01")
    assert span.parent == TraceContext(TRACE, "00f067aa0ba902b7", "01")
    assert span.events == (
        SpanEvent("claimed", 1200, {"hostbridge.pid": 7}),
        SpanEvent("corrected", 1300, {}),
    )
    assert span.error is None
    assert span.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "hostbridge",
        "hostbridge.id": "a",
        "gen_ai.agent.name": "reviewer",
        "gen_ai.response.model": "opus",
        "hostbridge.route": "host",
        "hostbridge.requester": "make",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 4,
    }


def test_what_has_not_ended_or_began_before_the_journal_is_no_span():
    lines = [asked("a"), line(2000, "completed", "b")]

    assert [*spans_of(lines)] == []


def test_an_end_says_how_it_failed():
    late = [asked("a"), line(2000, "timeout", "a", code="timeout")]
    refused = [asked("a"), line(2000, "completed", "a", code="agent_failed")]

    assert [span.error for span in spans_of(late)] == ["timeout"]
    assert [span.error for span in spans_of(refused)] == ["agent_failed"]


def test_the_first_end_of_a_request_counts_and_the_last_of_a_run():
    """A request that ended twice is a kill's doing; a run may be resumed."""
    lines = [
        asked("a"),
        line(2000, "completed", "a"),
        line(9000, "failed", "a", code="quota"),
        line(1000, "run begun", "r1", flow="review"),
        line(2000, "run failed", "r1", why="x"),
        line(5000, "run completed", "r1"),
    ]

    ends = {span.attributes["hostbridge.id"]: span for span in spans_of(lines)}

    assert (ends["a"].end_ms, ends["a"].error) == (2000, None)
    assert (ends["r1"].end_ms, ends["r1"].error) == (5000, None)
    assert ends["r1"].name == "invoke_workflow review"


def test_children_are_below_what_made_them():
    """Without a traced asker they share the trace of the topmost of them."""
    lines = [
        line(1, "run begun", "r1", flow="review"),
        asked("r1-node-1-1"),
        asked("child", parent="r1-node-1-1"),
        *(line(9, "completed", name) for name in ("child", "r1-node-1-1")),
        line(9, "run completed", "r1"),
    ]

    run, node, child = spans_of(lines)

    assert (run.parent, run.context.trace_id) == (None, trace_of("r1"))
    assert node.parent == run.context
    assert child.parent == node.context


def test_parents_in_a_circle_end():
    lines = [asked("a", parent="b"), asked("b", parent="a"), line(9, "completed", "a")]

    (span,) = spans_of(lines)

    assert span.parent is not None


def test_long_names_are_cut():
    (span,) = spans_of([
        line(1, "submitted", "a", agent="x" * 10_000), line(2, "completed", "a"),
    ])  # fmt: skip

    assert len(span.attributes["gen_ai.agent.name"]) == MAX_TEXT


anything = st.none() | st.integers() | st.text(max_size=9) | st.dictionaries(
    st.sampled_from(["inputTokens", "x"]), st.text(max_size=3) | st.integers()
)  # fmt: skip
keys = st.sampled_from(
    ["at", "event", "requestId", "agent", "parent", "traceparent", "usage", "code"]
)
events = st.sampled_from(["submitted", "completed", "run begun", "run failed", "usage"])


@given(st.lists(st.dictionaries(keys, anything | events), max_size=12))
def test_no_line_makes_it_fail(lines):
    for span in spans_of(lines):
        assert span.end_ms >= span.start_ms
