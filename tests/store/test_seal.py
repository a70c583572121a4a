"""The seal: which answers hostbridge wrote."""

from __future__ import annotations

import os

import orjson
import pytest
from storeworld import (
    answer,
    request,
)

from bridge.store.directory import NotAPlainFile
from bridge.store.seal import is_genuine, load_key, sealed_json


def test_a_seal_covers_every_field(state):
    key = load_key(state)
    value = orjson.loads(sealed_json(answer(request("a")), key))

    assert is_genuine(value, key)
    # The order of the fields is nobody's promise.
    assert is_genuine(dict(reversed(value.items())), key)
    for field in value:
        assert not is_genuine(value | {field: "changed"}, key), field
    assert not is_genuine(value | {"more": 1}, key)
    assert not is_genuine(value, b"x" * 32)


def test_a_field_of_a_later_version_is_sealed_as_well(state):
    """An answer of a newer hostbridge of the same schema version must stay readable."""
    key = load_key(state)
    more = answer(request("a")).with_(tokens=5)

    assert is_genuine(orjson.loads(sealed_json(more, key)), key)


def test_the_key_is_made_once(state):
    assert load_key(state) == load_key(state)
    assert os.stat(f"{state.path}/key").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_error_a_key_that_is_not_ours(state, content):
    state.create("key", content)

    with pytest.raises(NotAPlainFile) as caught:
        load_key(state)

    assert str(caught.value) == f"{state.path}/key: not a key of ours"
