"""What an install leaves behind, for the tests of both directions."""

from __future__ import annotations

import sys
from typing import Any

from bridge.host.hook_table import PROJECT, entries, of_this_machine
from bridge.shipped import hooks_folder

MINE = (
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]} ,"model":"opus"}'
)


def expected(kind: str) -> dict[str, Any]:
    if kind == "project":
        return {"hooks": entries(PROJECT)}
    form = of_this_machine(kind, hooks_folder(), sys.executable)
    return {"hooks": entries(form)}
