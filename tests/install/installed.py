"""What an install leaves behind, for the tests of both directions."""

from __future__ import annotations

import sys
from typing import Any

from bridge.host.hook_table import Kind, entries, form_of
from bridge.shipped import hooks_folder

MINE = (
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]} ,"model":"opus"}'
)


def expected(kind: Kind) -> dict[str, Any]:
    """The settings that an install writes into an empty file."""
    return {"hooks": entries(form_of(kind, hooks_folder(), sys.executable))}
