"""Every option of a command, wherever its module lists them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bridge.cli.commands import module_of

if TYPE_CHECKING:
    from bridge.cli.common.options import Option
    from bridge.cli.common.verbs import Verb


def options_of(name: str) -> list[Option]:
    """Those of a command; what several verbs take is there once."""
    module = import_module(module_of(name))
    verbs: dict[str, Verb] = getattr(module, "VERBS", {})
    of_verbs = {each.names: each for verb in verbs.values() for each in verb.options}
    return [*getattr(module, "OPTIONS", ()), *of_verbs.values()]
