"""Variables of an agent: its parent's, its definition's, the call's, in this order.

`null` means off: it survives, and hides what came before. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agents.definition import Definition


def merge(
    parent: Mapping[str, Any], definition: Definition, call: Mapping[str, Any]
) -> dict[str, Any]:
    """The variables of a child: later ones win, key by key, `null` included.

    With `lifecycle_variables_mode: replace` nothing comes from the parent.
    """
    replaces = definition.lifecycle_variables_mode == "replace"
    inherited = {} if replaces else dict(parent)
    own = {**definition.default_variables, **definition.lifecycle_variables}
    return {**inherited, **own, **call}
