"""Check that the `.pym` scripts of a definition can run; none of them does.

The sandbox parses each script; what it will refuse at a run is found in the source.

Source: pydantic-monty, `MontySession.feed_start`, `Monty{Syntax,Runtime}Error`.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from bridge.agents.diagnostic import Diagnostic
from bridge.agents.sandbox import open_sandbox
from bridge.agents.script_needs import refusals, undefined

# The sandbox parses the whole script, then stops at this unknown name to ask for its
# value. It gets none, so nothing after it runs.
_STOP = "__hostbridge_reads_only__\n"


def check_scripts(
    scripts: Mapping[Path, str], variables: Mapping[Path, Collection[str]]
) -> Iterator[Diagnostic]:
    """The first error of each script, at its line.

    `scripts` maps each file to its text, `variables` to the names it has.

    Raises:
        ExtraMissing: as `open_sandbox`.
    """
    if not scripts:
        return
    with open_sandbox() as (monty, workers):
        for path, code in scripts.items():
            try:
                with workers.checkout(script_name=path.name) as session:
                    session.feed_start(_STOP + code)
            except monty.MontyError as exc:
                message = f"not a script: {_reason(exc)}"
                yield Diagnostic(path, _line(exc), (), message)
                continue
            found = _first_refusal(code, variables.get(path, ()))
            if found is not None:
                line, message = found
                yield Diagnostic(path, line, (), f"cannot run here: {message}")


def _first_refusal(code: str, variables: Collection[str]) -> tuple[int, str] | None:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The sandbox has parsed what this Python cannot.
        return None
    return min((*refusals(tree), *undefined(code, tree, variables)), default=None)


def _line(exc: Any) -> int:
    frames = exc.traceback() if hasattr(exc, "traceback") else []
    return max(1, frames[-1].line - 1) if frames else 1


def _reason(exc: Any) -> str:
    """The parser's own message, on one line."""
    message = exc.display("msg") if hasattr(exc, "traceback") else str(exc)
    return " ".join(message.split())
