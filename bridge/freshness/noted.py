"""The looks of an agent of a session, from the gate's notes on its calls. Pure.

Source: `bridge.host.call_notes`, which writes a line before each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bridge.freshness.looks import Look, look_of


def looks_of(
    notes: Iterable[Mapping[str, Any]], folder: str, *, now_ms: int, up_ms: int
) -> Iterator[Look]:
    """The looks of an agent that works in `folder`, an absolute path.

    `now_ms` and `up_ms` are the same moment, by the wall clock and by the one that
    nobody sets. Whichever of the two puts a look earlier is believed.
    """
    for note in notes:
        if "at" not in note:
            # The end of a call.
            continue
        at_ms = min(note["at"], now_ms - (up_ms - note.get("up", up_ms)))
        cwd, facts = note.get("cwd"), note.get("facts")
        look = look_of(note["tool"], note.get("input", {}), cwd or folder, at_ms)
        if look is None:
            continue
        if look.kind == "everything":
            is_inside = cwd in (None, folder) or str(cwd).startswith(f"{folder}/")
            # After a `cd`, a command is about something else.
            look = look._replace(path=folder) if is_inside else _outside(note["tool"])
        if facts is not None:
            # A pattern that is absolute has another root than what was looked at.
            is_root = look.kind == "file" or not _is_absolute(note["input"])
            seen = facts if is_root else None
            look = look._replace(facts=seen, was_there=bool(facts))
        yield look


def _outside(tool: str) -> Look:
    return Look("outside", f"{tool} outside of the project")


def _is_absolute(tool_input: Mapping[str, Any]) -> bool:
    narrowed_by = (tool_input.get("pattern"), tool_input.get("glob"))
    return any(isinstance(each, str) and each[:1] == "/" for each in narrowed_by)
