"""The operations of the queue, by a real server: who holds what, and who was first."""

import time
from itertools import count

import pytest
from redisworld import Side

from bridge.errors import NoQueue
from bridge.remote.keys import Needs, Offer, Taken, read_address
from bridge.remote.queue import Queue

_SOON_S = 0.05


def standing(side: Side, entry: str) -> bytes | None:
    return side.queue.read(entry, "state")[0]


def test_an_entry_is_taken_once_and_answered_once(asker, server, address):
    entry = asker.put(1, request=b"ask")
    other = Side(address, "other")

    taken = server.take()

    assert taken is not None
    assert (taken.entry, taken.epoch, taken.request) == (entry, 1, b"ask")
    assert taken.machine == "asks"
    assert 50_000 < taken.left_ms <= 60_000
    assert other.take() is None
    assert server.publish(taken, b"said") == "won"
    assert asker.queue.read(entry, "answer", "by") == [b"said", b"serves"]
    assert asker.heard() == [("held", entry), ("answered", entry)]


def test_what_is_put_again_stays_as_it_is(asker, server, address):
    """Whoever asks reconnects, or is another process: it hears of it from now on."""
    entry = asker.put(1)
    taken = server.take()
    again = Side(address, "asks")

    again.put(1)

    assert server.take() is None
    server.publish(taken)
    assert again.heard() == [("answered", entry)]


def test_nothing_stays_behind(asker, server, shared, address):
    """An entry that was answered leaves its answer for a while, and no stream."""
    asker.put(1)
    server.publish(server.take())

    left = sorted(key.decode() for key in shared.client().keys(f"{address.key()}:*"))

    kinds = {key.removeprefix(f"{address.key()}:").partition(":")[0] for key in left}
    assert kinds == {"counts", "news", "r", "to"}
    assert 0 < shared.client().ttl(address.key("r", "a" * 16 + ".1.0")) <= 600


def test_the_highest_comes_first_and_the_lowest_does_not_starve(asker, server):
    """Every eighth take begins at the other end."""
    for number in range(10):
        asker.put(f"low-{number}", "low")
        asker.put(f"normal-{number}", "normal")
        asker.put(f"high-{number}", "high")

    order = []
    while taken := server.take():
        order.append(taken.entry.split(".")[1])
        server.publish(taken)

    assert order[:9] == [*(f"high-{n}" for n in range(7)), "low-0", "high-7"]
    assert len(order) == 30
    assert [each for each in order if each.startswith("low")] == [
        f"low-{number}" for number in range(10)
    ]


def test_only_work_of_a_kind_is_taken(asker, server):
    other = Needs(agent="other")
    asker.put(1, needs=other)

    assert server.take() is None
    assert server.queue.kinds() == {other.kind: other}
    assert server.take(Needs(agent="lint"), other) is not None


def test_a_lease_that_ran_out_is_taken_by_another(asker, server, address):
    asker.put(1)
    first = server.take(lease_s=_SOON_S)
    other = Side(address, "other")
    time.sleep(2 * _SOON_S)

    second = other.take(lease_s=_SOON_S)

    assert second is not None
    assert second.epoch == 2
    assert server.queue.renew(first, server.address) == "taken"
    assert other.queue.renew(second, other.address) == "held"


def test_a_renewed_lease_is_kept(asker, server, address):
    asker.put(1)
    taken = server.take(lease_s=_SOON_S)
    other = Side(address, "other")

    server.queue.renew(taken, server.address, lease_s=30)
    time.sleep(2 * _SOON_S)

    assert other.take(lease_s=_SOON_S) is None


def test_one_that_takes_every_machine_down_is_lost(asker, server):
    """It has its tries, and no more: then it ends, and its asker hears why."""
    entry = asker.put(1, tries=2)
    for _ in range(2):
        assert server.take(lease_s=_SOON_S) is not None
        time.sleep(2 * _SOON_S)

    assert server.take(lease_s=_SOON_S) is None
    assert standing(asker, entry) == b"lost"
    assert asker.heard()[-1] == ("lost", entry)


def test_a_late_answer_is_kept_for_its_asker(asker, server, address):
    entry = asker.put(1)
    first = server.take(lease_s=_SOON_S)
    other = Side(address, "other")
    time.sleep(2 * _SOON_S)
    second = other.take(lease_s=_SOON_S)
    other.publish(second, b"in time")

    assert server.publish(first, b"too late") == "late"

    assert asker.queue.read(entry, "answer") == [b"in time"]
    late = [*asker.queue.late("a" * 16)]
    assert late == [(entry, "serves", b"too late")]
    assert [*asker.queue.late("a" * 16)] == []


def test_an_answer_of_an_earlier_epoch_counts_if_it_is_the_first(
    asker, server, address
):
    """Its machine was stopped for longer than its lease; the other is told to stop."""
    entry = asker.put(1)
    first = server.take(lease_s=_SOON_S)
    other = Side(address, "other")
    time.sleep(2 * _SOON_S)
    second = other.take(lease_s=_SOON_S)

    assert server.publish(first, b"", is_valid=False) == "late"
    assert server.publish(first, b"first") == "won"

    assert other.heard() == [("over", entry)]
    assert other.publish(second, b"second") == "late"
    assert asker.queue.read(entry, "answer") == [b"first"]


def test_what_is_handed_back_is_taken_by_another(asker, server, address):
    asker.put(1, tries=1)
    taken = server.take()

    assert server.queue.hand_back(taken, Needs(agent="lint")) == "waiting"

    again = Side(address, "other").take()
    assert again is not None
    assert again.epoch == 2
    assert server.queue.hand_back(taken, Needs(agent="lint")) == "taken"


def test_a_cancelled_entry_ends_and_its_holder_hears(asker, server):
    waits, runs = asker.put(1), None
    assert asker.queue.cancel(waits) == "cancelled"
    assert server.take() is None
    runs = asker.put(2)
    taken = server.take()

    assert asker.queue.cancel(runs) == "cancelled"

    assert server.heard() == [("over", runs)]
    assert server.publish(taken) == "late"


def test_a_deadline_is_milliseconds_left(asker, server):
    """By the clock of Redis alone: no two machines' clocks are compared."""
    entry = asker.put(1, left_ms=30)
    time.sleep(0.06)

    assert server.take() is None
    assert standing(asker, entry) == b"expired"


def test_what_redis_forgot_is_put_again(asker, server, shared, address):
    asker.put(1)
    taken = server.take()
    client = shared.client()
    client.delete(*client.keys(f"{address.key()}:*"))

    assert server.queue.renew(taken, server.address) == "unknown"
    assert server.publish(taken) == "unknown"
    asker.put(1)
    again = server.take()

    assert again is not None
    assert again.epoch == 1


def test_who_waits_is_woken_and_asks_once(asker, server, shared, address):
    """No polling: one command waits in Redis until there is something."""
    place = server.queue.take(server.address, "serves", ["none"], lease_s=1)
    before = shared.client().info("commandstats").get("cmdstat_xread", {"calls": 0})
    looks = count()

    heard = server.queue.hear(
        {address.key("news"): place}, 0.6, lambda: not next(looks)
    )
    asker.put(1)
    heard += server.queue.hear({address.key("news"): place}, 5)

    after = shared.client().info("commandstats")["cmdstat_xread"]
    assert [each.what for each in heard] == [Needs(agent="lint").kind]
    assert after["calls"] - before["calls"] <= 3


def test_the_overview_counts_what_waits_and_who_serves(asker, server):
    for number in range(3):
        asker.put(number)
    server.take()
    server.queue.announce(Offer(machine="serves", routes=("local",), slots=2))

    seen = asker.queue.look()

    (kind,) = seen.kinds
    assert kind.needs == Needs(agent="lint")
    assert (kind.waiting["normal"], kind.held["normal"], kind.lost) == (2, 1, 0)
    assert kind.oldest_s is not None
    ((offer, ago_s),) = seen.machines
    assert (offer.machine, offer.routes, offer.slots) == ("serves", ("local",), 2)
    assert ago_s < 60
    server.queue.leave("serves")
    assert asker.queue.look().machines == ()


@pytest.mark.parametrize("junk", ["string", "hash", "list", "stream"])
def test_foreign_keys_are_dropped(asker, server, shared, address, junk):
    """A stream may name anything: what is no entry of ours goes, the rest is served."""
    client, needs = shared.client(), Needs(agent="lint")
    stream, strange = address.key("s", "normal", needs.kind), address.key("r", "x")
    entry = asker.put(1)
    made = {
        "string": lambda: client.set(strange, "x"),
        "hash": lambda: client.hset(strange, "state", "odd"),
        "list": lambda: client.rpush(strange, "x"),
        "stream": lambda: client.xadd(strange, {"a": "b"}),
    }
    made[junk]()
    for fields in ({"entry": "x"}, {"other": "y"}, {"entry": "y" * 500}, {"entry": ""}):
        client.xadd(stream, fields)

    taken = server.take()

    assert taken is not None
    assert taken.entry == entry
    assert server.take() is None
    assert client.xlen(stream) == 1


def test_error_nobody_listens():
    queue = Queue(read_address("redis://127.0.0.1:1/0?name=shop"), None)

    with pytest.raises(NoQueue) as caught:
        queue.check()

    assert caught.value.passes
    assert caught.value.what.startswith(
        "the queue redis://127.0.0.1:1/0 (shop) cannot be reached ("
    )
    assert caught.value.ways == (
        "start Redis, or correct BRIDGE_QUEUE; see: hostbridge doctor",
    )


def test_many_kinds_share_one_worker(asker, server):
    kinds = [Needs(agent=f"a{number}") for number in range(40)]
    for number, needs in enumerate(kinds):
        asker.put(number, needs=needs)

    taken = [server.take(*kinds) for _ in kinds]

    assert {each.entry for each in taken if isinstance(each, Taken)} == {
        f"{'a' * 16}.{number}.0" for number in range(40)
    }
