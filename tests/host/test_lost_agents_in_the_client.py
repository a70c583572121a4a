"""Our traces vanish, a mode forbids: at a terminal, no dialog of ours all the same."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostworld import DIALOG, HostWorld, bash, host_world
from polling import wait_until

from bridge.testing.stage.models import agent_output, obedient_model

pytestmark = pytest.mark.host


def cut_record(world: HostWorld) -> None:
    for file in (world.store.place.state / "agents").glob("*.json"):
        os.truncate(file, 40)


def was_called(world: HostWorld) -> bool:
    """Whether hooks have heard of it; of a project that is gone they tell nothing."""
    seen = any("touch made" in f"{each}" for each in world.events)
    return seen or len(world.api.turns("subagent")) > 2


def remove(state: Path) -> None:
    """Remove the state while hooks may still write into it."""
    removed = state.with_name("removed")
    state.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


FAULTS: dict[str, Callable[[HostWorld], object]] = {
    "state removed": lambda w: remove(w.store.place.state),
    "project renamed": lambda w: w.stage.project.rename(w.stage.root / "renamed"),
    "git init above": lambda w: (w.stage.root / ".git").mkdir(),
    "record cut": cut_record,
    "an exception": lambda w: w.store.place.state.chmod(0o777),
    "switched off late": lambda w: (w.set_env(BRIDGE_OFF="1"), time.sleep(3)),
}


# The others, with hooks as processes, are in tests/faults/test_lost_traces.py.
TYPICAL = {"state removed", "record cut"}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(each, marks=() if each in TYPICAL else pytest.mark.full)
        for each in FAULTS
    ],
)
def test_no_dialog_when_our_traces_vanish(tmp_path, fault):
    """What the user types meanwhile stays typed."""
    begun, gone = threading.Event(), threading.Event()

    def answers(_prompt, request):
        if not request.own_calls:
            return bash("sleep 0.1")
        if len(request.own_calls) == 1:
            begun.set()
            gone.wait(300)
            return bash("touch made")
        return agent_output()

    model = obedient_model(answers)
    with host_world(tmp_path, model, record=["PreToolUse"]) as world:
        world.allow("Bash(sleep:*)")
        with world.terminal() as terminal:
            terminal.type("half a thought")
            world.submit()
            assert begun.wait(300)
            FAULTS[fault](world)
            gone.set()
            wait_until(lambda: was_called(world))
            # It is stopped, or told no; what a dialog needs to appear is a moment.
            time.sleep(2)
            history = terminal.history()
        for made in (world.stage.project / "made", world.stage.root / "renamed/made"):
            assert not made.exists()
        (world.stage.home / ".hostbridge/hook-errors.log").unlink(missing_ok=True)

    assert not any(words in history for words in DIALOG)
    assert "half a thought" in history
