"""`.pym` scripts: tools and context providers in the pydantic-monty sandbox.

A script is Python without imports, in its own process: it sees no file, no environment
variable and no network. Its names are

    the arguments of the call        None if left out
    node_text, node_name, node_type, file_path
                                     of the node that the request is about, or None
    read_file(path)                  the whole text of a file of up to 1 MiB
    list_files(folder, pattern), search_text(text, folder, pattern)
                                     of the project, as the tools of that name
    run_command(command)             {"exit_code": …, "output": …} of a granted command

Its result is the value of its last expression, or else what it printed. Time, memory,
host calls and output are bounded. An error is a result, too: an AssertionError or a
ValueError means that the script refuses, any other error that it is broken.

Source: pydantic-monty, `Monty`, `MontySession.feed_run`, `ResourceLimits`.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self

from bridge.agent_loop.tool import ToolResult
from bridge.agents.scripts import open_sandbox

MAX_SECONDS = 10.0
MAX_MEMORY_BYTES = 128 * 1024 * 1024
MAX_PRINTED_BYTES = 64 * 1024
MAX_HOST_CALLS = 500
# A model cannot use more, and a record should not hold it.
_MAX_RESULT = 100_000
# How the sandbox names any script in a traceback.
_SCRIPT_LINE = re.compile(r'^  File "<python-input-\d+>"', re.MULTILINE)


class Sandbox:
    """Runs scripts, each in a fresh session; its worker starts with the first.

    Use it as a context manager.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._open: tuple[Any, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(
        self,
        script: str,
        code: str,
        inputs: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        *,
        seconds: float,
    ) -> ToolResult:
        """Run one script for at most `seconds`.

        `script` is the name of its file in errors. `code` is the file's text as it was
        when its definition was read and trusted; the file is not read again.

        Raises:
            ExtraMissing: as `open_sandbox`.
        """
        if self._open is None:
            self._open = self._stack.enter_context(open_sandbox(script))
        monty, workers = self._open
        limits = monty.ResourceLimits(
            max_feed_duration_secs=max(0.01, min(seconds, MAX_SECONDS)),
            max_memory=MAX_MEMORY_BYTES,
            max_suspensions=MAX_HOST_CALLS,
            max_total_sleep_secs=0.0,
        )
        printed = monty.CollectString(max_bytes=MAX_PRINTED_BYTES)
        try:
            with workers.checkout(script_name=script, limits=limits) as session:
                value = session.feed_run(
                    code,
                    inputs=dict(inputs),
                    external_lookup=dict(functions),
                    print_callback=printed,
                )
        except monty.MontyError as exc:
            is_crash = not isinstance(exc.exception(), (AssertionError, ValueError))
            text = f"error: {_traceback(exc, script)}"
            return ToolResult(text, ok=False, is_crash=is_crash)
        try:
            text = _text(value, printed.output)
        except (TypeError, ValueError, RecursionError) as exc:
            text = f"error: the result of the script: {exc}"
            return ToolResult(text, ok=False, is_crash=True)
        return ToolResult(text[:_MAX_RESULT])


def _traceback(exc: Any, script: str) -> str:
    """The script's traceback, as Python shows it, or another failure's message."""
    display = getattr(exc, "display", None)
    return _SCRIPT_LINE.sub(
        lambda _: f'  File "{script}"', str(display() if display else exc)
    )


def _text(value: Any, printed: str) -> str:
    if value is None:
        return printed or "(no result)"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
