"""Texts of several lines on the screen."""

import pytest

pytestmark = pytest.mark.slow
FLOW = "---\nparams:\n  a: |\n    one\n    two\n---\nresearcher\n"
PIPELINE = """\
name: p
type: pipeline
inputs: {a: {description: "one\\ntwo"}}
steps: [{id: s, exec: "true"}]
"""
BROKEN = """\
name: x
description: d
prompt: hi
steps:
- name: s
  transitions: [{to: s, when: a +}]
"""


@pytest.mark.parametrize(
    ("words", "second"),
    [
        (("flow", "list"), "two (required)"),
        (("workflow", "show", "p"), "two (default: null)"),
        (("agents", "list"), "^"),
        (("task", "show", "1"), "two"),
    ],
    ids=lambda words: words[0],
)
def test_lines_of_a_text_are_lines_further_in(project, words, second):
    """As an escape nobody reads them; at the margin they pose as ours."""
    project.write("flows/f.flow", FLOW, own=True)
    project.write("workflows/p.yaml", PIPELINE, own=True)
    project.write("agents/x.yaml", BROKEN, own=True)
    project.run("task", "create", "t")
    project.run("task", "escalate", "1", "--reason", "one\ntwo")

    ran = project.run(*words)

    assert "\\u000a" not in ran.out
    (line,) = [each for each in ran.out.splitlines() if each.strip() == second]
    assert line.startswith("    ")
