"""The sandbox of `.pym` scripts: pydantic-monty, and the program that it starts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bridge.errors import ExtraMissing


@contextmanager
def open_sandbox(needed_for: str = "") -> Iterator[tuple[Any, Any]]:
    """The module, and a pool of one worker, which has started.

    `needed_for` is the file of a script, for the error.

    Raises:
        ExtraMissing: pydantic-monty is not installed, or cannot start its program,
            which another package brings.
    """
    try:
        import pydantic_monty as monty
    except ImportError:
        raise ExtraMissing("local", "pydantic-monty", needed_for=needed_for) from None
    with ExitStack() as stack:
        try:
            workers = stack.enter_context(monty.Monty(max_processes=1))
            with workers.checkout():
                pass
        except (OSError, RuntimeError):
            program = "the program `monty` (pydantic-monty-runtime)"
            raise ExtraMissing("local", program, needed_for=needed_for) from None
        yield monty, workers
