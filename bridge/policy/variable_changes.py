"""What rules and workflows do to variables in one event, and how long a value may be.

Pure.
"""

from __future__ import annotations

import json

from bridge.policy.condition import MAY, NO_SHELL, ConditionError, evaluate
from bridge.policy.rule_set import Whose, scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bridge.policy.condition import Shell

    Json = dict[str, Any]

# Half of what all variables of a conversation may have.
MAX_BYTES = 512 * 1024


class VariableChanges:
    """Changes that conditions and texts after them see.

    Attributes:
        changes: variables with their new values.
        counted: by how much those were counted up that nothing has set: others may
            count at the same time.
    """

    __slots__ = ("changes", "counted")

    # What an event is called stays the event's.
    own_names = frozenset(scope_of({}, Whose({})))

    def __init__(self) -> None:
        self.changes: Json = {}
        self.counted: Json = {}

    def set(self, values: Json, scope: Json) -> None:
        """Set variables."""
        for name in values:
            self.counted.pop(name, None)
        self._note(values, scope)

    def count(self, by: Mapping[str, float], scope: Json) -> None:
        """Count variables up.

        Raises:
            ConditionError: one is no number; nothing is changed.
        """
        values = counted_up(by, scope)
        for name in values:
            if name not in self.changes or name in self.counted:
                self.counted[name] = self.counted.get(name, 0) + by[name]
        self._note(values, scope)

    def _note(self, values: Json, scope: Json) -> None:
        self.changes |= values
        scope["variables"] |= values
        scope |= {name: values[name] for name in values.keys() - self.own_names}


def counted_up(by: Mapping[str, float], scope: Json) -> Json:
    """The values of variables after they are counted up.

    Raises:
        ConditionError: one is no number.
    """
    values: Json = {}
    for name, step in by.items():
        before = scope["variables"].get(name) or 0
        if isinstance(before, bool) or not isinstance(before, (int, float)):
            raise ConditionError(0, f"{name} is {before!r}, which cannot be counted up")
        values[name] = before + step
    return values


def value_of(code: Any, scope: Json, shell: Shell = NO_SHELL) -> Any:
    """The value of a compiled expression; None for MAY."""
    found = evaluate(code, scope, shell)
    return None if found is MAY else found


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
