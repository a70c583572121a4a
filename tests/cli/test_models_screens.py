"""What `hostbridge models` shows at 60, 80 and 120 columns."""

from __future__ import annotations

from pathlib import Path

from screens import same_as_file

from bridge.cli.models_text import advice_lines, recommended_lines
from bridge.cli.screen import folded
from bridge.config import Settings


def test_recommended_models():
    """That none of them was run here is said plainly."""
    same_as_file(
        "models-pull", lambda w: folded(recommended_lines(w), w, whole_words=True)
    )


def test_no_models():
    """The way out is one command, or two."""
    settings = Settings(home=Path("/home/u/.hostbridge"))
    missing = "llama-cpp-python is not installed; run: pip install -e '~/src/h[local]'"
    lines = list(advice_lines([], missing, settings))

    same_as_file("models-none", lambda w: folded(lines, w, whole_words=True))
