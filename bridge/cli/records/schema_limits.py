"""Which schemas of a definition a local model cannot be held to, before it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.agents.diagnostic import Diagnostic, Level, Place, nearest_line
from bridge.errors import ExtraMissing
from bridge.llama.model_files import require_extra

if TYPE_CHECKING:
    from bridge.agents.load import Loaded


def shape_problems(loaded: Loaded) -> Iterator[Diagnostic]:
    """An error if only the local route can answer, a warning if others can.

    Nothing if the extra `local` is not installed: nobody can tell then.
    """
    definition = loaded.definition
    if definition is None or "local" not in definition.routes:
        return
    try:
        require_extra()
    except ExtraMissing:
        return
    from bridge.llama.unsupported_schema import find_problem

    level: Level = "error" if definition.routes == ("local",) else "warning"
    places: list[tuple[Place, dict[str, object]]] = [
        (("tools", number, "parameters"), tool.parameters)
        for number, tool in enumerate(definition.script_tools)
    ]
    # That of a definition with tools of its own is what its submit_result takes.
    if definition.output_schema is not None and not places:
        places.append((("output_schema",), definition.output_schema))
    for place, schema in places:
        if found := find_problem(schema):
            way, why = found
            here = (*place, *way)
            message = f"a local model cannot be held to it: {why}"
            yield Diagnostic(
                loaded.file, nearest_line(loaded.lines, here), here, message, level
            )
