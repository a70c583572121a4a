"""Who answers on which route in this process: the one place that knows every executor.

A route that is missing here, or that lacks what it needs on this machine, is an error
before anything is asked.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.agent_loop.chat_model import ModelFailed
from bridge.api.model_support import NO_SERVER_MODEL
from bridge.config import environment_for_a_client
from bridge.errors import BridgeError, ExtraMissing, NoRoute
from bridge.protocol.names import INHERIT, OF_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.executor import Executor
    from bridge.protocol.request import Request
    from bridge.routes import OwnRoute
    from bridge.store.store import Store


def claude(settings: Settings, store: Store) -> Executor:
    """`claude -p`, by the program that the settings name."""
    from bridge.claude_cli.claude_executor import ClaudeExecutor
    from bridge.claude_cli.folder_trust import note_of

    program = shutil.which(settings.claude)
    if program is None:
        raise NoRoute(
            f"route claude: no program {settings.claude!r} can be run; install Claude "
            "Code, or name its program in BRIDGE_CLAUDE"
        )
    return ClaudeExecutor(
        program,
        store.place.project,
        environment_for_a_client(),
        lambda: note_of(settings, store.place),
    )


def local(settings: Settings, store: Store) -> Executor:
    """A model file of this machine, by llama.cpp."""
    from bridge.llama.local_model import LlamaModel
    from bridge.llama.model_files import require_extra
    from bridge.worker.model_executor import ModelExecutor, OpenModel

    try:
        require_extra()
    except ExtraMissing as exc:
        raise NoRoute(f"route local: {exc}") from None

    @contextmanager
    def opened(request: Request, definition: Definition | None) -> Iterator[OpenModel]:
        beside = definition.source.file.parent if definition else None
        # What the caller has chosen in its place is the caller's own.
        is_its_own = definition is not None and request.model == definition.model
        digest = definition.model_digest if definition and is_its_own else None
        with LlamaModel.open(
            request.model, settings, beside=beside, digest=digest
        ) as model:
            yield OpenModel(model, model.file.is_degraded)

    return ModelExecutor(store, opened)


def endpoint(settings: Settings, store: Store) -> Executor:
    """A model behind an OpenAI-compatible server."""
    from bridge.endpoint.endpoint_model import check_endpoint, open_endpoint
    from bridge.worker.model_executor import ModelExecutor, OpenModel

    try:
        check_endpoint(settings)
    except BridgeError as exc:
        raise NoRoute(f"route endpoint: {exc}") from None

    @contextmanager
    def opened(request: Request, _definition: Definition | None) -> Iterator[OpenModel]:
        wanted = request.model
        is_named = wanted is not None and wanted.startswith(OF_SERVER)
        name = wanted if is_named else settings.openai_model
        if name is None:
            raise ModelFailed("AGENT_002", NO_SERVER_MODEL)
        model = open_endpoint(name, settings)
        try:
            yield OpenModel(model, not is_named and wanted not in (None, INHERIT))
        finally:
            model.close()

    return ModelExecutor(store, opened)


_EXECUTORS: dict[OwnRoute, Callable[[Settings, Store], Executor]] = {
    "claude": claude,
    "local": local,
    "endpoint": endpoint,
}


def executor_for(route: OwnRoute, settings: Settings, store: Store) -> Executor:
    """The executor of a route.

    Raises:
        NoRoute: what it needs is missing on this machine.
    """
    return _EXECUTORS[route](settings, store)


def served_routes() -> tuple[OwnRoute, ...]:
    """The routes that this installation can serve by itself."""
    return tuple(_EXECUTORS)
