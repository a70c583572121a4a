"""The looks of an agent of a session, from the gate's notes on its calls. Pure.

Source: `bridge.bound.call_notes`, which writes a line before each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bridge.freshness.looks import Look, is_part, look_of


def looks_of(
    notes: Iterable[Mapping[str, Any]], folder: str, *, now_ms: int, up_ms: int
) -> Iterator[Look]:
    """The looks of an agent that works in `folder`, an absolute path.

    `now_ms` and `up_ms` are the same moment, by the wall clock and by the clock that
    cannot be set. The one that puts a look earlier is believed.
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
            # After a `cd`, a command is about something else.
            is_inside = cwd is None or is_part(cwd, folder)
            outside = Look("outside", f"{note['tool']} in {cwd}")
            look = look._replace(path=folder) if is_inside else outside
        if facts is not None:
            # A pattern that is absolute has another root than what was looked at.
            is_absolute = str(note["input"].get("pattern")).startswith("/")
            seen = None if is_absolute else facts
            look = look._replace(facts=seen, was_there=bool(seen))
        yield look
