"""A model's process that is killed, hung or broken: a named failure, nothing left."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import needs
import pytest
from brokenllama import built_for_another_processor
from localmodel import HI, LONG, YES, ask, failure, start
from polling import wait_until
from thoroughness import rounds

from bridge.agent_loop.chat_model import ModelFailed
from bridge.extras import how_to_rebuild
from bridge.llama.worker_client import _environment, tune
from bridge.store.host_process import Liveness, identify, liveness

pytestmark = [pytest.mark.faults, pytest.mark.slow]

KILLS = rounds(50)


def open_files() -> set[str]:
    links = Path("/proc/self/fd").iterdir()
    return {os.readlink(link) for link in links if link.is_symlink()}


def children() -> set[str]:
    """The children of this process, living or not yet reaped."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for path in lists for pid in path.read_text().split()}


@pytest.fixture(autouse=True)
def _no_child_is_left():
    before = children()
    yield
    assert children() <= before


@pytest.fixture
def replace_worker(tmp_path, monkeypatch):
    """Run a script in place of the worker."""

    def replace(script: str) -> None:
        folder = tmp_path / "worker" / "bridge" / "llama"
        folder.mkdir(parents=True)
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()
        (folder / "model_worker.py").write_text(f"import os, time\n{script}\n")
        monkeypatch.setattr(
            "bridge.llama.worker_client._environment",
            lambda: {**os.environ, "PYTHONPATH": str(folder.parents[1])},
        )

    return replace


def test_killed_at_a_random_moment(tmp_path):
    chance = random.Random(20)  # noqa: S311 - for moments
    with start(tmp_path) as llama:
        ask(llama, HI, YES)
    before = open_files()
    codes = []
    for _ in range(KILLS):
        llama = start(tmp_path)
        pid = llama.pid
        identity = identify(pid)
        killer = threading.Timer(chance.uniform(0, 1.5), os.kill, (pid, signal.SIGKILL))
        killer.start()
        code, message = failure(llama, shape=LONG, max_tokens=1500, within_s=36_000)
        killer.join()
        codes.append(code)
        assert "the model's process was ended by SIGKILL; it held up to " in message
        assert identity is None or liveness(identity) is Liveness.GONE
        assert llama.pid is None
        assert failure(llama) == (code, message)
        llama.close()
    assert codes == ["model_died"] * KILLS
    assert open_files() == before


def test_hung(tmp_path):
    """A stopped process cannot tell anybody: the deadline ends it."""
    with start(tmp_path) as llama:
        ask(llama, HI, YES)
        pid = llama.pid
        os.kill(pid, signal.SIGSTOP)
        began_s = time.monotonic()

        assert failure(llama, within_s=1.5) == (
            "timeout",
            "the deadline passed while the model was at work",
        )

        assert time.monotonic() - began_s >= 1.5
        assert str(pid) not in children()


def test_hung_before_it_listens(tmp_path):
    """The order does not fit into a pipe, so sending must not wait either."""
    llama = start(tmp_path)
    os.kill(llama.pid, signal.SIGSTOP)

    code, _ = failure(llama, shape={"enum": ["x" * 2_000_000]}, within_s=1)

    assert code == "timeout"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("17", '$: 17 is not of type "object"'),
        ("{", "not JSON: Expecting property name enclosed in double quotes: "),
    ],
)
def test_the_reply_breaks_the_schema(tmp_path, replace_worker, text, problem):
    """Whatever became of the grammar, the reply is checked in the other process."""
    line = json.dumps({"is": "reply", "reply": {"text": text}}).encode() + b"\n"
    replace_worker(f"os.write(1, {line!r})\ntime.sleep(600)")
    with start(tmp_path) as llama:
        code, message = failure(llama, within_s=300)

    assert code == "schema_mismatch"
    assert message.startswith(f"the reply does not satisfy it: {problem}")


@pytest.mark.parametrize(
    "line", [b"llama_decode: 17", b"[1]", b"{}", b"\xff", b"[" * 100_000]
)
def test_the_worker_writes_nonsense(tmp_path, replace_worker, line):
    """Damaged memory may write anything: that is a named failure, and no bug."""
    replace_worker(f"os.write(1, {line!r} + b'\\n')\ntime.sleep(600)")
    llama = start(tmp_path)

    code, message = failure(llama, within_s=300)

    assert code == "model_died"
    assert message.startswith("the model's process wrote nonsense: ")
    assert len(message) < 500


_PARENT = """
import sys, threading, time
from pathlib import Path
sys.path[:0] = {path!r}
from localmodel import HI, YES, start, ask
def run():
    global llama
    llama = start(Path({home!r}))
    ask(llama, HI, YES)
    print(llama.pid, flush=True)
    time.sleep(600)
if {threaded!r}:
    threading.Thread(target=run).start()
else:
    run()
"""


@pytest.mark.parametrize(
    ("threaded", "stopped"),
    [(False, False), (False, True), (True, False)],
    ids=["main-thread", "main-thread-stopped", "another-thread"],
)
def test_the_parent_is_killed(tmp_path, threaded, stopped):
    """The worker ends itself; the kernel must end one that is stopped."""
    needs.local_model()
    code = _PARENT.format(path=sys.path, home=str(tmp_path), threaded=threaded)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    worker = identify(int(parent.stdout.readline()))
    if stopped:
        os.kill(worker.pid, signal.SIGSTOP)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_until(lambda: liveness(worker) is Liveness.GONE)


def test_no_descriptors_are_left(tmp_path):
    """A process that cannot be started leaves nothing either."""
    before = open_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, hard))
    try:
        with pytest.raises(ModelFailed, match="too many open files"):
            start(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert open_files() == before


BACKTRACE = "\n".join(
    f"#{n} 0x00007f0e4a7c{n:04x} in ggml_abort () from libggml-base.so"
    for n in range(200)
)
ASSERTION = "/src/ggml/src/ggml-cpu/ops.c:4821: GGML_ASSERT(i01 >= 0) failed"


@pytest.mark.parametrize("flushed", [True, False], ids=["in-two-parts", "at-once"])
def test_an_abort_is_reported_with_its_assertion(tmp_path, replace_worker, flushed):
    """Not with the end of the backtrace that a debugger printed after it."""
    parts = [f"warming up\n{ASSERTION}\n", f"{BACKTRACE}\n[Inferior 1 detached]\n"]
    writes = [
        f"os.write(2, {part.encode()!r})\ntime.sleep(0.2)"
        for part in (parts if flushed else ["".join(parts)])
    ]
    replace_worker("\n".join([*writes, "os.abort()"]))
    with start(tmp_path) as llama:
        code, message = failure(llama)

    assert code == "model_died"
    assert message.startswith("the model's process was ended by SIGABRT; it held up to")
    assert message.endswith(f" MiB; it stopped itself over a fault: {ASSERTION}")


def test_a_build_that_the_processor_refuses_has_a_cure(tmp_path, monkeypatch):
    """It loads and fails at the first token: a wheel that was made elsewhere."""
    broken = built_for_another_processor(tmp_path / "broken")
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(broken))
    with start(tmp_path) as llama:
        code, message = failure(llama)

    assert code == "model_died"
    assert re.sub(r"\d+ MiB", "N MiB", message) == (
        "the model's process was ended by SIGILL; it held up to N MiB; it has "
        "instructions that this processor refuses; rebuild llama.cpp: "
        f"{how_to_rebuild()}"
    )


def test_the_environment_of_the_worker():
    """A debugger would be attached for seconds, and print what is in memory."""
    env = {"OMP_WAIT_POLICY": "ACTIVE"}

    tune(env)

    tuned = {"OPENBLAS_NUM_THREADS": "1", "GGML_NO_BACKTRACE": "1"}
    assert env == {"OMP_WAIT_POLICY": "ACTIVE", **tuned}
    assert _environment()["GGML_NO_BACKTRACE"] == "1"


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        (0, 1, "; the system ran out of memory, and killed it"),
        (3, 3, "; somebody killed it, or the system, short of memory, did"),
    ],
)
def test_killed_for_lack_of_memory(tmp_path, monkeypatch, before, after, end):
    """The kernel counts the processes that it kills."""
    counter = tmp_path / "vmstat"
    counter.write_text(f"nr_free_pages 7\noom_kill {before}\nx 1\n")
    monkeypatch.setattr("bridge.llama.out_of_memory._VMSTAT", counter)
    with start(tmp_path) as llama:
        counter.write_text(f"nr_free_pages 7\noom_kill {after}\nx 1\n")
        os.kill(llama.pid, signal.SIGKILL)

        assert failure(llama)[1].endswith(end)
