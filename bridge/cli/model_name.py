"""A model as it is typed: a file's path is one from the working folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.agents.files import MODELS_FOLDER
from bridge.protocol.names import MODEL_FILE

if TYPE_CHECKING:
    from bridge.config import Settings


def from_here(model: str | None, settings: Settings) -> str | None:
    """The model that is asked for, its path whole: who serves it may work elsewhere.

    A bare name is first of all that of a user's model: no file that lies about in a
    project stands in for it. What is nowhere stays a name, but for what is plainly a
    path of here.
    """
    if model is None or not model.endswith(MODEL_FILE):
        return model
    is_bare = os.sep not in model
    if is_bare and os.path.exists(settings.home / MODELS_FOLDER / model):
        return model
    path = os.path.abspath(os.path.expanduser(model))
    is_of_here = model.startswith(("./", "../"))
    return path if is_of_here or os.path.exists(path) else model
