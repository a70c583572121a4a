"""`--text`: the bare answer, for pipes."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("schema", "said", "printed"),
    [
        (None, '{"status": "success", "summary": "two\\nlines"}', "two\nlines\n"),
        ('{"type": "string"}', '"billing"', "billing\n"),
        ('{"type": "integer"}', "3", "3\n"),
        ('{"type": "object"}', '{"a": 1}', '{\n  "a": 1\n}\n'),
    ],
)
def test_the_bare_answer(project, host, schema, said, printed):
    more = ("--schema", schema) if schema else ()

    with host.serving(said):
        asked = project.run("ask", "Which?", "--text", *more)
        request_id = project.run("submit", "Which?", *more).out.strip()
        waited = project.run("wait", request_id, "--text")

    asked.prints(0, printed)
    waited.prints(0, printed)
    project.run("show", request_id, "--text").prints(0, printed)


def test_a_failure_is_no_answer(project, host):
    """A pipe gets nothing, and the person what happened."""
    with host.serving("I would rather not."):
        ran = project.run("ask", "Which?", "--text")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err


def test_error_no_answer_to_show(project):
    request_id = project.submit()

    ran = project.run("show", request_id, "--text")

    ran.fails(1, f"request {request_id} has no answer: pending")
