"""A `claude` that misbehaves, and two who want the same request."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import forkserver
import pytest
from cli.conftest import SUCCESS, Host, Project
from fakeclaude import OBEDIENT, fake_claude, printing, result
from faultlab import tell
from polling import wait_until
from sessionworld import started_as_a_client
from storeworld import finish_everything, folders_of
from thoroughness import is_full

from bridge.protocol.ids import RequestId
from bridge.store.host_process import identify
from bridge.testing.stage.processes import is_alive

pytestmark = pytest.mark.faults

# Their ids have hyphens; a read set is named by a digest.
OF_REQUESTS = "*/1*-*.json"


class World(Project):
    """A project, and a program that stands where `claude` should."""

    def __init__(self, root: Path, lines: str) -> None:
        super().__init__(root)
        self.claude = fake_claude(root / "fake", lines)
        self.env |= {
            "BRIDGE_CLAUDE": str(self.claude),
            "BRIDGE_CLI_FALLBACK": "claude",
        }
        self.store = self.bridge.store

    def ask(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        return self.start("ask", "Which?", "--json", *words, **options)

    def answer(self, *words: str, **options: Any) -> dict[str, Any]:
        return self.run("ask", "Which?", "--json", *words, **options).json

    def pids(self) -> list[int]:
        file = self.claude.parent / "pids"
        return [int(word) for word in file.read_text().split()] if file.exists() else []

    def records(self) -> set[str]:
        """The names of all requests, wherever they lie."""
        return {file.name for file in self.store.place.state.glob(OF_REQUESTS)}


# A program that misbehaves

NOTE = 'echo $$ >>"$here/pids"\n'
GRANDCHILD = f"setsid sh -c 'echo $$ >>{{}}/pids; sleep 1000' & {NOTE}"
WAIT = 'while [ "$(wc -l <"$here/pids")" -lt 2 ]; do sleep 0.01; done\n'
MISBEHAVIOUR = {
    "prints no JSON": (printing("Hello, I am Claude."), "no_json"),
    "prints nothing": ("exit 0", "empty_answer"),
    "fails in prose": (printing("Oh no.", code=1), "agent_error"),
    "no structured output": (printing(result(result="I will not.")), "no_json"),
    "other JSON": (printing("[1, {}]"), "schema_mismatch"),
    "structured output of another shape": (
        printing(result(structured_output={"status": "great"})),
        "schema_mismatch",
    ),
    "cut JSON": (printing(result(structured_output={})[:-9]), "no_json"),
    "is killed": ("kill -9 $$", "agent_error"),
    "prints without end": (f"{NOTE}yes 1234567890", "agent_error"),
}


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_error_a_claude_that_misbehaves(tmp_path, name):
    """A named failure, never a success, and nothing that still runs."""
    lines, code = MISBEHAVIOUR[name]
    world = World(tmp_path, lines)

    reply = world.answer("--route", "claude", "--max-attempts", "1")

    assert (reply["success"], reply["route"]) == (False, "claude")
    assert reply["error"]["code"] == code
    assert folders_of(world.store, reply["requestId"]) == ["done"]
    wait_until(lambda: not any(map(is_alive, world.pids())))


def test_error_a_claude_that_cannot_be_run(tmp_path):
    """It was there a moment ago: an interpreter that is missing, a broken build."""
    world = World(tmp_path, "")
    world.claude.write_text("#!/no/such/interpreter\n")

    reply = world.answer("--route", "claude", "--max-attempts", "1")

    assert reply["error"]["code"] == "agent_error"
    assert "No such file or directory" in reply["error"]["message"]


def test_error_a_claude_that_ignores_sigterm(tmp_path):
    """It is at work when the last seconds before its deadline begin."""
    lines = f'trap "" TERM\n{NOTE}echo 595 >"$here/ahead"\nwhile :; do sleep 0.1; done'
    world = World(tmp_path, lines)

    words = ("--route", "claude", "--timeout", "600")
    reply = world.answer(*words, ahead=world.claude.with_name("ahead"))

    assert reply["error"]["code"] == "timeout"
    assert len(world.pids()) == 1
    wait_until(lambda: not any(map(is_alive, world.pids())))


def test_grandchildren_that_hold_the_pipe_delay_nothing(tmp_path):
    grandchild = GRANDCHILD.format(tmp_path / "fake")
    world = World(tmp_path, f"{grandchild}{WAIT}{OBEDIENT}")

    reply = world.answer("--route", "claude")

    assert reply["success"]
    assert len(world.pids()) == 2
    assert not any(map(is_alive, world.pids()))


@pytest.mark.parametrize("round_", range(12))
def test_an_asker_killed_at_any_moment_leaves_no_orphan(tmp_path, round_):
    """And no half record: a fresh process finishes what is left."""
    grandchild = GRANDCHILD.format(tmp_path / "fake")
    world = World(tmp_path, f"{grandchild}sleep 0.1\n{OBEDIENT}")
    # A Python that starts takes its time.
    pause_s = 0.1 + round_ * 0.07 if forkserver.starts_python else round_ * 0.025

    with world.ask("--route", "claude", "--timeout", "30") as asker:
        time.sleep(pause_s)
        asker.kill()
        asker.communicate()

    wait_until(lambda: not any(map(is_alive, world.pids())))
    left = [path.stem for path in world.store.place.state.glob(OF_REQUESTS)]
    ended = finish_everything(world.store)
    for request_id in set(left):
        assert ended[request_id] is not None
        assert folders_of(world.store, request_id) == ["done"]


# Two who want the same request


def test_bridge_and_fallback_race_for_one_request(tmp_path):
    """Whoever claims it serves it, alone; the other has done nothing."""
    world = World(tmp_path, f"{NOTE}{OBEDIENT}")
    won = {"host": 0, "claude": 0}
    delay_s = 0.05

    host = Host(world)
    with started_as_a_client(tmp_path) as client:
        host.change(host=identify(client.pid))
        for _ in range(40):
            served_before = len(world.pids())
            known = world.records()
            with world.ask("--fallback-after", "0.05", "--timeout", "30") as asker:
                # On a busy machine it may have left `requests/` before we look.
                wait_until(lambda known=known: world.records() - known)
                time.sleep(delay_s)
                until = time.monotonic() + 0.5
                while not (taken := host.claim()) and time.monotonic() < until:
                    pass
                for request in taken:
                    host.answer(request, SUCCESS)
                out, err = asker.communicate(timeout=300)
            reply = json.loads(out or "{}")
            assert reply.get("success"), err
            won[reply["route"]] += 1
            # Who of them is quicker depends on the machine: the loser gets a start.
            delay_s *= 1.3 if reply["route"] == "host" else 1 / 1.3
            served = len(world.pids()) - served_before
            expected = (1, 0) if reply["route"] == "host" else (0, 1)
            assert (len(taken), served) == expected
            assert world.store.evidence(RequestId(reply["requestId"])) == []
            if min(won.values()) >= (20 if is_full() else 4):
                break
        client.kill()

    tell(f"rounds: {won}")
    assert min(won.values()) > 0, "a race that only one can win shows nothing"
