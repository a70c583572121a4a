"""Which `.pym` scripts of a definition can run in the sandbox; nothing of them does.

The sandbox reads a script as a whole, and is asked by itself for each module that the
script imports and each name that it neither makes nor is given.

Source: pydantic-monty, `MontySession.feed_start`, `Monty{Syntax,Runtime}Error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import Problem
from bridge.agents.script_names import FUNCTIONS, needs_of, refusals, tree_of, unsaid
from bridge.errors import ExtraMissing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

# The sandbox reads a script as a whole, and begins with what stands first: a name that
# it has to ask for, whereupon it waits. Nobody answers.
_STOP = "__hostbridge_reads_only__\n"
# A script that needs more is none that a person wrote.
_MAX_ASKED = 200


def script_problems(
    codes: Mapping[Path, str], given: Mapping[Path, Collection[str]]
) -> Iterator[Problem]:
    """What keeps each script from running, at its line: an error a file at most.

    `codes` is what each file holds, `given` the names that it has beside its own.

    Raises:
        ExtraMissing: pydantic-monty is not installed; nobody can tell.
    """
    if not codes:
        return
    try:
        import pydantic_monty as monty
    except ImportError:
        raise ExtraMissing("local", "pydantic-monty") from None
    with monty.Monty(max_processes=1) as workers:
        for path, code in codes.items():
            try:
                with workers.checkout(script_name=path.name) as session:
                    session.feed_start(_STOP + code)
            except monty.MontyError as exc:
                yield Problem(path, _line(exc), (), f"not a script: {_reason(exc)}")
                continue
            found = _refused(monty, workers, code, {*given.get(path, ()), *FUNCTIONS})
            if found is not None:
                line, message = found
                yield Problem(path, line, (), f"cannot run here: {message}")


def _refused(
    monty: Any, workers: Any, code: str, given: Collection[str]
) -> tuple[int, str] | None:
    """The first thing that the sandbox would refuse, and its line."""
    tree = tree_of(code)
    if tree is None:
        return None
    needs = needs_of(code, tree)
    asked = [*needs.imports.items()]
    asked += [(name, at) for name, at in needs.names.items() if name not in given]
    found = list(refusals(tree))
    with workers.checkout() as session:
        for words, line in asked[:_MAX_ASKED]:
            try:
                session.feed_run(words)
            except monty.MontyError as exc:
                found.append((line, _reason(exc)))
    nothing = unsaid(tree)
    if nothing is not None:
        found.append(nothing)
    return min(found, default=None)


def _line(exc: Any) -> int:
    frames = exc.traceback() if hasattr(exc, "traceback") else []
    return max(1, frames[-1].line - 1) if frames else 1


def _reason(exc: Any) -> str:
    """In the parser's own words, on one line."""
    words = exc.display("msg") if hasattr(exc, "traceback") else str(exc)
    return " ".join(words.split())
