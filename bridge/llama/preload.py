"""A worker that loads its model before there is a request for it.

Importing what a command needs, reading the agent's definition and writing the request
take about as long as loading a small model, so both happen at once. Which model is a
guess. A model takes the worker if it would have started the same one. Any other model
ends it, and so do an `ask` without a model and the end of this process.

The worker is kept here, for the whole process: the command line, which guesses, and the
model share no object that could hold it.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from bridge.config import Settings

if TYPE_CHECKING:
    from bridge.llama.worker_client import WorkerProcess

# At most one: its order, and the worker.
_kept: list[tuple[dict[str, Any], WorkerProcess]] = []


def start_ahead(wanted: str | None, settings: Settings) -> None:
    """Start the worker of a model, which is named as for `find_model`.

    If that is not possible, nothing is started; the model will fail with the reason.
    """
    # Not at the top: an `ask` without a model imports this module, too.
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.errors import BridgeError
    from bridge.llama.worker_client import WorkerProcess

    with suppress(BridgeError, ModelFailed, OSError), ExitStack() as undo:
        process = WorkerProcess()
        undo.callback(process.close)
        atexit.register(process.close)
        # It starts in the meantime.
        from bridge.llama.load_options import load_order
        from bridge.llama.model_files import find_model, require_extra

        require_extra()
        order = load_order(find_model(wanted, settings), settings)
        process.send(order)
        _kept.append((order, process))
        undo.pop_all()


def take_ahead(order: dict[str, Any]) -> WorkerProcess | None:
    """The worker with this order; any other is ended."""
    # Popped first: only one of two threads gets it.
    with suppress(IndexError):
        kept, process = _kept.pop()
        if kept == order:
            return process
        process.close()
    return None


def end_ahead() -> None:
    """End the worker that nobody took."""
    take_ahead({})
