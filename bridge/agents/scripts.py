"""Check that the `.pym` scripts of a definition can run; none of them does.

The sandbox parses each script as a whole. Then it tries, one at a time, the script's
imports and the names that it uses but neither defines nor is given.

Source: pydantic-monty, `MontySession.feed_start`, `Monty{Syntax,Runtime}Error`.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from bridge.agents.diagnostic import Diagnostic
from bridge.agents.sandbox import open_sandbox
from bridge.agents.script_needs import FUNCTIONS, needs, refusals

# The sandbox parses the whole script, then stops at this unknown name to ask for its
# value. It gets none, so nothing after it runs.
_STOP = "__hostbridge_reads_only__\n"
# No script that a person wrote needs more.
_MAX_TRIED = 200


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
            found = _first_refusal(monty, workers, code, variables.get(path, ()))
            if found is not None:
                line, message = found
                yield Diagnostic(path, line, (), f"cannot run here: {message}")


def _first_refusal(
    monty: Any, workers: Any, code: str, variables: Collection[str]
) -> tuple[int, str] | None:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The sandbox has parsed what this Python cannot.
        return None
    found = list(refusals(tree))
    with workers.checkout() as session:
        tried = needs(code, tree, {*variables, *FUNCTIONS})
        for line, statement in islice(tried, _MAX_TRIED):
            try:
                session.feed_run(statement)
            except monty.MontyError as exc:
                found.append((line, _reason(exc)))
    return min(found, default=None)


def _line(exc: Any) -> int:
    frames = exc.traceback() if hasattr(exc, "traceback") else []
    return max(1, frames[-1].line - 1) if frames else 1


def _reason(exc: Any) -> str:
    """The parser's own message, on one line."""
    message = exc.display("msg") if hasattr(exc, "traceback") else str(exc)
    return " ".join(message.split())
