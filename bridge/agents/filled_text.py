"""Texts of rules, filled in: jinja2 only where there is more than names in them.

Importing jinja2 takes as long as all the rest of a hook, and most texts of rules are
words and `{{ command }}`.
"""

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"\{\{ *([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*) *\}\}")


def filled_in(template: str, scope: Mapping[str, Any]) -> str:
    """A template filled in.

    Raises:
        ValueError: it cannot be, and why.
    """
    plain = _plain(template, scope)
    if plain is not None:
        return plain
    from bridge.agents.templates import TemplateFailed, render

    try:
        return render(template, scope)
    except TemplateFailed as error:
        raise ValueError(f"its template cannot be filled in: {error}") from None


def _plain(template: str, scope: Mapping[str, Any]) -> str | None:
    """The text, if only names of texts are in it; as jinja2 would write it."""
    # jinja2 takes one line end away, too.
    text = template.removesuffix("\n")
    parts = _NAME.split(text)
    if "\r" in text or any("{" in part for part in parts[::2]):
        return None
    for index in range(1, len(parts), 2):
        value: Any = scope
        for name in parts[index].split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not isinstance(value, str):
            return None
        parts[index] = value
    return "".join(parts)
