"""Hooks that are missed, in the real client: no answer is thrown away."""

import threading
from pathlib import Path

import pytest
from hookprocesses import copy_plugin
from hostworld import HostWorld, bash, code_of, host_world, named
from polling import wait_until
from thoroughness import is_full

from bridge.host.hook_table import entries
from bridge.testing.stage.models import agent_output, launching, obedient_model
from bridge.testing.stage.replies import Answer, error, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

GOOD = '{"status": "success", "summary": "s"}'
REINSTALLS = 3 if is_full() else 2
REQUESTS = 8 * REINSTALLS


class Copy:
    """An install of a copy: its hooks can be away, as while pip replaces them."""

    def __init__(self, world: HostWorld, folder: Path) -> None:
        self._hooks, self._away = folder / "hooks", folder / "away"
        self._log = world.stage.home / ".hostbridge" / "hook-errors.log"
        world.add_hooks(entries(copy_plugin(folder)))
        self._away.mkdir()

    def leave(self) -> None:
        """From now on no hook runs."""
        _move(self._hooks, self._away)

    def come_back(self) -> None:
        """From now on hooks run again; those that ran meanwhile may have complained."""
        _move(self._away, self._hooks)
        self._log.unlink(missing_ok=True)


def _move(source: Path, target: Path) -> None:
    # The folder stays: a hook that runs finds the package beside it.
    for file in sorted(source.iterdir()):
        file.rename(target / file.name)


ENDS: dict[str, tuple[str, dict[str, tuple[Answer, str]]]] = {
    # the permission mode, what each agent says, and how its request ends
    "several": (
        "default",
        {
            "an answer": (reply(GOOD), "success"),
            "prose": (reply("Well."), "no_json"),
            "a limit": (error(429, "rate_limit_error", "Slow down"), "quota"),
            "an error": (error(500, "api_error", "Sorry"), "agent_error"),
            "no word": (reply(), "agent_error"),
        },
    ),
    "handed back": ("auto", {"handed back": (reply(GOOD), "success")}),
}


@pytest.mark.parametrize("which", ENDS)
def test_ends_that_no_hook_saw(tmp_path, which):
    """Nor their notices: the end of the next turn tells that the agents are over."""
    mode, ends = ENDS[which]
    at_work, is_left = [], []

    def answers(prompt, request):
        if not request.own_calls:
            return bash("true")
        at_work.append(request.agent_id)
        wait_until(lambda: is_left, what="the hooks are away")
        return next(last for end, (last, _) in ends.items() if named(end) in prompt)

    model, slots = obedient_model(answers), {"BRIDGE_SLOTS": f"{len(ends)}"}
    with host_world(tmp_path, model, kinds=(), env=slots) as world:
        copy = Copy(world, tmp_path / "copy")
        world.allow("Bash")
        with world.stream(mode=mode) as session:
            requests = [
                world.submit(named(end), max_attempts=1, wait_quota=False)
                for end in ends
            ]
            wait_until(lambda: len(at_work) == len(ends), what="agents at work")
            # The turn that has launched them is over then.
            session.ask("all right?")
            copy.leave()
            is_left.append(True)
            wait_until(lambda: finished(world) == len(ends), what="their ends")
            session.ask("and now?")
            if mode != "auto":
                # Notices that come later would be heard.
                notices = [f"<task-id>{agent}<" for agent in at_work]
                world.api.wait_for(lambda r: all(map(r.contains, notices)))
            copy.come_back()
            session.ask("and now?")
            responses = dict(zip(ends, map(world.ended, requests), strict=True))

    for end, (_, code) in ends.items():
        response = responses[end]
        assert (code_of(response) or "success") == code, (end, response)
        assert response.raw_output == GOOD or not response.success


def test_an_idle_session_hears_what_all_its_hooks_have_missed(tmp_path):
    """Who waits signals it; that costs no request to its model."""
    is_left = []

    def answers(_prompt, request):
        if not request.own_calls:
            return bash("true")
        wait_until(lambda: is_left, what="the hooks are away")
        return reply(GOOD)

    with host_world(tmp_path, obedient_model(answers), kinds=()) as world:
        copy = Copy(world, tmp_path / "copy")
        world.allow("Bash")
        with world.stream():
            request = world.submit(max_attempts=1)
            world.wait_for_run(request)
            copy.leave()
            is_left.append(True)
            # As no hook takes it, its notice is a prompt.
            world.api.wait_for(lambda r: not r.agent_id and r.contains("<task-id>"))
            turns = len(world.api.turns("main"))
            copy.come_back()
            [result] = world.bridge.wait([request], timeout_s=300)

    assert result.success
    assert len(world.api.turns("main")) == turns


class Gate:
    """Holds agents that are about to answer."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self._is_open.set()
        self.held = 0

    def close(self) -> None:
        self._is_open.clear()
        self.held = 0

    def open(self) -> None:
        self._is_open.set()

    def answers(self, _prompt: str, request: ApiRequest) -> Answer:
        """What an agent says: it works, and answers when it is let."""
        if not request.own_calls:
            return bash("true")
        self.held += 1
        self._is_open.wait(300)
        return agent_output()


def finished(world: HostWorld) -> int:
    """How many agents the client is done with."""
    notes = world.stage.home.glob(".claude/projects/*/*/subagents/*.meta.json")
    return sum('"finished":true' in each.read_text() for each in notes)


def test_reinstalls_under_many_requests_lose_none(tmp_path):
    """Each is as when pip replaces the files, while agents begin, work and end."""
    gate = Gate()
    model = obedient_model(gate.answers, main=launching(again=True))
    with host_world(tmp_path, model, kinds=()) as world:
        copy = Copy(world, tmp_path / "copy")
        world.allow("Bash")
        with world.stream():
            requests = [
                world.submit(f"Say hello to {number}.", max_attempts=1)
                for number in range(REQUESTS)
            ]
            for _ in range(REINSTALLS):
                gate.close()
                wait_until(lambda: gate.held >= 2, what="agents about to answer")
                copy.leave()
                before = finished(world)
                gate.open()
                wait_until(
                    lambda b=before: finished(world) >= b + 2,
                    what="ends that nobody hears",
                )
                copy.come_back()
            responses = [world.ended(each) for each in requests]

    assert {code_of(each) for each in responses} == {None}
