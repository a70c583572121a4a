"""Spans reach an exporter of OpenTelemetry as they are."""

import os
import sys

from fakeclaude import fake_claude, printing, result, trust_folder
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from programs import ran
from servingworld import bridge_in

from bridge.protocol.trace_context import span_of
from bridge.tracing.opentelemetry import to_opentelemetry

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACED = f"00-{TRACE}-00f067aa0ba902b7-01"


def traced(tmp_path, *, lines=None, **more):
    """A bridge whose asker is traced, and whose `claude` says what it was given."""
    said = 'printf %s "$TRACEPARENT" >"$here/traceparent"\n'
    words = printing(result(structured_output={"status": "success", "summary": "ok"}))
    claude = fake_claude(tmp_path / "bin", said + (lines or words))
    bridge = bridge_in(tmp_path, claude=str(claude), traceparent=TRACED, **more)
    trust_folder(tmp_path / "claude", tmp_path / "project")
    return bridge


def exported(bridge):
    exporter = InMemorySpanExporter()
    exporter.export(to_opentelemetry(bridge.spans()))
    return exporter.get_finished_spans()


def test_an_exporter_gets_the_span_of_a_request(tmp_path):
    bridge = traced(tmp_path)
    answer = bridge.ask("Look", route="claude")

    (span,) = exported(bridge)

    assert span.name == "invoke_agent general-purpose"
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.context.span_id:016x}" == span_of(answer.request_id)
    assert f"{span.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert span.status.status_code is StatusCode.OK
    assert span.attributes["hostbridge.id"] == answer.request_id
    assert (span.end_time - span.start_time) // 1_000_000 >= 0
    assert "claimed" in [event.name for event in span.events]
    assert span.resource.attributes["service.name"] == "hostbridge"


def test_an_agent_is_given_the_trace_of_its_asker(tmp_path):
    """What it starts shows up below the request, and not beside it."""
    bridge = traced(tmp_path)
    answer = bridge.ask("Look", route="claude")

    given = (tmp_path / "bin" / "traceparent").read_text()

    assert given == f"00-{TRACE}-{span_of(answer.request_id)}-01"


def test_a_flow_and_its_agents_are_one_trace(tmp_path):
    bridge = traced(tmp_path)
    done = bridge.run('general-purpose:"a" -> general-purpose:"b"', route="claude")

    run, *nodes = exported(bridge)

    assert (run.name, len(nodes)) == ("invoke_workflow", 2)
    assert {f"{span.context.trace_id:032x}" for span in (run, *nodes)} == {TRACE}
    assert {f"{node.parent.span_id:016x}" for node in nodes} == {span_of(done.run)}


def test_the_programs_of_a_pipeline_are_in_the_trace_of_its_run(tmp_path):
    bridge = traced(tmp_path)
    (tmp_path / "said.yaml").write_text(
        'name: said\nallow: ["Bash(env)"]\nsteps: [{id: env, exec: [env]}]\n'
        'outputs: {said: "${{ steps.env.output.stdout }}"}\n'
    )

    done = bridge.run(tmp_path / "said.yaml")

    given = f"TRACEPARENT=00-{TRACE}-{span_of(done.run)}-01"
    assert given in done.answers[0]["said"].splitlines()


def test_what_an_agent_asks_is_below_it(tmp_path):
    """The agent's own process says whose it is; its environment names the session's."""
    ask = (
        f'cd "{tmp_path}/project" && [ -n "$BRIDGE_DEPTH" ] && '
        f'BRIDGE_HOME="{tmp_path}/home" "{sys.executable}" -m bridge '
        'submit "And this?" >"$here/child"\n'
    )
    words = printing(result(structured_output={"status": "success", "summary": "ok"}))
    bridge = traced(tmp_path, lines=ask + words)
    answer = bridge.ask("Look", route="claude")
    child = (tmp_path / "bin" / "child").read_text().strip()

    request = bridge.status(child).request

    assert request.traceparent == f"00-{TRACE}-{span_of(answer.request_id)}-01"


def test_without_the_extra_the_error_says_how_to_add_it(tmp_path):
    """The rest of the library does without it."""
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import bridge.tracing.spans\n"
        "try: import bridge.tracing.opentelemetry\n"
        "except Exception as exc: print(type(exc).__name__, exc)"
    )

    ended = ran(sys.executable, "-c", code, env={**os.environ, "HOME": str(tmp_path)})

    assert ended.stdout.startswith("ExtraMissing opentelemetry-sdk is not installed")
