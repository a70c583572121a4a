"""Row 20, local: a model that is missing, cut, killed, hung, too large, too long."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import needs
import pytest
from localmodel import LONG, ask, failure, start

from bridge.agent_loop.chat_model import ModelFailed
from bridge.config import Settings
from bridge.llama.local_model import LlamaModel
from bridge.llama.worker_process import _environment, quiet_debugger
from bridge.store.host_process import Liveness, identify, liveness

pytestmark = [pytest.mark.faults, pytest.mark.slow]

KILLS = 50


def open_files() -> set[str]:
    links = Path("/proc/self/fd").iterdir()
    return {os.readlink(link) for link in links if link.is_symlink()}


def has_children() -> bool:
    """Whether this process has a child, living or not yet waited for."""
    listed = Path("/proc/self/task").glob("*/children")
    return any(path.read_text().strip() for path in listed)


def _be_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes):
    """Have a program run in its place that says one line."""
    script = f"import os, time\nos.write(1, {line!r} + b'\\n')\ntime.sleep(30)\n"
    _act_as_the_worker(tmp_path, monkeypatch, script)


def _act_as_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str):
    """Have a program run in its place."""
    folder = tmp_path / "worker" / "bridge" / "llama"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "model_worker.py").write_text(script)
    monkeypatch.setattr(
        "bridge.llama.worker_process._environment",
        lambda: {**os.environ, "PYTHONPATH": str(folder.parents[1])},
    )


def test_killed_at_a_random_moment(tmp_path):
    """Always a named failure; no orphan, zombie or descriptor is left."""
    chance = random.Random(20)  # noqa: S311 - for moments
    with start(tmp_path) as llama:
        ask(llama)
    before = open_files()
    codes = []
    for _ in range(KILLS):
        llama = start(tmp_path)
        pid = llama.pid
        assert pid is not None
        identity = identify(pid)
        killer = threading.Timer(chance.uniform(0, 1.5), os.kill, (pid, signal.SIGKILL))
        killer.start()
        code, told = failure(llama, shape=LONG, max_tokens=1500, within_s=36_000)
        killer.join()
        codes.append(code)
        assert "the model's process was ended by SIGKILL; it held up to " in told
        assert identity is None or liveness(identity) is Liveness.GONE
        assert llama.pid is None
        assert failure(llama) == (code, told)
        llama.close()
    assert codes == ["AGENT_006"] * KILLS
    assert not has_children()
    assert open_files() == before


def test_hung(tmp_path):
    """A process that is stopped cannot tell anybody: the deadline ends it."""
    with start(tmp_path) as llama:
        ask(llama)
        pid = llama.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        started = time.monotonic()

        assert failure(llama, within_s=1.5) == (
            "AGENT_005",
            "the deadline passed while the model was at work",
        )

        assert time.monotonic() - started >= 1.5
        assert not has_children()


def test_hung_before_it_listens(tmp_path):
    """What is sent to it does not fit into a pipe: sending waits no longer either."""
    llama = start(tmp_path)
    assert llama.pid is not None
    os.kill(llama.pid, signal.SIGSTOP)

    code, _ = failure(llama, shape={"enum": ["x" * 2_000_000]}, within_s=1)

    assert code == "AGENT_005"
    assert not has_children()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("17", '$: 17 is not of type "object"'),
        ("{", "not JSON: Expecting property name enclosed in double quotes: "),
    ],
)
def test_the_worker_breaks_the_schema(tmp_path, monkeypatch, text, problem):
    """Whatever became of its grammar: the reply is checked where it is asked for."""
    reply = {"is": "reply", "reply": {"text": text}}
    _be_the_worker(tmp_path, monkeypatch, json.dumps(reply).encode())
    with start(tmp_path) as llama:
        code, message = failure(llama, within_s=20)

    assert code == "AGENT_003"
    assert message.startswith(f"the reply does not satisfy it: {problem}")


@pytest.mark.parametrize(
    "line", [b"llama_decode: 17", b"[1]", b"{}", b"\xff", b"[" * 100_000]
)
def test_the_worker_writes_nonsense(tmp_path, monkeypatch, line):
    """Memory that went wrong may write anything: a named failure, not a bug of ours."""
    _be_the_worker(tmp_path, monkeypatch, line)
    llama = start(tmp_path)

    code, message = failure(llama, within_s=20)

    assert code == "AGENT_006"
    assert message.startswith("the model's process wrote nonsense: ")
    assert len(message) < 500
    assert not has_children()


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.5, 0.99, 0.99999])
def test_model_is_cut(tmp_path, share):
    """A download that broke off is told before llama.cpp sees it."""
    whole = needs.local_model().read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(ModelFailed) as caught:
        LlamaModel.open(str(cut), Settings(home=tmp_path))

    assert caught.value.code == "AGENT_002"
    assert str(caught.value).startswith(f"{cut}: cut off")


def test_model_is_refused_by_llama(tmp_path):
    """A header can be whole and still be of nothing that llama.cpp knows."""
    from ggufs import gguf

    needs.local_model()
    model = tmp_path / "odd.gguf"
    model.write_bytes(gguf())

    with LlamaModel.open(str(model), Settings(home=tmp_path)) as llama:
        code, told = failure(llama)

    assert code == "AGENT_002"
    assert told.startswith(f"{model}: llama.cpp cannot load it: ")
    assert not has_children()


def test_error_a_model_that_is_not_the_one_that_was_trusted(tmp_path):
    """Replaced between the look and the load: nothing of it is run."""
    model = tmp_path / "m.gguf"
    model.symlink_to(needs.local_model())
    settings = Settings(home=tmp_path / "home")
    digest = hashlib.sha256(b"another").hexdigest()

    with LlamaModel.open(str(model), settings, digest=digest) as llama:
        told = failure(llama)

    assert told == (
        "AGENT_002",
        f"{model}: not the file that was trusted: it has changed since",
    )


def test_the_model_that_was_trusted(tmp_path):
    """Held open while it is loaded, and its own template is used."""
    model = needs.local_model()
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    settings = Settings(home=tmp_path / "home")

    with LlamaModel.open(str(model), settings, digest=digest) as llama:
        assert ask(llama).text


def test_model_is_removed_after_it_was_found(tmp_path):
    model = tmp_path / "m.gguf"
    model.symlink_to(needs.local_model())
    settings = Settings(home=tmp_path / "home", local_model=model)
    found = LlamaModel.open(None, settings).file
    model.unlink()

    with LlamaModel(found, settings) as llama:
        code, told = failure(llama)

    assert code == "AGENT_002"
    assert told.startswith(f"{model}: ")


def test_enough_memory(tmp_path):
    """The limit is on what is allocated: the model's file is not."""
    with start(tmp_path, local_memory_mb=600) as llama:
        assert ask(llama).tokens


_PARENT = """
import sys, threading, time
from pathlib import Path
sys.path[:0] = {path!r}
from localmodel import start, ask
def run():
    global llama
    llama = start(Path({home!r}))
    ask(llama)
    print(llama.pid, flush=True)
    time.sleep(60)
if {threaded!r}:
    threading.Thread(target=run).start()
else:
    run()
"""


@pytest.mark.parametrize(
    ("threaded", "stopped"),
    [(False, False), (False, True), (True, False)],
    ids=["main thread", "main thread, stopped", "another thread"],
)
def test_the_parent_is_killed(tmp_path, threaded, stopped):
    """Nobody is there to end it: it ends itself. A stopped one the kernel must end."""
    needs.local_model()
    code = _PARENT.format(path=sys.path, home=str(tmp_path), threaded=threaded)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    worker = identify(int(parent.stdout.readline()))
    assert worker is not None
    if stopped:
        os.kill(worker.pid, signal.SIGSTOP)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    end = time.monotonic() + 60
    while liveness(worker) is not Liveness.GONE and time.monotonic() < end:
        time.sleep(0.02)
    assert liveness(worker) is Liveness.GONE


def test_no_descriptors_left(tmp_path):
    """A process that cannot be started leaves nothing either."""
    before = open_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            start(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert open_files() == before


BACKTRACE = "\n".join(
    f"#{n} 0x00007f0e4a7c{n:04x} in ggml_abort () from libggml-base.so"
    for n in range(200)
)
ASSERTION = "/src/ggml/src/ggml-cpu/ops.c:4821: GGML_ASSERT(i01 >= 0) failed"


@pytest.mark.parametrize("flushed", [True, False], ids=["in two parts", "at once"])
def test_an_abort_is_told_by_what_failed(tmp_path, monkeypatch, flushed):
    """And not by the end of the backtrace that a debugger printed after it."""
    said = [f"warming up\n{ASSERTION}\n", f"{BACKTRACE}\n[Inferior 1 detached]\n"]
    writes = said if flushed else ["".join(said)]
    _act_as_the_worker(
        tmp_path,
        monkeypatch,
        "import os, time\n"
        + "".join(
            f"os.write(2, {part.encode()!r})\ntime.sleep(0.2)\n" for part in writes
        )
        + "os.abort()\n",
    )
    with start(tmp_path) as llama:
        code, told = failure(llama)

    assert code == "AGENT_006"
    assert told.startswith("the model's process was ended by SIGABRT; it held up to ")
    assert told.endswith(f" MiB: {ASSERTION}")


def test_its_assertions_start_no_debugger():
    """It would be attached for seconds, and print what is in memory."""
    env = {}
    quiet_debugger(env)
    assert env == {"GGML_NO_BACKTRACE": "1"}
    assert _environment()["GGML_NO_BACKTRACE"] == "1"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0, 1, "; the system ran out of memory, and killed it"),
        (3, 3, "; somebody killed it, or the system, short of memory, did"),
    ],
)
def test_killed_for_want_of_memory(tmp_path, monkeypatch, before, after, told):
    """The kernel counts whom it kills: it was it, or it was not."""
    counter = tmp_path / "vmstat"
    counter.write_text(f"nr_free_pages 7\noom_kill {before}\nx 1\n")
    monkeypatch.setattr("bridge.llama.out_of_memory._VMSTAT", counter)
    with start(tmp_path) as llama:
        assert llama.pid is not None
        counter.write_text(f"nr_free_pages 7\noom_kill {after}\nx 1\n")
        os.kill(llama.pid, signal.SIGKILL)

        assert failure(llama)[1].endswith(told)


@pytest.mark.parametrize("mib", [20, 60, 120])
def test_a_limit_of_memory_is_named_whoever_meets_it(tmp_path, mib):
    """The loader, Python's threads, llama.cpp: each has other words for it."""
    with start(tmp_path, local_memory_mb=mib, local_context=8192) as llama:
        code, message = failure(llama)

    assert code in ("AGENT_002", "AGENT_006")
    assert "out of memory" in message or "has no room" in message
    assert f"its memory is limited to {mib} MiB" in message
    assert "\n" not in message
    assert not has_children()


@pytest.mark.parametrize("what", ["file", "link", "parent"])
def test_a_cache_that_cannot_be_is_done_without(tmp_path, caplog, what):
    """It is a cache: no ask fails for it, and it is said once."""
    folder = tmp_path / "cache" / "prompts"
    folder.parent.mkdir(mode=0o700)
    if what == "file":
        folder.write_text("")
    elif what == "link":
        folder.symlink_to("/tmp")
    else:
        folder.parent.rmdir()
        folder.parent.write_text("")

    for _ in range(2):
        with start(tmp_path) as llama:
            assert ask(llama).text

    (said,) = caplog.messages
    assert said.startswith("hostbridge: prompts are not kept, which takes longer: ")
    assert str(folder.parent) in said
