"""Start the local model before the command line is understood, where it asks for that.

Read from the words as they stand, before anything is loaded that could tell what they
mean. A wrong guess costs a process, which is ended when it is known to be wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Sequence


def start_model(command: str, words: Sequence[str]) -> None:
    """Start it for a command that will need it, as far as can be told."""
    # What is wrong with a setting is said by the command itself.
    with suppress(BadSetting):
        settings = Settings.from_environment()
        if needs_model(command, words, settings):
            from bridge.cli.model_name import from_here
            from bridge.llama.preload import start_ahead

            start_ahead(from_here(_value("--model", words), settings), settings)


def needs_model(command: str, words: Sequence[str], settings: Settings) -> bool:
    """Whether this looks like an `ask` that is served here, by a local model. Pure."""
    if command != "ask" or settings.off:
        return False
    route = _value("--route", words) or "auto"
    if route == "auto" and _value("--fallback-after", words) is None:
        return settings.cli_fallback == "local"
    return route == "local"


def _value(name: str, words: Sequence[str]) -> str | None:
    """What an option is given, as its own word or behind `=`; the last one counts."""
    options = words[: [*words, "--"].index("--")]
    found = None
    for word, following in zip(options, [*options, None][1:], strict=True):
        if word == name:
            found = following
        elif word.startswith(f"{name}="):
            found = word.removeprefix(f"{name}=")
    return found
