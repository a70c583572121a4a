"""Who may own a variable, and which variables of a record count. Pure.

The gate and `bridge.store.variables` read them alike.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Owner = Literal["person", "rule", "tool", "model"]

OWNERS: tuple[Owner, ...] = ("person", "rule", "tool", "model")


def owned_in(record: object) -> dict[str, dict[str, Any]]:
    """The variables of a record, each with `value` and `owner`; one without is none."""
    found = record.get("variables") if isinstance(record, dict) else None
    return {
        name: each
        for name, each in (found if isinstance(found, dict) else {}).items()
        if isinstance(each, dict) and each.get("owner") in OWNERS
    }
