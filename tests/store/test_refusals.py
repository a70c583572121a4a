"""What the system refuses, in our words."""

from __future__ import annotations

import os

import pytest
from storeworld import (
    answer,
    claim_all,
    path_of,
    request,
)

from bridge.errors import StateRefused, StateUnavailable


def test_error_the_key_is_something_else(store, mine):
    path = path_of(store, "key")
    path.symlink_to("/etc/hostname")

    with pytest.raises(StateRefused) as caught:
        store.publish(answer(mine), source="test")

    assert str(caught.value) == f"{path}: not a plain file; move it away"


@pytest.mark.parametrize(
    "folder", ["requests", "processing", "responses", "done", "locks", "dedup"]
)
@pytest.mark.parametrize("what", ["link", "file"])
def test_error_a_folder_is_something_else(store, tmp_path, folder, what):
    store.submit(request("first", dedup_key="k"))
    path = path_of(store, folder)
    if path.exists():
        path.rename(tmp_path / "moved")
    if what == "link":
        path.symlink_to(tmp_path)
    else:
        path.write_text("")
    before = sorted(os.listdir(tmp_path))

    with pytest.raises(StateRefused) as caught:
        store.submit(request("a", dedup_key="k2"))

    assert str(caught.value) == (
        f"{path}: not a folder of its own; remove it; hostbridge follows no link"
    )
    assert sorted(os.listdir(tmp_path)) == before


def test_error_no_more_files_can_be_opened(store):
    import resource

    store.submit(request("a"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    fd = os.open("/", os.O_RDONLY)
    os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 2, limits[1]))
    try:
        with pytest.raises(StateUnavailable) as caught:
            claim_all(store)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert str(caught.value) == (
        f"{store.place.state}: Too many open files; see `hostbridge doctor`"
    )
    assert len(claim_all(store)) == 1
