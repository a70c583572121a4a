"""Every JSON value that a schema allows, as a Hypothesis strategy.

Values are drawn by what the keywords say (`drawing`), and those that are no valid
answers are dropped by the check that answers go through. The smallest comes first:
empty lists, empty texts, no optional keys.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, currently_in_test_context, find, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, NoSuchExample, Unsatisfiable

from bridge.api.result import schema_of
from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.json_schema import problem_of
from bridge.protocol.keywords import with_numeric_bounds
from bridge.protocol.wording import shortened
from bridge.testing.drawing import Drawing
from bridge.testing.scalars import OWN_STRATEGY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    Schema = Mapping[str, Any] | bool

_SHOWN = 200
_COUNTS = {
    f"{end}{what}"
    for end in ("min", "max")
    for what in ("Length", "Items", "Contains", "Properties")
}


def values(form: object = None) -> SearchStrategy[Any]:
    """JSON values that are valid answers of a form, which is what `ask` takes.

    That is a pydantic model or another type that pydantic can check, a JSON Schema as a
    dict, or None for an `AgentOutput`.

    Raises:
        InvalidRequest: it is none of these, it refers to what is not in it, or no value
            was found that it allows: a test must not pass because nothing was drawn.
    """
    schema = ANSWER_SCHEMA if form is None else schema_of(form)
    if not currently_in_test_context():
        smallest(form)
    return _valid(json.dumps(schema))


def smallest(form: object = None) -> Any:
    """The smallest of these values; raises as `values`. Not within a test's draws."""
    text = json.dumps(ANSWER_SCHEMA if form is None else schema_of(form))
    if (found := _smallest(text)) is not None:
        return json.loads(found)
    raise InvalidRequest(
        "no answer was found that the schema allows: "
        f"{shortened(text, _SHOWN)}; {OWN_STRATEGY}"
    )


@lru_cache(maxsize=256)
def _smallest(text: str) -> str | None:
    valid = _valid(text)
    begun: list[None] = []
    # How many cases there were when a value was valid.
    needed: list[int] = []
    try:
        found = _find(_counted(valid, begun), lambda: needed.append(len(begun)))
        if needed[0] > 1:
            # The first case is the smallest, and was not valid.
            found = _find(valid, lambda: None, Phase.shrink)
    except (Unsatisfiable, NoSuchExample, InvalidArgument):
        return None
    return json.dumps(found)


def _find(
    strategy: SearchStrategy[Any], then: Callable[[], object], *more: Phase
) -> Any:
    quick = settings(
        max_examples=50,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, *more],
        suppress_health_check=list(HealthCheck),
    )
    return find(strategy, lambda _: (then(), True)[1], settings=quick)


@st.composite
def _counted(draw: DrawFn, strategy: SearchStrategy[Any], begun: list[None]) -> Any:
    begun.append(None)
    return draw(strategy)


@lru_cache(maxsize=256)
def _valid(text: str) -> SearchStrategy[Any]:
    schema = json.loads(text)
    drawn = with_numeric_bounds(json.loads(text, object_hook=_with_whole_counts))
    found = Drawing(drawn).of(drawn, 0)
    return found.filter(lambda value: problem_of(schema, value) is None)


def _with_whole_counts(part: dict[str, Any]) -> dict[str, Any]:
    """Its counts as `int`: JSON Schema takes 3.0 for 3, and Hypothesis does not."""
    for name in _COUNTS & part.keys():
        if isinstance(part[name], float) and part[name].is_integer():
            part[name] = int(part[name])
    return part
