"""A `claude` that misbehaves, and two who want the same request."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import forkserver
import pytest
from aheadclock import module_ahead
from fakeclaude import OBEDIENT, fake_claude, printing, result
from faultlab import tell
from polling import wait_until
from storeworld import finish_everything, folders_of
from thoroughness import is_full

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.protocol.ids import RequestId
from bridge.testing.stage.processes import is_alive

pytestmark = pytest.mark.faults

# Their ids have hyphens; a read set is named by a digest.
OF_REQUESTS = "*/1*-*.json"


class World:
    """A project, and a program that stands where `claude` should."""

    def __init__(self, root: Path, lines: str) -> None:
        self.folder = root / "project"
        (self.folder / ".git").mkdir(parents=True)
        self.claude = fake_claude(root / "fake", lines)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "BRIDGE_CLAUDE": str(self.claude),
            "BRIDGE_CLI_FALLBACK": "claude",
        }
        self.bridge = Bridge(Settings.from_environment(self.env), self.folder)
        self.store = self.bridge.store

    def ask(self, *words: str, has_time: bool = False) -> subprocess.Popen[str]:
        """If it `has_time`, that goes by when `ahead` is written beside the program."""
        words = ("ask", "Which?", "--json", *words)
        command = forkserver.command(*words, room="")
        if has_time or forkserver.starts_python:
            ahead = self.claude.with_name("ahead")
            command = [*module_ahead("bridge", ahead), *words]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answer(self, *words: str, **how: Any) -> dict[str, Any]:
        with self.ask(*words, **how) as asker:
            out, err = asker.communicate(timeout=300)
        assert out.count("\n") == 1, err
        return json.loads(out)

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

    reply = world.answer("--route", "claude", "--timeout", "600", has_time=True)

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
        # Its fork holds this open to its end.
        asker.stdout.read()

    wait_until(lambda: not any(map(is_alive, world.pids())))
    left = [path.stem for path in world.store.place.state.glob(OF_REQUESTS)]
    ended = finish_everything(world.store)
    for request_id in set(left):
        assert ended[request_id] is not None
        assert folders_of(world.store, request_id) == ["done"]


# Two who want the same request

HOST = """
import os, sys, time
from pathlib import Path
from bridge.config import Settings
from bridge.store.sessions import Session
from bridge.protocol.judge import judge
from bridge.protocol.response import answered
from bridge.api.bridge import Bridge
from bridge.store import Claimant
from bridge.store.host_process import identify

store = Bridge(Settings.from_environment(), Path(sys.argv[1])).store
me = identify(os.getpid())
session = Session(
    session_id="s1", host=me, cwd=sys.argv[1], registered_at=store.now_ms(), wakes=True
)
with store.state() as state, state["sessions"] as folder:
    folder.replace("s1.json", session.to_json())
print("open", flush=True)
while True:
    line = sys.stdin.readline()
    if not line:
        break
    time.sleep(float(line))
    taken = []
    until = time.monotonic() + 0.5
    while not taken and time.monotonic() < until:
        taken = store.claim(Claimant("s1", me), 4, lambda _: "take")
    for request in taken:
        words = '{"status": "success", "summary": "by the host"}'
        verdict = judge(request, words, calls=(), now_ms=store.now_ms())
        store.publish(
            answered(
                request, raw=words, parsed=verdict.parsed, now_ms=store.now_ms(),
                route="host",
            ),
            source="host",
        )
    print(len(taken), flush=True)
"""


def test_bridge_and_fallback_race_for_one_request(tmp_path):
    """Whoever claims it serves it, alone; the other has done nothing."""
    world = World(tmp_path, f"{NOTE}{OBEDIENT}")
    won = {"host": 0, "claude": 0}
    delay_s = 0.05

    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(world.folder)],
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as host:
        assert host.stdin is not None
        assert host.stdout.readline() == "open\n"
        for _ in range(40):
            served_before = len(world.pids())
            known = world.records()
            with world.ask("--fallback-after", "0.05", "--timeout", "30") as asker:
                # On a busy machine it may have left `requests/` before we look.
                wait_until(lambda known=known: world.records() - known)
                host.stdin.write(f"{delay_s}\n")
                host.stdin.flush()
                out, err = asker.communicate(timeout=300)
            taken = int(host.stdout.readline())
            reply = json.loads(out or "{}")
            assert reply.get("success"), err
            won[reply["route"]] += 1
            # Who of them is quicker depends on the machine: the loser gets a start.
            delay_s *= 1.3 if reply["route"] == "host" else 1 / 1.3
            served = len(world.pids()) - served_before
            expected = (1, 0) if reply["route"] == "host" else (0, 1)
            assert (taken, served) == expected
            assert world.store.evidence(RequestId(reply["requestId"])) == []
            if min(won.values()) >= (20 if is_full() else 4):
                break
        host.stdin.close()

    tell(f"rounds: {won}")
    assert min(won.values()) > 0, "a race that only one can win shows nothing"
