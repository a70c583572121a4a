"""How many requests of one asker go on at once without a yes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storeworld import claimant, request, store_in

from bridge.protocol.response import failed

MOST = 3


def held(store) -> list[str]:
    return [each.request_id for each in store.held_requests()]


def ask(store, name: str, **fields) -> str:
    store.submit(request(name, **fields), fan_out=MOST)
    return name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(askers=st.lists(st.sampled_from("abc"), min_size=1, max_size=14), data=st.data())
def test_no_more_than_the_limit_wait_or_run_unasked(tmp_path_factory, askers, data):
    """Whatever else is asked, and whatever of it is claimed meanwhile."""
    store = store_in(tmp_path_factory.mktemp("s"))
    for number, asker in enumerate(askers):
        ask(store, f"{number}", requester=asker)
        if data.draw(st.booleans()):
            store.claim(claimant(), 99, lambda r: "leave" if r.held else "take")

    surplus = held(store)
    free = [a for number, a in enumerate(askers) if str(number) not in surplus]
    for asker in "abc":
        assert free.count(asker) == min(MOST, askers.count(asker))


def test_it_stays_held_when_others_end(tmp_path):
    """Otherwise a loop would run to its end unasked, a few at a time."""
    store = store_in(tmp_path)
    names = [ask(store, str(n), requester="a") for n in range(5)]

    for name in names[:3]:
        asked = store.find(name).request
        store.publish(failed(asked, "cancelled", "", now_ms=1), source="a test")

    assert held(store) == ["3", "4"]
    assert ask(store, "5", requester="a") not in held(store)


ASKERS = [
    ({"requester": "a"}, {"requester": "a"}, True),
    ({"requester": "a"}, {"requester": "b"}, False),
    ({"requester": "sh (pid 7)"}, {"requester": "sh (pid 8)"}, True),
    ({"requester": "a", "asker": "s"}, {"requester": "b", "asker": "s"}, True),
    (
        {"parent_request_id": "p", "asker": "s"},
        {"parent_request_id": "q", "asker": "s"},
        True,
    ),
    ({"requester": "a", "asker": "s"}, {"requester": "a", "asker": "t"}, False),
    ({"requester": "rule x", "session": "s"}, {"requester": "rule x"}, False),
    ({"parent_request_id": "p"}, {"parent_request_id": "p"}, True),
    ({"parent_request_id": "p", "requester": "a"}, {"requester": "a"}, False),
    ({"requester": "a", "route": "claude"}, {"requester": "a"}, False),
]


@pytest.mark.parametrize(("one", "other", "is_same"), ASKERS)
def test_who_one_asker_is(tmp_path, one, other, is_same):
    store = store_in(tmp_path)
    for number in range(MOST):
        ask(store, str(number), **one)

    ask(store, "last", **other)

    assert held(store) == (["last"] if is_same else [])


def test_routes_of_their_own_are_not_held(tmp_path):
    """They take nothing of a session."""
    store = store_in(tmp_path)

    for number in range(MOST + 2):
        ask(store, str(number), route="local", requester="a")

    assert held(store) == []


def test_a_yes_lets_sessions_look_again(tmp_path):
    store = store_in(tmp_path)
    for number in range(70 + MOST):
        ask(store, f"n{number:03}", requester="a")
    file = store.place.state / "sessions" / "s.passed"
    file.parent.mkdir(exist_ok=True)
    file.write_text("n050 other\n")

    assert store.approve(held(store)) == 70

    assert not file.exists()
    assert held(store) == []
    assert store.approve(["n050", "nobody"]) == 0


def lists_of(store) -> list[str]:
    return [file.read_text() for file in (store.place.state / "askers").iterdir()]


def test_only_who_still_waits_or_runs_is_listed(tmp_path):
    store = store_in(tmp_path)
    for number in range(MOST + 2):
        ask(store, f"a{number}", requester="a")
        store.prune()
    assert lists_of(store) == ['["a0","a1","a2"]']

    for number in range(MOST):
        asked = store.find(f"a{number}").request
        store.publish(failed(asked, "cancelled", "", now_ms=1), source="a test")
    store.prune(dry_run=True)
    assert len(lists_of(store)) == 1
    store.prune()

    assert lists_of(store) == []


@pytest.mark.parametrize("damage", ["", "[", "{}", '[3, null, "../a", "nobody"]'])
def test_a_damaged_list_holds_nobody(tmp_path, damage):
    store = store_in(tmp_path)
    ask(store, "first", requester="a")
    (file,) = (store.place.state / "askers").iterdir()
    file.write_text(damage)

    ask(store, "second", requester="a")

    assert held(store) == []
    assert lists_of(store) == ['["second"]']
