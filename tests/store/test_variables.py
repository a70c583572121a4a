"""Variables of sessions: they stay, and belong to somebody."""

import pytest

from bridge.errors import InvalidRequest, NewerSchema
from bridge.store.variables import (
    Holder,
    Kept,
    NotYours,
    Variable,
    read_variables,
    set_variables,
)

HOLDER = Holder.session("s-1")


def test_what_is_set_is_read_again(store):
    set_variables(store, HOLDER, {"a": {"x": [1]}, "b": None}, "rule")

    assert read_variables(store, HOLDER) == {
        "a": Variable({"x": [1]}, "rule"),
        "b": Variable(None, "rule"),
    }


def test_error_a_file_of_a_newer_hostbridge_stays(store):
    set_variables(store, HOLDER, {"a": 1}, "person")
    file = store.place.state / "sessions" / "s-1.vars.json"
    newer = file.read_text().replace('"schemaVersion": 1', '"schemaVersion": 2')
    file.write_text(newer)

    with pytest.raises(NewerSchema) as refused:
        set_variables(store, HOLDER, {"a": 2}, "person")

    said = "schemaVersion 2 is newer than 1, the newest this hostbridge reads"
    assert str(refused.value) == f"{file}: {said}; update hostbridge"
    assert file.read_text() == newer


def test_null_is_a_value_and_unset_is_none(store):
    set_variables(store, HOLDER, {"a": None, "b": 1}, "person")
    set_variables(store, HOLDER, {}, "person", unset=["b", "never"])

    assert read_variables(store, HOLDER) == {"a": Variable(None, "person")}


@pytest.mark.parametrize("owner", ["person", "rule", "tool"])
def test_a_model_cannot_change_what_is_not_a_models(store, owner):
    set_variables(store, HOLDER, {"theirs": 1}, owner)

    with pytest.raises(NotYours, match=f"theirs belongs to the {owner}"):
        set_variables(store, HOLDER, {"mine": 1, "theirs": 2}, "model")
    with pytest.raises(NotYours):
        set_variables(store, HOLDER, {}, "model", unset=["theirs"])

    assert read_variables(store, HOLDER) == {"theirs": Variable(1, owner)}


KEPT = {"switch": Kept("person", "the person (rules.yaml)")}


def test_a_declared_variable_is_the_persons(store):
    with pytest.raises(NotYours, match=r"to the person \(rules.yaml\):"):
        set_variables(store, HOLDER, {"switch": None}, "model", kept=KEPT)

    set_variables(store, HOLDER, {"switch": 2}, "rule", kept=KEPT)

    assert read_variables(store, HOLDER) == {"switch": Variable(2, "person")}


def test_setting_a_variable_does_not_make_it_ones_own(store):
    set_variables(store, HOLDER, {"count": 1}, "rule")
    set_variables(store, HOLDER, {"count": 0}, "person")

    assert read_variables(store, HOLDER) == {"count": Variable(0, "rule")}


@pytest.mark.parametrize("owner", ["person", "rule", "tool"])
def test_who_sets_a_models_variable_takes_it_over(store, owner):
    """A model must not own what a rule counts on by being the first to set it."""
    set_variables(store, HOLDER, {"untested": False}, "model")
    set_variables(store, HOLDER, {"untested": True}, owner)

    with pytest.raises(NotYours, match=f"untested belongs to the {owner}"):
        set_variables(store, HOLDER, {"untested": False}, "model")


@pytest.mark.parametrize("before", [{}, {"n": 5}, {"n": None}])
def test_two_that_count_at_the_same_time_both_count(store, before):
    """Each has seen what was there before the other wrote."""
    set_variables(store, HOLDER, before, "rule")
    seen = before.get("n") or 0
    for call in ("toolu_1", "toolu_2"):
        now = {"n": seen + 2}
        set_variables(store, HOLDER, now, "rule", counted={"n": 2}, call=call)

    assert read_variables(store, HOLDER)["n"].value == seen + 4


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"variables": [1]}', b"\xff"])
def test_a_broken_file_holds_nothing_and_is_replaced(store, data):
    set_variables(store, HOLDER, {"a": 1}, "rule")
    (store.place.state / "sessions" / f"{HOLDER.owner_id}.vars.json").write_bytes(data)

    assert read_variables(store, HOLDER) == {}
    set_variables(store, HOLDER, {"b": 1}, "rule")
    assert set(read_variables(store, HOLDER)) == {"b"}


@pytest.mark.parametrize(
    "changes",
    [{"a": object()}, {f"v{n}": 1 for n in range(1001)}, {"a": "x" * (1 << 20)}],
    ids=["no JSON", "too many", "too much"],
)
def test_too_much_is_refused_and_changes_nothing(store, changes):
    with pytest.raises(InvalidRequest):
        set_variables(store, HOLDER, changes, "rule")

    assert read_variables(store, HOLDER) == {}
