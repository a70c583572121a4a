"""What the conditions and templates of a run can name. Pure."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.flow.filling import as_text
from bridge.protocol.plain_types import camel_case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.run import Entry, Run

_NAMED = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
# How conditions call the states of a step.
STATUSES: Mapping[str, str] = {
    "": "pending",
    "open": "running",
    "ok": "completed",
    "failed": "failed",
    "error": "failed",
    "stopped": "failed",
    "passed": "skipped",
    "skipped": "skipped",
    "cancelled": "cancelled",
}


class Lazy(dict[str, Any]):
    """A mapping whose values are read when somebody wants them."""

    def __init__(self, names: Mapping[str, Any], load: Callable[[Any], Any]) -> None:
        super().__init__()
        self._names = names
        self._load = load

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name."""
        asked = self._names.get(key)
        return default if asked is None else self._load(asked)

    def read(self) -> dict[str, Any]:
        """All of it."""
        return {key: plain(self.get(key)) for key in self._names}


class _Spelt(dict[str, Any]):
    """A result; public files ask in snake_case for what JSON has in camelCase."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a field, by either name."""
        name = key if key in self else camel_case(str(key))
        return _spelt(super().get(name, default))


def _spelt(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelt(each) for each in value]
    return _Spelt(value) if isinstance(value, dict) else value


def plain(value: Any) -> Any:
    """A value as JSON, with all that was not read yet."""
    match value:
        case Lazy():
            return value.read()
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


def scope_of(
    run: Run, output: Callable[[str], Any], said: Callable[[str], str]
) -> dict[str, Any]:
    """What a run is called in its conditions and templates.

    `output` has what a step gave, `said` what a text of a flow gets for a reference.
    """
    known = run["nodes"]
    return {
        "inputs": run["params"],
        "run": {"id": run["run"], "name": run["name"]},
        "steps": Lazy(_Any(), partial(_step, known, output)),
        "settings": run.get("settings", {}),
        "said": Lazy(_Any(), said),
    }


def filled_in(text: str, scope: Mapping[str, Any]) -> str:
    """A text for people: what is known of `${{ inputs.x }}` in it is put in."""

    def value(found: re.Match[str]) -> str:
        here: Any = scope
        for part in found[1].split("."):
            here = here.get(part) if isinstance(here, dict) else None
        here = plain(here)
        return found[0] if here is None else as_text(here)

    return _NAMED.sub(value, text)


def _step(known: Mapping[str, Entry], output: Callable[[str], Any], name: str) -> Lazy:
    entry = known.get(name, {})
    fields: dict[str, Callable[[], Any]] = {
        "status": lambda: STATUSES[entry.get("state", "")],
        "output": lambda: _spelt(output(name)),
        "error": lambda: entry.get("why") or None,
    }
    return Lazy(fields, lambda field: field())


class _Any(dict[str, str]):
    """Every name stands for itself."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002 - as a dict's
        return key
