"""Fields of our own tools' results by the names that they had before. Pure.

For one more version: conditions of public files ask for `is_expanded`, where JSON has
`isExpanded`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HUMP = re.compile(r"(?<=[a-z])[A-Z]")


def with_old_names(value: Any) -> Any:
    """The result of a tool of ours, its fields by their earlier names, too."""
    if isinstance(value, list):
        return [with_old_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {name: with_old_names(each) for name, each in value.items()}
    earlier = {
        _HUMP.sub(r"_\g<0>", name).lower(): each
        for name, each in named.items()
        if _HUMP.search(name)
    }
    return earlier | named
