"""What `every_answer` draws of requests, and that it says what it cannot do."""

from contextlib import suppress

import pytest
from hypothesis import Phase, control

from bridge import AsyncBridge, Bridge, BridgeError, InvalidRequest
from bridge.testing import every_answer

pytestmark = [pytest.mark.usefixtures("project"), pytest.mark.slow]


class Seen(Exception):
    """All that is to be seen has been drawn."""


def test_each_kind_of_question_is_drawn_and_the_reply_goes_on():
    """Of an agent that may ask: its program replies as the form says."""
    every = {"string", "boolean", "enum", "integer", "object"}
    kinds, ends = set(), set()
    reply = {"string": "x", "boolean": True, "integer": 3}
    reply["object"] = {"name": "a", "why": "b"}

    def told(question):
        kinds.add(question.form.get("type", "enum"))
        return reply.get(question.form.get("type"), "that")

    @every_answer(
        max_examples=250,
        codes=[],
        faults=False,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    def program():
        done = Bridge.open().ask("?", on_question=told)
        ends.add(done.parsed.status)
        if kinds == every and "success" in ends:
            raise Seen

    with pytest.raises(Seen):
        program()


def test_who_may_not_ask_asks_nothing():
    @every_answer(max_examples=30, codes=[], faults=False, database=None)
    def program(answers):
        Bridge.open().ask("?")
        assert len(answers.requests) == 1

    program()


def test_error_a_schema_that_allows_nothing():
    """Its failures alone must not pass for a test of its answers."""

    @every_answer(codes=["quota"], max_examples=5, database=None)
    def program():
        with suppress(BridgeError):
            none = {"type": "integer", "minimum": 2, "maximum": 1}
            Bridge.open().ask("?", schema=none)

    with pytest.raises(InvalidRequest, match="no answer was found that the schema"):
        program()


def test_error_another_hypothesis(monkeypatch):
    """It takes a private name: without it, the message says what to do."""
    monkeypatch.delattr(control, "_current_build_context")
    from bridge.testing.strategies import _lend_example

    with pytest.raises(RuntimeError, match="install the version that"):
        _lend_example()


def test_a_coroutine_is_run():
    """Pytest would take one that nobody runs for a test that has passed."""

    @every_answer(max_examples=3, codes=[], database=None)
    async def program():
        await AsyncBridge.open().overview()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program()
