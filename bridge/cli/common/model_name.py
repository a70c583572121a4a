"""A model as it is typed: paths of files are relative to the working folder."""

import os

from bridge.agents.files import MODELS_FOLDER
from bridge.config import Settings
from bridge.protocol.names import MODEL_FILE


def from_here(model: str | None, settings: Settings) -> str | None:
    """The model with an absolute path, since it may be served from another folder.

    A bare name means a model of the user's first: no file in a project replaces it. A
    name that is found nowhere stays as it is, unless it starts with `./` or `../`.
    """
    if model is None or not model.endswith(MODEL_FILE):
        return model
    is_bare = os.sep not in model
    if is_bare and os.path.exists(settings.home / MODELS_FOLDER / model):
        return model
    path = os.path.abspath(os.path.expanduser(model))
    is_of_here = model.startswith(("./", "../"))
    return path if is_of_here or os.path.exists(path) else model
