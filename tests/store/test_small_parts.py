"""Journal, seal, lease, processes and fates: each by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import orjson
import pytest
from storeworld import (
    START_US,
    FakeClock,
    answer,
    claimant,
    dead_process,
    drop,
    place_in,
    request,
    take,
    this_process,
    unseen_process,
)

from bridge.protocol.request import Claim
from bridge.store.directory import NotAPlainFile
from bridge.store.host_process import Liveness, identify, liveness, name_of
from bridge.store.journal import MAX_BYTES, lines_about, note
from bridge.store.lease import host_is_gone
from bridge.store.lifecycle import KEEP, Fate, fate_of_claimed
from bridge.store.location import open_state
from bridge.store.seal import is_genuine, load_key, sealed_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.store.directory import Folder
    from bridge.store.store import Store


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Folder]:
    with open_state(place_in(tmp_path)) as opened:
        yield opened


# The journal


def test_the_journal_tells_the_story_of_a_request(state: Folder):
    note(state, 1, "submitted", "a", agent="Explore", by=None)
    note(state, 2, "submitted", "b")
    note(state, 3, "completed", "a", source="SubagentStop")

    assert lines_about(state, "a") == [
        {"at": 1, "event": "submitted", "requestId": "a", "agent": "Explore"},
        {"at": 3, "event": "completed", "requestId": "a", "source": "SubagentStop"},
    ]


def test_a_full_journal_is_rotated_and_still_read(state: Folder):
    note(state, 1, "submitted", "a", filler="x" * (MAX_BYTES + 1))
    note(state, 2, "claimed", "a")

    assert [line["at"] for line in lines_about(state, "a")] == [1, 2]
    assert os.stat(f"{state.path}/events.jsonl").st_size < 100


def test_a_broken_line_is_skipped(state: Folder):
    note(state, 1, "submitted", "a")
    with open(f"{state.path}/events.jsonl", "ab") as journal:
        journal.write(b'{"requestId": "a", "ev\n\xff\n')
    note(state, 2, "claimed", "a")

    assert [line["at"] for line in lines_about(state, "a")] == [1, 2]


def test_the_journal_never_fails_a_transition(state: Folder):
    note(state, 1, "submitted", "a", words="\ud800")
    state.close()

    note(state, 1, "submitted", "a")


# The seal


def test_a_seal_covers_every_field(state: Folder):
    key = load_key(state)
    value = orjson.loads(sealed_json(answer(request("a")), key))

    assert is_genuine(value, key)
    # The order of the fields is nobody's promise.
    assert is_genuine(dict(reversed(value.items())), key)
    for field in value:
        assert not is_genuine(value | {field: "changed"}, key), field
    assert not is_genuine(value | {"more": 1}, key)
    assert not is_genuine(value, b"x" * 32)


def test_a_field_of_a_later_version_is_sealed_as_well(state: Folder):
    """An answer of a newer hostbridge of the same schema version must stay readable."""
    key = load_key(state)
    more = answer(request("a")).with_(tokens=5)

    assert is_genuine(orjson.loads(sealed_json(more, key)), key)


def test_the_key_is_made_once(state: Folder):
    assert load_key(state) == load_key(state)
    assert os.stat(f"{state.path}/key").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_error_a_key_that_is_not_ours(state: Folder, content: bytes):
    state.create("key", content)

    with pytest.raises(NotAPlainFile) as caught:
        load_key(state)

    assert str(caught.value) == f"{state.path}/key: not a key of ours"


# Processes


def test_a_running_process_is_alive_and_a_dead_one_gone():
    assert liveness(this_process()) is Liveness.ALIVE
    assert liveness(dead_process()) is Liveness.GONE
    assert identify(2**22 + 1) is None


def test_a_zombie_is_gone():
    child = subprocess.Popen(["true"])
    host = identify(child.pid) or dead_process()
    time.sleep(0.1)

    assert liveness(host) is Liveness.GONE
    child.wait()


def test_a_stopped_process_is_alive():
    child = subprocess.Popen(["sleep", "60"])
    host = identify(child.pid)
    child.send_signal(19)
    time.sleep(0.05)

    assert host is not None
    assert liveness(host) is Liveness.ALIVE
    child.kill()
    child.wait()


def test_a_name_with_parentheses_is_no_trouble(tmp_path: Path):
    program = tmp_path / "a ) S (b"
    program.symlink_to(sys.executable)
    child = subprocess.Popen([program, "-S", "-c", "import time; time.sleep(60)"])
    time.sleep(0.1)

    host = identify(child.pid)

    assert host is not None
    assert liveness(host) is Liveness.ALIVE
    child.kill()
    child.wait()


def test_a_process_has_the_name_of_its_program():
    child = subprocess.Popen(["sleep", "60"])
    time.sleep(0.1)

    assert name_of(child.pid) == "sleep"
    child.kill()
    child.wait()
    assert name_of(child.pid) == ""


@pytest.mark.parametrize("told", ["/bin/zsh", "-zsh", "-/bin/zsh", "zsh"])
def test_a_name_by_ps_is_the_one_without_its_path(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Without /proc, as on macOS: a path, and a dash before a login shell."""
    ps = tmp_path / "ps"
    ps.write_text(f'#!/bin/sh\n[ "$*" = "-o comm= -p 4711" ] && echo "{told}"\n')
    ps.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sys, "platform", "darwin")

    assert name_of(4711) == "zsh"
    assert name_of(4712) == ""


# Leases: for hosts that cannot be seen from here


def beat(store: Store, session: str, at_s: float) -> None:
    path = drop(store, "sessions", f"{session}.beat", b"")
    os.utime(path, (at_s, at_s))


def gone(store: Store, now_s: float, sign_ms: int = 0) -> bool:
    store.clock = FakeClock(int(now_s * 1_000_000))
    with store.state() as state:
        return host_is_gone(state, "s", unseen_process(), sign_ms=sign_ms)


def test_an_unseen_host_lives_as_long_as_it_beats(store: Store):
    beat(store, "s", 10_000)

    assert not gone(store, now_s=10_900)
    assert gone(store, now_s=10_901)


def test_an_unseen_host_that_never_beat_lives_by_its_last_sign(store: Store):
    """The first event of a session claims before any beat is written."""
    assert not gone(store, now_s=10_900, sign_ms=10_000_000)
    assert gone(store, now_s=10_901, sign_ms=10_000_000)
    assert gone(store, now_s=10_000)


def test_a_beat_in_the_future_does_no_harm(store: Store):
    beat(store, "s", 99_000)

    assert not gone(store, now_s=10_000)


def test_after_clear_the_beat_of_the_new_session_counts(store: Store):
    """`/clear` gives the process another session id; its agents run on."""
    host = unseen_process()
    record = {"sessionId": "new", "host": host.to_data()}
    drop(store, "sessions", "new.json", orjson.dumps(record))
    beat(store, "new", 10_000)
    drop(store, "sessions", "other.json", b"{}")
    beat(store, "other", 20_000)

    assert not gone(store, now_s=10_900)
    assert gone(store, now_s=10_901)


def test_the_claim_of_an_unseen_host_is_kept_for_the_lease(
    store: Store, clock: FakeClock
):
    store.submit(request("a"))
    store.claim(claimant(unseen_process()), 1, take)

    clock.go_on(900)
    assert store.sweep() == 0
    clock.go_on(1)
    assert store.sweep() == 1
    assert store.waiting() == ["a"]


# Fates


def claimed(**fields: object):
    claim = Claim(session="s", host=this_process(), at=START_US // 1000)
    return request("a", claim=claim, **fields)


def test_every_fate_of_a_claimed_request():
    now_ms = START_US // 1000
    unnamed, late = request("a"), claimed(timeout=5)

    assert fate_of_claimed(claimed(), host_is_gone=False, now_ms=now_ms) is KEEP
    assert fate_of_claimed(unnamed, host_is_gone=False, now_ms=now_ms) == Fate(
        "again", request=unnamed
    )
    again = fate_of_claimed(claimed(), host_is_gone=True, now_ms=now_ms)
    assert again.request == claimed(prompt=again.request.prompt, attempt=1)  # type: ignore[union-attr]
    used_up = fate_of_claimed(claimed(attempt=1), host_is_gone=True, now_ms=now_ms)
    assert used_up.response.error.message == (  # type: ignore[union-attr]
        "the session that held the request is gone, and 2 attempts were used up"
    )
    ended = fate_of_claimed(late, host_is_gone=False, now_ms=now_ms + 5)
    assert ended.response.error.message == "no answer within 0.005 s; stage: offered"  # type: ignore[union-attr]
