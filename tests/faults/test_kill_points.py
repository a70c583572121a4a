"""Kill -9 at every system call of every operation; P1, P2, P3 hold after it."""

import json
from collections import Counter

import pytest
from faultlab import Prepared, prepared, tell
from storeoperations import OPERATIONS
from storeworld import (
    ROOMS,
    finish_everything,
    folders_of,
    path_of,
    quarantined,
    request,
)

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId
from bridge.store.store import Store

pytestmark = pytest.mark.faults


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_at_any_system_call_loses_nothing(operation):
    with prepared(operation) as state:
        ends = Counter[str]()
        for _, store, outcome in state.killed(everywhere=True):
            check_promises(state, store)
            ends[outcome.status] += 1
    # The last of its calls ends the child when it has reported.
    assert ends["died"] > ends["returned"]
    tell(f"{operation.name}: {state.cases} kill points")


def check_promises(state: Prepared, store: Store) -> None:
    """Files are whole; a fresh process finishes it all; what was said stays said."""
    for room in (*ROOMS, "responses"):
        folder = path_of(store, room)
        for path in folder.glob("[!.]*.json") if folder.exists() else ():
            if path.stem != "broken":
                assert json.loads(path.read_bytes())["requestId"] == path.stem
    said = responses(store)
    for request_id in state.operation.promised:
        assert len(folders_of(store, request_id)) == 1, request_id

    # As long as any pause before a next try.
    store.clock.go_on(5)
    ended = finish_everything(store)

    assert said.items() <= responses(store).items()
    assert state.operation.promised <= ended.keys()
    assert set(quarantined(store)) <= {"broken.json"}
    if state.operation.name.endswith("submit"):
        submit_again(store, known="new" in ended)


def responses(store: Store) -> dict[str, bytes]:
    folder = path_of(store, "responses")
    found = folder.glob("[!.]*.json") if folder.exists() else ()
    return {path.stem: path.read_bytes() for path in found}


def submit_again(store: Store, *, known: bool) -> None:
    """After a kill one can submit again, and hears whether it had been done."""
    if known:
        assert not store.submit(request("other", dedup_key="k")).is_new
        with pytest.raises(InvalidRequest):
            store.submit(request("new"))
        return
    assert store.submit(request("new", dedup_key="k")).is_new
    finish_everything(store)
    assert store.find(RequestId("new")) is not None
