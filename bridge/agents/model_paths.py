"""Where a model file that a definition names is searched for."""

from __future__ import annotations

import os
from pathlib import Path

# In `~/.hostbridge/`: its models can be used by name in every definition.
MODELS_FOLDER = "models"


def model_places(named: str, beside: Path, models: Path) -> list[Path]:
    """The possible paths of a model file; the first that exists counts.

    `beside` is the folder of the definition, `models` that of the user's models. Once a
    definition is read, it has an absolute path. If no file is there, its file name is
    searched for in `models`.
    """
    path = Path(os.path.expanduser(named))
    return list(dict.fromkeys([beside / path, models / path, models / path.name]))
