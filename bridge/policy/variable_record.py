"""What a variable may be called, who may own it, and which of a record count. Pure.

The gate and `bridge.store.variables` read them alike.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    Owner = Literal["person", "rule", "tool", "model"]

# As conditions write it.
NAME = r"[^\W\d]\w*(?:-\w+)*"
OWNERS: tuple[Owner, ...] = ("person", "rule", "tool", "model")


def misnamed(names: Iterable[str]) -> list[str]:
    """What is wrong with the names of variables."""
    return [
        f"{name!r} is no name of a variable: it begins with a letter or _, and goes on "
        "with letters, digits, _ and - between them"
        for name in names
        if not re.fullmatch(NAME, name)
    ]


def owned_in(record: object) -> dict[str, dict[str, Any]]:
    """The variables of a record, each with `value` and `owner`; no others count."""
    found = record.get("variables") if isinstance(record, dict) else None
    return {
        name: each
        for name, each in (found if isinstance(found, dict) else {}).items()
        if isinstance(each, dict) and each.get("owner") in OWNERS
    }
