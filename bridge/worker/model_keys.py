"""Which model answers on a route of ours, by what chooses it: a key that no other has.

An earlier answer to a question that names no model is reused only while its key is
still the one that a new answer would have.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.protocol.names import OF_SERVER
from bridge.protocol.request import Request
from bridge.routes import OwnRoute
from bridge.setting import without_passwords
from bridge.store.location import Place

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# How long a server may take to say which model it has.
_LOOK_S = 5.0


def key_now(
    route: OwnRoute,
    request: Request,
    definition: Definition | None,
    settings: Settings,
    place: Place,
    *,
    until_s: float = math.inf,
) -> str:
    """The key of the model that would answer a request now.

    A server has until `until_s`, on the monotonic clock, to say which one it has, and
    never more than five seconds.

    Raises:
        ModelFailed: there is no such model, or its server does not say.
        ExtraMissing: the route needs an extra that is not installed.
    """
    if route == "claude":
        from bridge.claude_cli.model_key import key_of_client

        return key_of_client(settings, place)
    if route == "local":
        from bridge.llama.model_files import find_model

        beside = definition.source.file.parent if definition else None
        return key_of_file(find_model(request.model, settings, beside=beside).path)
    name = request.model
    if not name or not name.startswith(OF_SERVER):
        import time

        from bridge.endpoint.served_models import model_in_use

        until_s = min(until_s, time.monotonic() + _LOOK_S)
        name = model_in_use(settings, until_s, lambda: False)
    return key_of_served(name, settings)


def key_of_file(file: Path) -> str:
    """The key of a model file, as it is now; empty if it is gone."""
    try:
        facts = os.stat(file)
    except OSError:
        return ""
    return f"{os.path.realpath(file)} {facts.st_size} {facts.st_mtime_ns}"


def key_of_served(name: str, settings: Settings) -> str:
    """The key of a model of the server that is set."""
    server = without_passwords(settings.openai_base_url or "")
    return f"{name.removeprefix(OF_SERVER)} at {server}"
