"""Where the rules files of user and project are. Quick: hooks ask."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from bridge.config import Settings
    from bridge.store.location import Place

# A layer's own rules, and the folder of its rule sets.
FILE = "rules.yaml"
SETS = "rules"


def folders_of(
    settings: Settings, place: Place
) -> dict[Literal["built-in", "user", "project"], Path]:
    """The folder of each layer's rules."""
    return {"user": settings.home, "project": place.owner / ".bridge"}
