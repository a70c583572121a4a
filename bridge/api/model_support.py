"""Which models and schemas a route takes: told before anything is asked.

What a definition names for one route means on another "whichever is there", and the
answer is marked degraded. What the asker names for the route it names is meant.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from bridge.agents import client_agents
from bridge.errors import BadSetting, ExtraMissing, InvalidRequest
from bridge.protocol.names import MODEL_FILE, MODEL_NAMES, OF_CLIENT, OF_SERVER

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.request import Request, RouteName
    from bridge.routes import OwnRoute

# Beside the names that every route takes.
_OTHERS: dict[OwnRoute, str] = {
    "claude": "a full name such as claude-opus-5-5",
    "local": f"the path of a {MODEL_FILE} file",
    "endpoint": f"{OF_SERVER}NAME",
}


def check_model(route: RouteName, model: str, *, is_asked: bool) -> None:
    """Let a model pass that the route takes by its name.

    `is_asked` is whether the asker named it, and not the definition.

    Raises:
        InvalidRequest: the route takes no such model; says which does, or what is near.
    """
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
        client_agents.check_model(model)
    elif not (route == "claude" and model.startswith(OF_CLIENT)):
        near = get_close_matches(model.lower(), sorted(MODEL_NAMES), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        names = ", ".join(sorted(MODEL_NAMES))
        raise InvalidRequest(
            f"route {route} takes no model {model!r}: expected {names} or "
            f"{_OTHERS[route]}{hint}"
        )


def _meant(model: str) -> tuple[RouteName | None, str]:
    """The one route that a name can only be for, and what such a name is of."""
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
    """Let a request pass that this machine can serve, as far as a look can tell.

    Raises:
        InvalidRequest: the file that is named is not there, or is no model; the asker's
            schema is none that a local model can be held to.
        BadSetting: no model of the endpoint is named.
    """
    model = request.model
    # To find another than the named file takes time, and may concern no schema.
    is_file = model is not None and model.endswith(MODEL_FILE)
    is_small = (
        route == "local"
        and (is_file or request.answer_schema is not None)
        and _is_small(model, definition, settings)
    )
    check_schema(route, request, definition, is_small=is_small)
    is_named = model is not None and model.startswith(OF_SERVER)
    # Without a server nobody misses the model.
    is_known = is_named or not settings.openai_base_url or settings.openai_model
    if route == "endpoint" and not is_known:
        from bridge.endpoint.endpoint_model import NO_SERVER_MODEL

        raise BadSetting(NO_SERVER_MODEL)


def _is_small(
    model: str | None, definition: Definition | None, settings: Settings
) -> bool:
    """Whether the local model that would answer is a small one.

    Raises:
        InvalidRequest: the file that is named is not there, or is no model.
    """
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.llama.model_files import find_model

    beside = definition.source.file.parent if definition else None
    try:
        return find_model(model, settings, beside=beside).is_small
    except (ModelFailed, ExtraMissing) as exc:
        if model is not None and model.endswith(MODEL_FILE):
            raise InvalidRequest(f"model {model!r}: {exc}") from None
        # That says the route itself.
        return False


def check_schema(
    route: RouteName,
    request: Request,
    definition: Definition | None,
    *,
    is_small: bool = False,
) -> None:
    """Let a schema of the asker's pass that the route's model can be held to.

    `is_small` is whether that is known to be a small one, which is held to more. Where
    the extra is missing nobody can tell.

    Raises:
        InvalidRequest: a local model cannot be held to it; says where.
    """
    of_agent = definition.output_schema if definition else None
    if route == "local" and request.answer_schema not in (None, of_agent):
        _refuse_unheld(request.answer_schema or {}, is_small=is_small)


def _refuse_unheld(schema: dict[str, Any], *, is_small: bool) -> None:
    from bridge.llama.model_files import require_extra

    try:
        require_extra()
    except ExtraMissing:
        # That says the route itself.
        return
    from bridge.agents.diagnostic import format_place
    from bridge.llama.unsupported_schema import find_problem

    if found := find_problem(schema, is_small=is_small):
        place = format_place(("schema", *found[0]))
        raise InvalidRequest(f"{place}: a local model cannot be held to it: {found[1]}")
