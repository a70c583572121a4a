"""Which models a server has, and the one that answers if none is named.

Source: OpenAI API reference, "List models".
"""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bridge.agent_loop.chat_model import ModelFailed
from bridge.config import Settings
from bridge.endpoint.endpoint_model import next_of, open_client
from bridge.endpoint.http_failures import failure_of
from bridge.endpoint.http_transport import Connections
from bridge.protocol.names import OF_SERVER
from bridge.protocol.wording import one_line
from bridge.setting import without_passwords

# A server answers this from memory; one that is loading a model may take a moment.
PATIENCE_S = 10.0
_MOST_NAMED = 12
HOW_TO_NAME = f"name one: --model {OF_SERVER}NAME, or BRIDGE_OPENAI_MODEL"


def served_models(
    settings: Settings,
    deadline_s: float,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[str]:
    """The names that the server lists, in its order.

    `deadline_s` is on the monotonic clock, and holds whatever the server does.
    `should_stop` is called several times a second.

    Raises:
        ModelFailed: it cannot be reached, or lists none in a form that we know.
    """
    return _asked(*open_client(settings), deadline_s, should_stop)


def list_models(settings: Settings) -> list[str]:
    """As `served_models`, within `PATIENCE_S` of the first word to the server.

    Loading the library takes seconds on a busy machine; they are not the server's.
    """
    client, connections = open_client(settings)
    return _asked(client, connections, time.monotonic() + PATIENCE_S, lambda: False)


def _asked(
    client: Any,
    connections: Connections,
    deadline_s: float,
    should_stop: Callable[[], bool],
) -> list[str]:
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(
        target=_list, args=(client, deadline_s, found), daemon=True
    ).start()
    late = f"{without_passwords(str(client.base_url))}models was not sent whole in time"
    try:
        names: list[str] = next_of(found, deadline_s, should_stop, late)
    finally:
        connections.cut()
        with suppress(Exception):
            client.close()
    return names


def _list(client: Any, deadline_s: float, found: queue.SimpleQueue[Any]) -> None:
    """Put the names there, or why there are none."""
    try:
        left_s = max(0.1, deadline_s - time.monotonic())
        page = client.models.list(timeout=left_s)
        found.put([str(model.id) for model in page.data])
    except (AttributeError, TypeError):
        server = without_passwords(str(client.base_url))
        odd = f"{server}models does not have the form of the API"
        found.put(ModelFailed("agent_error", odd))
    except Exception as exc:  # noqa: BLE001 - a server may send anything
        found.put(failure_of(exc, client))


def model_in_use(
    settings: Settings, deadline_s: float, should_stop: Callable[[], bool]
) -> str:
    """The configured model, or else the only one that the server has.

    Raises:
        ModelFailed: the server has none, or several, or does not say.
    """
    if settings.openai_model is not None:
        return settings.openai_model
    try:
        names = served_models(settings, deadline_s, should_stop)
    except ModelFailed as exc:
        if exc.code == "no_server":
            raise
        message = f"the server does not say which models it has ({exc}); {HOW_TO_NAME}"
        # It is the list that is too long, not what was asked.
        code = "model_unavailable" if exc.code == "too_long" else exc.code
        raise ModelFailed(code, message) from None
    if len(names) == 1:
        return names[0]
    server = without_passwords(settings.openai_base_url or "")
    if not names:
        raise ModelFailed("model_unavailable", f"{server} has no model: load one first")
    more = ", …" if len(names) > _MOST_NAMED else ""
    named = ", ".join(map(one_line, names[:_MOST_NAMED]))
    raise ModelFailed(
        "model_unavailable",
        f"{server} has several models: {named}{more}; {HOW_TO_NAME}",
    )
