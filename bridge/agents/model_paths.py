"""Where the model file that a definition names is looked for: one rule for all."""

from __future__ import annotations

import os
from pathlib import Path

# The folder, in `~/.hostbridge/`, of the models that every definition finds by name.
MODELS_FOLDER = "models"


def model_places(named: str, beside: Path, models: Path) -> list[Path]:
    """The paths at which a model file may lie, the first that is there wins.

    `beside` is the folder of the definition, `models` that of the user's models. A
    definition that was read names its file by the whole path, also where that is not
    there: then its name counts.
    """
    path = Path(os.path.expanduser(named))
    return list(dict.fromkeys([beside / path, models / path, models / path.name]))
