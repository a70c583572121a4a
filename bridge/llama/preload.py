"""A worker that loads its model before there is a request for it.

To load the libraries of a command, to read the agent's definition and to write the
request down takes about as long as to load a small model: so both are done at once. It
is a guess. A model takes the worker when it would have started just this one; any
other model ends it, as does an ask that needs none, and the end of this process.

The worker is kept here, for the whole process: between the command line, which guesses,
and the model, which knows, nothing is handed down that could hold it.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.llama.worker_process import WorkerProcess

# At most one: the order that it was given, and the worker.
_kept: list[tuple[dict[str, Any], WorkerProcess]] = []


def start_ahead(wanted: str | None, settings: Settings) -> None:
    """Start the worker of a model, named as for `find_model`.

    Where that is not possible nothing is started: the model will say why.
    """
    # Not above: an ask that has nothing to do with a model comes by here, too.
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.errors import BridgeError
    from bridge.llama.worker_process import WorkerProcess

    with suppress(BridgeError, ModelFailed, OSError), ExitStack() as undo:
        process = WorkerProcess()
        undo.callback(process.close)
        atexit.register(process.close)
        # Meanwhile it starts.
        from bridge.llama.load_options import load_order
        from bridge.llama.model_files import find_model, require_extra

        require_extra()
        order = load_order(find_model(wanted, settings), settings)
        process.send(order)
        _kept.append((order, process))
        undo.pop_all()


def take_ahead(order: dict[str, Any]) -> WorkerProcess | None:
    """The worker that was given this order; None, and none is left, otherwise."""
    # Popped first: of two threads one gets it.
    with suppress(IndexError):
        given, process = _kept.pop()
        if given == order:
            return process
        process.close()
    return None


def end_ahead() -> None:
    """End the worker that nobody took."""
    take_ahead({})
