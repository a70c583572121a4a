"""Which schemas of a definition a local model cannot be held to, before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.agents.problem import Problem, line_near
from bridge.errors import ExtraMissing
from bridge.local.models import require_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agents.loading import Loaded
    from bridge.agents.problem import Level, Place


def shape_problems(loaded: Loaded) -> Iterator[Problem]:
    """An error where only the local route could answer, a warning where others can.

    Nothing where the extra `local` is not installed: nobody can tell then.
    """
    definition = loaded.definition
    if definition is None or "local" not in definition.routes:
        return
    try:
        require_extra()
    except ExtraMissing:
        return
    from bridge.local.blame import find_problem

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
            message = f"a local model cannot be held to it: {why}"
            here = (*place, *way)
            line = line_near(loaded.lines, here)
            yield Problem(loaded.file, line, here, message, level)
