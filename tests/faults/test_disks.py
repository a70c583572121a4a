"""A disk that is full, or becomes read-only, in the middle."""

import ctypes
import os
import shutil
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path

import orjson
import pytest
from faultlab import prepared
from hookworld import HookWorld, hook_world
from storeoperations import OPERATIONS
from storeworld import (
    claim_all,
    dead_process,
    finish_everything,
    request,
    store_in,
    this_process,
)
from systemcalls import outcome_of, together
from test_error_points import check_outcome
from test_kill_points import check_promises

from bridge.api.bridge import Bridge
from bridge.api.wait import Waiter
from bridge.config import Settings
from bridge.errors import StateUnavailable, WaitTimeout
from bridge.host import dispatch
from bridge.protocol.hook_output import SILENT, HookOutput
from bridge.protocol.ids import RequestId
from bridge.store import subagent_runs, wakeups
from bridge.store.sessions import Session
from bridge.store.store import Store

pytestmark = pytest.mark.faults

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_PRIVATE, _READ_ONLY, _REMOUNT = 0x40000 | 0x4000, 1, 32


class NoMounts(Exception):
    """Neither root nor user namespaces here."""


def mount(kind: str, target: Path, flags: int, options: str) -> None:
    done = _libc.mount(
        b"none", os.fsencode(target), kind.encode(), flags, options.encode()
    )
    if done:
        raise NoMounts(os.strerror(ctypes.get_errno()))


def in_mounts_of_its_own(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a child that may mount; its failure is the test's."""

    def enter():
        user = os.geteuid()
        kinds = _NEW_MOUNTS | (_NEW_USER if user else 0)
        if _libc.unshare(kinds):
            raise NoMounts(os.strerror(ctypes.get_errno()))
        if user:
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        mount("", Path("/"), _PRIVATE, "")

    @wraps(test)
    def in_child(**fixtures):
        def guarded():
            try:
                enter()
                return test(**fixtures)
            except NoMounts as why:
                return f"no mounts: {why}"

        (outcome,) = together([guarded])
        if str(outcome.value).startswith("no mounts"):
            pytest.skip(str(outcome.value))
        assert outcome.status == "returned", outcome.message

    return in_child


@in_mounts_of_its_own
def test_a_full_disk_refuses_clearly_and_loses_nothing(tmp_path):
    mount("tmpfs", tmp_path, 0, "size=64k,mode=700")
    store = store_in(tmp_path)
    accepted = []

    def submit_for_ever() -> None:
        for number in range(1000):
            store.submit(request(f"r-{number}", prompt="x" * 2000))
            accepted.append(f"r-{number}")

    with pytest.raises(StateUnavailable) as caught:
        submit_for_ever()
    full = "No space left on device; see `hostbridge doctor`"
    assert str(caught.value) == f"{store.place.state}: {full}"
    assert len(accepted) > 2
    for name in accepted:
        assert store.find(RequestId(name)).request is not None
    mount("tmpfs", tmp_path, _REMOUNT, "size=2m,mode=700")
    assert finish_everything(store).keys() == set(accepted)


@in_mounts_of_its_own
def test_a_wait_on_a_full_disk_says_so(tmp_path):
    """No session can write an answer there: to wait longer would be in vain."""
    mount("tmpfs", tmp_path, 0, "size=256k,mode=700")
    store = store_in(tmp_path)
    store.submit(request("a"))
    list(store.wait([RequestId("a")], timeout_s=0))
    fill(tmp_path / "filler", 0)
    waiter = Waiter(store, on_stage=lambda _: None)

    with pytest.raises(WaitTimeout) as caught:
        waiter.one(RequestId("a"), 0)

    assert caught.value.what == (
        "request a: no answer within 0 s: no open session could take it; no answer "
        f"can be written: {store.place.state}: No space left on device; see "
        "`hostbridge doctor`. It goes on"
    )


DISKS = {
    "full": lambda root: fill(root / "filler", 0),
    "read-only": lambda root: mount(
        "tmpfs", root, _REMOUNT | _READ_ONLY, "size=1m,mode=700"
    ),
}


@pytest.mark.parametrize("disk", DISKS)
@in_mounts_of_its_own
def test_who_looks_needs_no_room(tmp_path, disk):
    """`status` worked, and `show` failed: the one makes a folder that was missing."""
    mount("tmpfs", tmp_path, 0, "size=1m,mode=700")
    settings = Settings.from_environment({"HOME": str(tmp_path / "home")})
    bridge = Bridge(settings, tmp_path)
    asked = bridge.submit("Which?", agent="general-purpose")
    DISKS[disk](tmp_path)

    assert bridge.story(asked).request is not None
    assert bridge.status(asked).request is not None
    assert [r.request_id for r in bridge.overview().requests] == [asked]
    assert bridge.store.waiting() == [asked]
    assert bridge.store.evidence(asked) == []
    assert not bridge.hosts.is_off


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
@in_mounts_of_its_own
def test_a_disk_with_little_room_loses_nothing(operation, tmp_path):
    """So many pages are left when the operation begins: 0, 1, 2 and so on."""
    with prepared(operation) as state:
        for free in range(7):
            store = state.fresh()
            mount("tmpfs", tmp_path, 0, "size=256k,mode=700")
            small = Store(store_in(tmp_path).place, clock=store.clock, lock_wait_s=1)
            copy(store, small)
            filler = tmp_path / "filler"
            fill(filler, free)
            outcome = outcome_of(lambda s=small: operation.act(s))
            check_outcome(outcome)
            filler.unlink()
            check_promises(state, small)
            assert _libc.umount2(os.fsencode(tmp_path), 2) == 0


def copy(store: Store, small: Store) -> None:
    if store.place.guard.exists():
        shutil.copytree(store.place.guard, small.place.guard)
    else:
        small.place.guard.parent.mkdir(exist_ok=True)


def fill(filler: Path, free_pages: int) -> None:
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - 4096 * free_pages))


@in_mounts_of_its_own
def test_a_disk_that_becomes_read_only(tmp_path):
    mount("tmpfs", tmp_path, 0, "size=1m,mode=700")
    store = store_in(tmp_path)
    for name in "abc":
        store.submit(request(name))
    claim_all(store)
    evidence = {"reason": "r", "source": "s", "words": "w"}
    store.keep_evidence("a", **evidence)
    list(store.wait([RequestId("a")], timeout_s=0))
    mount("tmpfs", tmp_path, _REMOUNT | _READ_ONLY, "size=1m,mode=700")

    refused = f"{store.place.state}: Read-only file system; see `hostbridge doctor`"
    for change in (
        partial(store.submit, request("d")),
        partial(store.keep_evidence, "a", **evidence),
    ):
        with pytest.raises(StateUnavailable) as caught:
            change()
        assert str(caught.value) == refused
    assert store.find(RequestId("a")) is not None
    assert list(store.wait([RequestId("a")], timeout_s=0.1)) == []

    mount("tmpfs", tmp_path, _REMOUNT, "size=1m,mode=700")
    for mine in store.claimed():
        store.give_back(RequestId(mine.request_id), mine.claim.host, lambda r: r)
    assert finish_everything(store).keys() == set("abc")


@pytest.mark.parametrize("known", ["agent and owner", "owner", "another owner", ""])
@pytest.mark.parametrize("disk", DISKS)
@in_mounts_of_its_own
def test_an_agent_raises_no_dialog_whatever_the_disk_is_like(
    tmp_path, monkeypatch, disk, known
):
    """Whatever the user is typing could answer it: what must be said needs no room."""
    mount("tmpfs", tmp_path, 0, "size=1m,mode=700")
    with hook_world(tmp_path, monkeypatch) as world:
        _, _, agent = world.begin()
        if "owner" in known:
            hook(world, "UserPromptSubmit", prompt="owned from here on")
        if known == "agent and owner":
            tool(world, agent)
        if known == "another owner":
            (pinned,) = (world.store.place.guard / "pins").iterdir()
            (pinned / "host").write_text('{"pid": 7, "startTime": "1"}')
        DISKS[disk](tmp_path)

        asked = hook(world, "PermissionRequest", agent_id=agent, tool_name="Bash")

    assert b'"behavior":"deny"' in asked.stdout


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("why", ["cancelled", "off", "late", "tool"])
@in_mounts_of_its_own
def test_an_agent_is_refused_whatever_the_disk_is_like(
    tmp_path, monkeypatch, disk, why
):
    """One that is not told to stop goes on, also on a disk that takes no note of it."""
    mount("tmpfs", tmp_path, 0, "size=1m,mode=700")
    with hook_world(tmp_path, monkeypatch) as world:
        request, _, agent = world.begin(timeout_s=600)
        hook(world, "UserPromptSubmit", prompt="owned from here on")
        tool(world, agent)
        if why == "cancelled":
            world.bridge.cancel(request)
        elif why == "off":
            (world.store.place.state / "off").touch()
        elif why == "late":
            world.change("agents", agent, answerAt=1)
            world.change("processing", request, createdAt=1, uptime=None)
        else:
            (run,) = world.runs()
            subagent_runs.change(world.store, run, lambda r: r.with_(tools=("Read",)))
        DISKS[disk](tmp_path)

        asked = tool(world, agent)

    assert b'"permissionDecision":"deny"' in asked.stdout


@in_mounts_of_its_own
def test_a_spoilt_disk_keeps_no_other_session_asleep(tmp_path):
    """The session behind the other one may be the only one that answers."""
    store = store_in(tmp_path)
    spoilt, mine = dead_process(), this_process()
    for host in (spoilt, mine):
        wakeups.prepare(store, host)
    folder = store.place.state / "bell" / wakeups.folder_name(spoilt)
    mount("tmpfs", folder, _READ_ONLY, "mode=700")

    sessions = [
        Session(session_id="s", host=host, registered_at=1) for host in (spoilt, mine)
    ]
    wakeups.wake(store, sessions)

    assert wakeups.clear(store, mine)


def tool(world: HookWorld, agent: str) -> HookOutput:
    return hook(
        world, "PreToolUse", agent_id=agent, tool_name="Bash", tool_use_id="toolu_b"
    )


def hook(world: HookWorld, name: str, **fields: object) -> HookOutput:
    """What a hook of the install `local` answers; silence where it fails."""
    try:
        return dispatch.answer(orjson.dumps(world.event(name, **fields)), name, "local")
    except StateUnavailable:
        return SILENT
