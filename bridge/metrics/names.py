"""Names that come from outside, bounded in length and number. Pure."""

from __future__ import annotations

from bridge.protocol.wording import one_line

OTHERS = "(others)"
# Of one kind: what is beyond is counted together, so that no log makes a page of it.
MOST = 200
_CHARS = 128


class Names:
    """The names of one kind: agents, models, flows, codes."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, told: str) -> str:
        """The name that was told, short and on one line."""
        name = self._known.get(told)
        if name is None:
            if len(self._known) >= MOST:
                return OTHERS
            name = self._known[told] = one_line(told, _CHARS)
        return name
