"""What an ask takes and returns."""

from __future__ import annotations

import pytest

from bridge.errors import InvalidRequest
from bridge.spawner.result import schema_of


@pytest.mark.parametrize("shape", [int, "modules.json", 3])
def test_error_a_schema_that_is_none(shape: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        schema_of(shape)  # type: ignore[arg-type]

    assert str(caught.value) == (
        f"schema {shape!r}: expected a pydantic model, a JSON Schema as a dict, or None"
    )
