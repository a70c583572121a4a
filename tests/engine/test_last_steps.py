"""Which steps a condition after a `pass` is about."""

from bridge.engine.link import last_steps

# A retry around `b`, inside one that begins with `a`; the end is after both.
NODES = {
    "start": {"kind": "agent", "in": []},
    "a": {"kind": "agent", "in": ["start"]},
    "b": {"kind": "agent", "in": ["a"]},
    "inner": {"kind": "pass", "in": ["a", "b"], "since": "b"},
    "outer": {"kind": "pass", "in": ["inner"], "since": "a"},
}


def last(name, dead=(), *, own=False):
    def token(source, _):
        return source not in dead

    return last_steps(NODES, ["outer"], token, name, own=own)


def test_those_before_its_beginning_count_only_where_there_are_no_others():
    assert last("inner") == last("outer") == last("") == ["b"]
    assert last("inner", dead={"b"}) == last("", dead={"b"}) == ["a"]


def test_for_its_own_jumps_not_even_then_but_for_those_around_it():
    assert last("inner", dead={"b"}, own=True) == []
    assert last("outer", dead={"b"}, own=True) == ["a"]


def test_nothing_is_behind_what_leads_nowhere():
    assert last("inner", dead={"a", "b"}) == last("", dead={"outer"}) == []
