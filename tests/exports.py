"""Lines of an export of tasks, by hand, and what an import says of them."""

from typing import Any

import orjson

FIRST, OTHER = (f"01a20033-0780-7000-8000-00000000000{n}" for n in (1, 2))


def line(**changes):
    usual = {"uuid": FIRST, "title": "a"}
    return orjson.dumps(usual | changes) + b"\n"


def edited(data: bytes, nth: int, **changes: Any) -> bytes:
    """An export in which somebody has edited one line, and no more than that."""
    lines = data.splitlines()
    lines[nth] = orjson.dumps(orjson.loads(lines[nth]) | changes)
    return b"\n".join(lines)


def both_sides(*fields):
    """The conflict of fields: name, value here, value there."""
    told = [
        f"{name} (here {ours!r}, there {theirs!r})" for name, ours, theirs in fields
    ]
    return f"changed on both sides: {', '.join(told)}"
