"""How long a value may be that a step workflow puts into a variable."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Half of what all variables of a conversation may have.
MAX_BYTES = 512 * 1024


def check_length(name: str, value: Any) -> None:
    """Check that a variable may have this value.

    Raises:
        ValueError: it is too long.
    """
    if not isinstance(value, (str, list, dict)):
        return
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise ValueError(
            f"{name}: the value has {size:,} bytes, and {MAX_BYTES:,} is the limit; "
            "take a field of it"
        )
