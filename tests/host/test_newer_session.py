"""The session of a newer hostbridge, whose hooks run beside ours."""

import json

import pytest

from bridge.errors import NewerSchema


@pytest.mark.parametrize("newer", [{"schemaVersion": 2}, {"needs": ["x"]}], ids=str)
def test_error_the_record_of_a_newer_one_is_not_replaced(world, newer):
    """Its hooks run beside ours: what it has spent, and more, would be gone."""
    (session,) = world.live()
    file = world.store.place.state / "sessions" / f"{session.session_id}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | newer))
    before = file.read_bytes()

    with pytest.raises(NewerSchema, match=f"{file}: .*update hostbridge"):
        world.fire("UserPromptSubmit", prompt="hello")

    assert file.read_bytes() == before
