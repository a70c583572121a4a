"""Dedup keys: the same key finds the same request again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from storeworld import (
    FakeClock,
    answer,
    claim_all,
    path_of,
    request,
)

from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed
from bridge.store import Submitted

if TYPE_CHECKING:
    from bridge.store.files import FileStore

A = RequestId("a")


def test_the_same_key_finds_the_running_request(store: FileStore):
    store.submit(request("a", dedup_key="k"))

    assert store.submit(request("b", dedup_key="k")) == Submitted(A, is_new=False)
    claim_all(store)
    assert store.submit(request("c", dedup_key="k")) == Submitted(A, is_new=False)
    assert store.submit(request("d", dedup_key="other")).is_new
    assert store.submit(request("e")).is_new


def test_the_same_key_finds_the_answered_request(store: FileStore):
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(answer(mine), source="test")

    assert store.submit(request("b", dedup_key="k")) == Submitted(A, is_new=False)


def test_a_failed_request_may_be_asked_again_with_its_key(store: FileStore):
    store.submit(request("a", dedup_key="k"))
    (mine,) = claim_all(store)
    store.publish(failed(mine, "agent_error", "it broke", now_ms=5), source="test")

    assert store.submit(request("b", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=True
    )
    assert store.submit(request("c", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=False
    )


def test_an_overdue_request_may_be_asked_again_with_its_key(
    store: FileStore, clock: FakeClock
):
    """Nobody may have ended it yet: who joined it would get its timeout at once."""
    store.submit(request("a", dedup_key="k", timeout=1000))
    clock.go_on(1)

    assert store.submit(request("b", dedup_key="k")) == Submitted(
        RequestId("b"), is_new=True
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"dedupKey": "k", "requestId": "../../../../../etc/hostname"}',
        b'{"dedupKey": "k", "requestId": 5}',
        b'{"dedupKey": "k", "requestId": ' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"dedupKey": "other", "requestId": "a"}',
        b'{"dedupKey": "k", "requestId": "never-was"}',
    ],
)
def test_a_spoilt_dedup_file_finds_nothing(store: FileStore, content: bytes):
    store.submit(request("a", dedup_key="k"))
    (path,) = path_of(store, "dedup").iterdir()
    path.write_bytes(content)

    assert store.submit(request("b", dedup_key="k")).is_new


@pytest.mark.parametrize("what", ["link", "folder", "fifo"])
def test_something_else_in_place_of_a_dedup_file_finds_nothing(
    store: FileStore, what: str
):
    store.submit(request("a", dedup_key="k"))
    (path,) = path_of(store, "dedup").iterdir()
    path.unlink()
    if what == "link":
        path.symlink_to("/etc/hostname")
    elif what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)

    assert store.submit(request("b", dedup_key="k")).is_new
    assert not store.submit(request("c", dedup_key="k")).is_new
