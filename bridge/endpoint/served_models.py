"""Which models a server has, and the one that answers if none is named.

Source: OpenAI API reference, "List models".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.agent_loop.chat_model import ModelFailed
from bridge.endpoint.endpoint_model import open_client
from bridge.endpoint.http_failures import failure_of
from bridge.protocol.names import OF_SERVER

if TYPE_CHECKING:
    from bridge.config import Settings

# A server answers this from memory; one that is loading a model may take a moment.
_PATIENCE_S = 10.0
_MOST_NAMED = 12
HOW_TO_NAME = f"name one: --model {OF_SERVER}NAME, or BRIDGE_OPENAI_MODEL"


def served_models(settings: Settings) -> list[str]:
    """The names that the server lists, in its order.

    Raises:
        ModelFailed: it cannot be reached, or lists none in a form that we know.
    """
    client, _ = open_client(settings)
    try:
        page = client.with_options(timeout=_PATIENCE_S).models.list()
        return [str(model.id) for model in page.data]
    except (AttributeError, TypeError):
        raise ModelFailed(
            "agent_error", f"{client.base_url}models does not have the form of the API"
        ) from None
    except Exception as exc:  # noqa: BLE001 - a server may send anything
        raise failure_of(exc, client) from None
    finally:
        client.close()


def model_in_use(settings: Settings) -> str:
    """The configured model, or else the only one that the server has.

    Raises:
        ModelFailed: the server has none, or several, or does not say.
    """
    if settings.openai_model is not None:
        return settings.openai_model
    try:
        names = served_models(settings)
    except ModelFailed as exc:
        if exc.code == "no_server":
            raise
        message = f"the server does not say which models it has ({exc}); {HOW_TO_NAME}"
        raise ModelFailed(exc.code, message) from None
    if len(names) == 1:
        return names[0]
    server = settings.openai_base_url
    if not names:
        raise ModelFailed("model_unavailable", f"{server} has no model: load one first")
    more = ", …" if len(names) > _MOST_NAMED else ""
    raise ModelFailed(
        "model_unavailable",
        f"{server} has several models: {', '.join(names[:_MOST_NAMED])}{more}; "
        f"{HOW_TO_NAME}",
    )
