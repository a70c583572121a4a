"""Measure the memory of a process that waits for an answer."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench import host
from bench.table import Row
from bench.timing import Series
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import agent_output, obedient_model
from bridge.testing.stage.replies import Reply
from bridge.testing.stage.stream import StreamSession

# How long the agent thinks, and when the waiting process is measured.
THINKS_S = 6
LOOK_S = 4

WAITERS = {
    "Bridge.ask": ["-c", "from bridge import Bridge; Bridge.open().ask('How?')"],
    "hostbridge ask": ["-m", "bridge", "ask", "How?"],
}
BARE = ["-c", "import time; time.sleep(60)"]


def rss_mib(pid: int) -> float:
    """Resident memory of a process; 0 if it is gone. Source: proc(5)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    kib = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return int(kib[0]) / 1024 if kib else 0.0


def measure(root: Path, rounds: int) -> list[Row]:
    """Measure each kind of waiter while the agent thinks, and a bare python."""

    def think(*_: object) -> Reply:
        return Reply(agent_output().blocks, delay_s=THINKS_S)

    commands = {**WAITERS, "bare": BARE}
    found = {name: Series() for name in commands}
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedApi(obedient_model(think)))
        stage = host.world(root / "memory", api, host.our_hooks())
        stack.enter_context(StreamSession(stage)).ask("hello")
        for _ in range(rounds):
            running = {
                name: subprocess.Popen(
                    [sys.executable, *arguments],
                    cwd=stage.project,
                    env=stage.environment(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for name, arguments in commands.items()
            }
            time.sleep(LOOK_S)
            for name, process in running.items():
                assert process.poll() is None, f"{name} did not wait"
                found[name].values.append(rss_mib(process.pid))
            running.pop("bare").kill()
            assert all(each.wait(60) == 0 for each in running.values())
    return [
        Row(f"waiting {name}", found[name], found["bare"], 50, "more", "MiB")
        for name in WAITERS
    ]
