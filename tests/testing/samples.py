"""Programs that ask, each with a mistake, and the tests that are to find it.

A program that does not think of a partial answer is the one of docs/testing.md.
"""

import shutil
from pathlib import Path

import bridge

# Nobody thought of a list without anything in it, in the second of two questions.
EMPTY = """
from pydantic import BaseModel

from bridge import Bridge, BridgeError
from bridge.testing import every_answer


class Modules(BaseModel):
    modules: list[str]


def first():
    bridge = Bridge.open()
    try:
        bridge.ask("Is it ready?", "Explore")
        found = bridge.ask("Which modules lack tests?", schema=Modules)
    except BridgeError:
        return "none"
    return found.parsed.modules[0]


@every_answer(max_examples=60, faults=False)
def test_it_names_one():
    first()
"""

# Nobody thought of a limit, of all the ways in which a request may fail.
QUOTA = """
from hypothesis import given, settings

from bridge import Bridge, BridgeError, RequestFailed
from bridge.testing import answering, outcomes


def summary():
    try:
        return Bridge.open().ask("Is it ready?").parsed.summary
    except RequestFailed as exc:
        if exc.code == "quota":
            raise
        return f"ask again: {exc.code}"


@given(outcomes(codes=["timeout", "quota", "agent_error"]))
@settings(max_examples=60, deadline=None)
def test_it_always_says_something(outcome):
    with answering(outcome):
        summary()
"""

# Nobody thought of a question that is no choice.
QUESTION = """
from hypothesis import Phase

from bridge import Bridge, BridgeError
from bridge.testing import every_answer


def first_of(question):
    return question.form["enum"][0]


def printed():
    try:
        return Bridge.open().ask("Print the prices.", on_question=first_of).success
    except BridgeError:
        return False


# To explain a failure takes two hundred examples more.
@every_answer(max_examples=60, faults=False, phases=set(Phase) - {Phase.explain})
def test_it_prints_or_not():
    printed()
"""

# Nobody thought of an answer that was there before it was asked for.
CACHED = """
from time import sleep, time_ns

from bridge import BridgeError, ask
from bridge.testing import every_answer


def took_ms():
    began_ms = time_ns() // 1_000_000
    try:
        said = ask("Is it ready?", cached=True)
    except BridgeError:
        return 0
    return said.response.completed_at - began_ms


@every_answer(max_examples=60, faults=False)
def test_it_takes_time():
    took_ms()
    sleep(0.002)
    assert took_ms() >= 0
"""


def lend_tables(folder: Path) -> None:
    """Give a folder Hypothesis's tables of characters, which take seconds to make."""
    tables = Path(bridge.__file__).parents[1] / ".hypothesis" / "unicode_data"
    if tables.is_dir():
        shutil.copytree(tables, folder / ".hypothesis" / "unicode_data")
