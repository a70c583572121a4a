"""The process of a model: `python -m bridge.llama.model_worker PARENT`.

Orders come in on stdin and answers go out on stdout, one JSON object per line:

    {"do": "load", "path", …}       nothing, or {"is": "failed", …}
    {"do": "reply", "messages", …}  {"is": "tokens", …} …, then {"is": "reply", …}
                                    or {"is": "failed", "code", "message"}

It ends with its parent, however that ends: the kernel kills it or, if that is not
possible, the end of stdin ends it. Only answers reach stdout: what libraries print goes
to stderr.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import queue
import resource
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import ModelFailed
from bridge.llama import out_of_memory
from bridge.llama.gguf import NotAModel, read_header

if TYPE_CHECKING:
    from bridge.llama.reply import ModelReplier

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve one parent until it is gone."""
    out = _take_stdout()
    _die_with_parent(sys.argv[1:])
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(orders,), daemon=True).start()

    def report(tokens: int, seconds: float) -> None:
        _say(out, {"is": "tokens", "tokens": tokens, "seconds": seconds})

    try:
        replier = _load(orders.get())
    except ModelFailed as exc:
        _say_why(out, exc)
        return
    while True:
        try:
            reply = replier.reply(orders.get(), report)
            _say(out, {"is": "reply", "reply": asdict(reply)})
        except ModelFailed as exc:
            _say_why(out, exc)


def _load(order: dict[str, Any]) -> ModelReplier:
    path, limit = order["path"], order["memoryBytes"]
    note = f"; its memory is limited to {limit >> 20} MiB" if limit else ""
    try:
        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        return _replier(order)
    except (ModelFailed, NotAModel) as exc:
        raise ModelFailed("model_unavailable", f"{path}: {exc}{note}") from None
    except MemoryError:
        raise ModelFailed("model_unavailable", f"{path}: out of memory{note}") from None
    except (ImportError, OSError, RuntimeError) as exc:
        why = str(exc).strip().rpartition("\n")[2]
        what = (
            "out of memory"
            if out_of_memory.is_reported(why)
            else "llama.cpp cannot be used"
        )
        raise ModelFailed("model_unavailable", f"{path}: {what}: {why}{note}") from None


def _replier(order: dict[str, Any]) -> ModelReplier:
    """Load the model and, at the same time, everything else."""
    from bridge.llama.runtime import Llama, build

    path, kept, cache = order["path"], order["cache"], None
    template = order["template"]
    if order["sha256"] is not None:
        path, template = _verified(path, order["sha256"])
    with ThreadPoolExecutor(2) as pool:
        loading = pool.submit(Llama, path, context=order["context"])
        preparing = pool.submit(lambda: loading.result().prepare())
        from bridge.llama.prompt_cache import PromptCache, model_key
        from bridge.llama.reply import ModelReplier

        if kept is not None:
            # The layout of the state may depend on the context length.
            key = model_key(Path(order["path"]), f"{build()} {order['context']}")
            cache = PromptCache(Path(kept["folder"]), key, kept["maxBytes"])
        replier = ModelReplier(loading.result(), template, cache)
        preparing.result()
        return replier


def _verified(path: str, digest: str) -> tuple[str, str | None]:
    """A path of the checked file, which stays open, and its template.

    Another file may replace it later: what is loaded is what was checked here.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb", closefd=False) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise NotAModel("not the file that was trusted: it has changed since")
    held = f"/proc/self/fd/{fd}" if sys.platform == "linux" else path
    return held, read_header(Path(held)).chat_template


def _receive(orders: queue.SimpleQueue[dict[str, Any]]) -> None:
    with os.fdopen(0, "rb", closefd=False) as stdin:
        for line in stdin:
            orders.put(json.loads(line))
    # Not sys.exit: this is not the main thread, and that one may be in llama.cpp.
    os._exit(0)


def _say_why(out: int, failed: ModelFailed) -> None:
    _say(out, {"is": "failed", "code": failed.code, "message": str(failed)})


def _say(out: int, answer: dict[str, Any]) -> None:
    line = json.dumps(answer).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]


def _take_stdout() -> int:
    """Keep stdout for answers; anything else that is printed goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _die_with_parent(arguments: list[str]) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    Source: prctl(2), PR_SET_PDEATHSIG: "parent" is that thread. So the parent passes
    its pid only from its main thread; otherwise the end of stdin must do.
    """
    if sys.platform != "linux" or not arguments:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(arguments[0]):
        os._exit(0)


if __name__ == "__main__":
    main()
