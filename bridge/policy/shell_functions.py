"""`runs` and `words` for conditions, loaded when a command must really be read.

`unclear` then says of a command why the last answer about it was MAY.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bridge.policy.command_reading import Reading


def shell() -> dict[str, Callable[..., Any]]:
    """The functions of `condition.evaluate` that read commands; each is read once."""
    readings: dict[str, Reading] = {}

    def reading(command: str) -> Reading:
        if command not in readings:
            from bridge.policy.started_programs import read

            readings[command] = read(command)
        return readings[command]

    def runs(command: str, *names: str) -> Any:
        from bridge.policy.condition import can_hide, stands_in

        named = [name for name in names if stands_in(command, name.split()[:1])]
        found = reading(command).runs(named) if named else False
        hidden = [name for name in names if name not in named]
        if found is True or not hidden or not can_hide(command):
            return found
        hides = reading(command).hides(hidden)
        return found if hides is False else hides

    return {
        "runs": runs,
        "words": lambda command: reading(command).words(),
        "unclear": lambda command: (
            readings[command].unclear if command in readings else ""
        ),
    }
