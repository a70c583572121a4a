"""The drawing of a flow, for terminals of every width and for Mermaid."""

import re

import pytest
from flow.flow_strategies import flows
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bridge.cli.flows.named_files import _fitted
from bridge.flow.checks import check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.drawing import drawing_of, graph_of, label_of, mermaid_of
from bridge.flow.parser import parse_flow

pytestmark = pytest.mark.slow

HOSTILE = st.text(
    st.sampled_from([*'"#<>&`%${}[]()|;:-\\\n\x1b\u202e字👩\u200d👧e\u0301 a']),
    min_size=1,
)


def plan_of(flow):
    return compile_flow(flow)


def asking(text):
    """A flow that asks just this."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\{")
    quoted = "".join(c for c in quoted if c == "\n" or ord(c) > 31)
    own = '$agent-字 := {base: "a", prompt: "p"}'
    return plan_of(parse_flow(f'{own}\n$agent-字:"{quoted}":var'))


def deep(depth):
    inner = '字字:"' + "長" * 99 + '"'
    return plan_of(parse_flow("[x || " * depth + inner + "]" * depth))


def widths(plan, width):
    return [cell_len(_fitted(line, width)) for line in drawing_of(plan)]


@given(text=HOSTILE, width=st.integers(30, 200))
def test_no_line_is_wider_than_the_page(text, width):
    assert max(widths(asking(text), width)) <= width


@given(flow=flows)
def test_no_flow_is_wider_than_80_columns(flow):
    if not check_flow(flow).errors:
        assert max(widths(compile_flow(flow), 80)) <= 80


def test_however_deep_it_is_one_sees_what_is_asked():
    *_, line = [_fitted(line, 80) for line in drawing_of(deep(40))]

    assert line.startswith("node-40  │  │  │  │  ⋮40 ├─ 字字: 長長長長")
    assert cell_len(line) <= 80


def test_300_steps_are_300_lines():
    steps = [f'a:"{i} {"x" * 200}":v{i}' for i in range(300)]
    plan = plan_of(parse_flow(" -> ".join(steps)))

    lines = [_fitted(line, 80) for line in drawing_of(plan)]

    assert len(lines) == 300
    assert {*map(len, lines)} <= {79, 80}
    assert lines[-1].endswith("x… -> v299")


LINE = re.compile(
    r"flowchart TD|"
    r'    node-\d+(\["L"\]|\{"L"\}|\[/"L"/\]|\(\("L"\)\)|\[\["L"\]\])|'
    r'    node-\d+ (-->|-->\|"L"\|) node-\d+'.replace(
        "L", r"(?:#\d+;|[^\"#<&`%\\\n\x00-\x1f])+"
    )
)


@given(text=HOSTILE)
def test_mermaid_reads_nothing_in_a_label(text):
    """Each line has one of a few forms; the label is what the drawing says."""
    plan = asking(text)

    _, line = mermaid_of(plan)

    assert LINE.fullmatch(line)
    assert "$$" not in line
    said = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), line.split('"')[1])
    (name,) = plan["nodes"]
    assert said == str(label_of(plan["nodes"][name], plan["details"][name]))


@given(flow=flows)
def test_mermaid_has_each_node_and_each_edge(flow):
    if check_flow(flow).errors:
        return
    plan = compile_flow(flow)

    lines = [*mermaid_of(plan)]

    graph = graph_of(plan)
    assert all(map(LINE.fullmatch, lines)), lines
    assert len(lines) == 1 + len(graph["nodes"]) + len(graph["edges"])
