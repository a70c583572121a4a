"""Which models and schemas a route takes, checked before anything is asked.

A model that a definition names for one route means "any model" on another, and the
answer is marked degraded. A model that the caller names must be that model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.agents import known_agents
from bridge.config import Settings
from bridge.errors import ExtraMissing, InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.names import (
    MODEL_FILE,
    MODEL_NAMES,
    OF_CLIENT,
    OF_SERVER,
    is_client_model,
    is_model,
)
from bridge.protocol.request import Request
from bridge.routes import REMOTE, RouteName

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.routes import OwnRoute

# In addition to the names that every route takes.
_OTHERS: dict[OwnRoute, str] = {
    "claude": "a full name such as claude-opus-5-5",
    "local": f"the path of a {MODEL_FILE} file",
    "endpoint": f"{OF_SERVER}NAME",
    "remote": "a model of another route, by a name without a folder",
}


def check_model(route: RouteName, model: str, *, is_asked: bool) -> None:
    """Check that the route takes a model of this name.

    `is_asked` says whether the caller named it, and not the definition.

    Raises:
        InvalidRequest: the route takes no such model; names the route that does, or
            near matches.
    """
    if route == REMOTE and is_model(model) and "/" not in model:
        # The machine that answers knows; no name is a path there.
        return
    if model in MODEL_NAMES or not (is_asked or route in ("host", "local")):
        return
    meant, kind = _meant(model)
    if meant == route:
        return
    if meant is not None:
        raise InvalidRequest(
            f"route {route} takes no model {model!r}: {kind} is for --route {meant}"
        )
    if route == "host":
        known_agents.check_model(model)
    elif not (route == "claude" and model.startswith(OF_CLIENT)):
        hint = did_you_mean(model.lower(), MODEL_NAMES, 1)
        names = ", ".join(sorted(MODEL_NAMES))
        raise InvalidRequest(
            f"route {route} takes no model {model!r}: expected {names} or "
            f"{_OTHERS[route]}{hint}"
        )


def own_route_of(model: str | None) -> OwnRoute | None:
    """The only route of our own that a model is for; None for any."""
    if model is None:
        return None
    if is_client_model(model):
        return "claude"
    return _meant(model)[0]


def _meant(model: str) -> tuple[OwnRoute | None, str]:
    """The only route that a name can be for, and what kind of name it is."""
    if model.startswith(OF_SERVER):
        return "endpoint", "a model of a server"
    if model.endswith(MODEL_FILE):
        return "local", "a model file"
    return None, ""


def check_here(
    route: RouteName,
    request: Request,
    definition: Definition | None,
    settings: Settings,
) -> None:
    """Check that this machine can serve a request, as far as is quickly seen.

    Raises:
        InvalidRequest: the named file does not exist, or is not a model; the caller's
            schema cannot be enforced on a local model.
    """
    model = request.model
    if route == "local" and model is not None and model.endswith(MODEL_FILE):
        _check_file(model, definition, settings)
    check_schema(route, request, definition)


def _check_file(model: str, definition: Definition | None, settings: Settings) -> None:
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.llama.model_files import find_model

    beside = definition.source.file.parent if definition else None
    try:
        find_model(model, settings, beside=beside)
    except ModelFailed as exc:
        raise InvalidRequest(f"model {model!r}: {exc}") from None


def check_schema(
    route: RouteName, request: Request, definition: Definition | None
) -> None:
    """Check that the caller's schema can be enforced on the route's model.

    Without the extra this is unknown.

    Raises:
        InvalidRequest: it cannot be enforced on a local model; says where.
    """
    schema = request.answer_schema
    of_agent = definition.output_schema if definition else None
    if route != "local" or schema is None or schema == of_agent:
        return
    from bridge.llama.model_files import require_extra

    try:
        require_extra()
    except ExtraMissing:
        # The route itself reports that.
        return
    from bridge.agents.diagnostic import format_place
    from bridge.llama.unsupported_schema import find_problem

    if found := find_problem(schema):
        place = format_place(("schema", *found[0]))
        raise InvalidRequest(f"{place}: a local model cannot be held to it: {found[1]}")
