"""Open the bridge of a project by its path; look at its requests."""

import pytest
from servingworld import bridge_in
from storeworld import FakeClock, claimant, dead_process, take

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.errors import InvalidRequest
from bridge.store import Claimant
from bridge.store.store import Store


@pytest.mark.parametrize("kind", [Bridge, AsyncBridge])
def test_error_a_missing_folder(kind, tmp_path):
    """Otherwise it would look like a project without any requests."""
    gone = tmp_path / "gone"

    with pytest.raises(InvalidRequest) as caught:
        kind.open(str(gone))

    assert str(caught.value) == (
        f"path '{gone}': there is no such folder; give the path of a folder in the "
        "project"
    )


SECONDS = ": expected seconds, more than 0 and at most "


@pytest.mark.parametrize(
    ("prompt", "timeout_s", "why"),
    [
        ("", 5, "the prompt is empty"),
        (" \n", 5, "the prompt is empty"),
        ("?", -1, f"timeout_s -1{SECONDS}2592000 "),
        ("?", float("inf"), f"timeout_s inf{SECONDS}"),
        ("?", 1e9, f"timeout_s 1e+09{SECONDS}"),
    ],
)
def test_error_in_the_words_of_the_call(tmp_path, prompt, timeout_s, why):
    with pytest.raises(InvalidRequest) as caught:
        Bridge.open(tmp_path).ask(prompt, timeout_s=timeout_s)

    assert str(caught.value).startswith(why)


def test_a_folder_and_a_file_in_a_project(tmp_path):
    """A program may pass its own folder, or its own file."""
    (tmp_path / ".git").mkdir()
    file = tmp_path / "tool.py"
    file.touch()

    opened = [Bridge.open(path) for path in (tmp_path, str(tmp_path), file)]
    opened.append(AsyncBridge.open(tmp_path).bridge)

    assert {bridge.store.place.project for bridge in opened} == {tmp_path.resolve()}


LOOKS = {
    "status": lambda bridge, request: bridge.status(request).status,
    "story": lambda bridge, request: bridge.story(request).status,
    "overview": lambda bridge, _: bridge.overview().last[0].status,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_ends_what_is_overdue(tmp_path, look):
    """Perhaps nobody else is there to do it."""
    clock = FakeClock()
    bridge = bridge_in(tmp_path, clock)
    request = bridge.submit("Which?", timeout_s=5)

    clock.go_on(6)

    assert LOOKS[look](bridge, request) == "timeout"


@pytest.mark.parametrize("is_held", [False, True])
def test_a_look_sweeps_nothing_that_can_go_on(tmp_path, monkeypatch, *, is_held):
    """It would take the lock, each time."""
    bridge = bridge_in(tmp_path)
    request = bridge.submit("Which?")
    if is_held:
        assert bridge.store.claim_one(request, claimant())

    def sweep(*_, **__):
        pytest.fail("it swept")

    monkeypatch.setattr(Store, "sweep", sweep)

    bridge.status(request)
    bridge.story(request)
    assert len(bridge.overview().requests) == 1


@pytest.mark.parametrize("look", ["status", "story"])
def test_a_look_gives_back_what_a_dead_host_held(tmp_path, look):
    bridge = bridge_in(tmp_path)
    request = bridge.submit("Which?")
    bridge.store.claim(Claimant("gone", dead_process()), 1, take)

    assert LOOKS[look](bridge, request) == "pending"
