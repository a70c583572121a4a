"""The quick check of a value takes nothing that pydantic would refuse or change."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.protocol.plain_types import NotPlain
from bridge.protocol.pydantic_model import convert
from bridge.protocol.request import Request
from bridge.protocol.value import Value

PLAIN = {"requestId": "a", "prompt": "?"}
ODD: list[Any] = [None, 0, -1, 1, 2**60, 1.5, True, "", "7", "a\n", [], ["x"], {}]
FIELDS = [told.json_name for told in Request.fields.values()]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_what_is_taken_at_once_is_what_pydantic_takes(field: str, value: Any) -> None:
    told = PLAIN | {field: value}
    try:
        found = Request._read(told)
    except NotPlain:
        return

    assert found == convert(Request, told, Value)


def test_unknown_keys_survive() -> None:
    request = Request.model_validate(PLAIN | {"theirs": [1]})

    assert request.with_(depth=1).to_data()["theirs"] == [1]


def test_a_value_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Request(request_id="a", prompt="?").prompt = "!"  # type: ignore[misc]
