"""Which executor serves which route, and the worker that drives it.

What a route lacks on this machine is an error before anything is asked.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.agents.known_agents import Agents
from bridge.bound import forks
from bridge.bound.agent_rules import AgentRules
from bridge.bound.session_above import Above, at_most, session_above
from bridge.config import Settings, environment_for_a_client
from bridge.engine.temporary import define as define_request
from bridge.errors import BridgeError, ExtraMissing, NoRoute
from bridge.protocol.names import INHERIT, OF_SERVER
from bridge.protocol.outcome import Control, Progress
from bridge.protocol.request import Request
from bridge.protocol.status import Stage, ignore
from bridge.routes import OWN, REMOTE, OwnRoute, check_own
from bridge.store.store import Store
from bridge.worker.asking import HOLD_S
from bridge.worker.model_keys import key_of_file, key_of_served
from bridge.worker.worker import Executor, Worker

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.worker.model_executor import ModelExecutor, OpenFor
    from bridge.worker.worker import Define


def claude(settings: Settings, store: Store) -> Executor:
    """`claude -p`, by the program that the settings name."""
    from bridge.bound.folder_trust import note_of
    from bridge.claude_cli.claude_executor import ClaudeExecutor

    program = shutil.which(settings.claude)
    if program is None:
        raise NoRoute(
            f"route claude: no program {settings.claude!r} can be run; install Claude "
            "Code, or name its program in BRIDGE_CLAUDE"
        )
    return ClaudeExecutor(
        program,
        environment_for_a_client(),
        lambda: note_of(settings, store.place),
        partial(AgentRules.of, settings, store),
    )


def local(settings: Settings, store: Store) -> Executor:
    """A model file of this machine, by llama.cpp."""
    from bridge.llama.local_model import LlamaModel
    from bridge.llama.model_files import find_model, require_extra
    from bridge.worker.model_executor import OpenModel

    try:
        require_extra()
    except ExtraMissing as exc:
        raise NoRoute(f"route local: {exc}") from None

    @contextmanager
    def opened(
        request: Request, definition: Definition | None, _control: Control
    ) -> Iterator[OpenModel]:
        beside = definition.source.file.parent if definition else None
        # The digest is of the definition's model, not of one that the caller named.
        is_its_own = definition is not None and request.model == definition.model
        digest = definition.model_digest if definition and is_its_own else None
        file = find_model(request.model, settings, beside=beside)
        with LlamaModel(replace(file, digest=digest), settings) as model:
            yield OpenModel(model, model.file.is_degraded, key_of_file(file.path))

    return _model_executor(settings, store, opened)


def endpoint(settings: Settings, store: Store) -> Executor:
    """A model behind an OpenAI-compatible server."""
    from bridge.endpoint.endpoint_model import check_endpoint, open_endpoint
    from bridge.endpoint.served_models import model_in_use
    from bridge.worker.model_executor import OpenModel

    try:
        check_endpoint(settings)
    except BridgeError as exc:
        raise NoRoute(f"route endpoint: {exc}") from None

    @contextmanager
    def opened(
        request: Request, _definition: Definition | None, control: Control
    ) -> Iterator[OpenModel]:
        wanted = request.model
        named = wanted if wanted and wanted.startswith(OF_SERVER) else None
        name = named or model_in_use(settings, control.deadline_s, control.should_stop)
        model = open_endpoint(name, settings)
        try:
            is_other = not named and wanted not in (None, INHERIT)
            yield OpenModel(model, is_other, key_of_served(name, settings))
        finally:
            model.close()

    return _model_executor(settings, store, opened)


def remote(settings: Settings, store: Store) -> Executor:
    """Another machine, by way of a queue."""
    from bridge.remote.forward import Forward, open_queue

    queue = open_queue(settings)
    queue.check()
    return Forward(queue, store, settings)


def _model_executor(settings: Settings, store: Store, opened: OpenFor) -> ModelExecutor:
    from bridge.worker.model_executor import ModelExecutor
    from bridge.worker.own_tools import own_tools

    return ModelExecutor(
        store,
        opened,
        partial(AgentRules.of, settings, store),
        partial(own_tools, store, settings),
    )


_EXECUTORS: dict[OwnRoute, Callable[[Settings, Store], Executor]] = {
    "claude": claude,
    "local": local,
    "endpoint": endpoint,
    "remote": remote,
}


def open_worker(
    store: Store,
    settings: Settings,
    route: OwnRoute,
    *,
    define: Define | None = None,
    find_above: Callable[[Store, Settings], Above | None] = session_above,
    on_stage: Callable[[Stage], None] = ignore,
    on_progress: Callable[[Progress], None] = ignore,
) -> Worker:
    """The worker of a route in this process; see `Worker`.

    By default it looks up a request's definition as it claims the request, and the
    session above us now.

    Raises:
        NoRoute: this machine lacks what the route needs.
        NotShipped: this installation has no built-in definitions.
    """
    if define is None:
        define = partial(
            define_request, store, Agents.open(settings, store.place.project)
        )
    above = find_above(store, settings)
    return Worker(
        store,
        route,
        _EXECUTORS[route](settings, store),
        define=partial(_checked, settings, store, define),
        max_depth=at_most(settings, above, "max_depth"),
        on_stage=on_stage,
        on_progress=on_progress,
        session=above and above.session,
        charged=above.store if above and above.store.place != store.place else None,
    )


def _checked(
    settings: Settings, store: Store, define: Define, held: Request
) -> tuple[Request, Definition | None]:
    """What `define` says, unless its agent would be a fork that it may not be.

    Raises:
        NotShared, InvalidRequest: it may not; or this route has no conversation.
    """
    request, definition = define(held)
    forks.check(request, settings, store.place)
    if request.context_from is not None:
        forks.check_closed(request, settings, store.place)
    return request, definition


def _shared(store: Store, settings: Settings, route: OwnRoute) -> Worker:
    """A worker that serves what others wait for, too."""
    worker = open_worker(store, settings, route)
    worker.hold_s = HOLD_S
    return worker


def open_workers(
    store: Store,
    settings: Settings,
    routes: Iterable[str] | None = None,
    *,
    on_missing: Callable[[str], None] = lambda _why: None,
) -> dict[str, Worker]:
    """A worker for each of `routes`, by default for all that this machine can serve.

    Not for `remote` then: while it waits for another machine, nothing is served here.

    `on_missing` is told why one of them all cannot be served.

    Raises:
        InvalidRequest: no such route.
        NoRoute: this machine lacks what a named route needs, or has no route at all.
    """
    if routes:
        return {r: _shared(store, settings, r) for r in map(check_own, routes)}
    found: dict[str, Worker] = {}
    problems = []
    for route in OWN:
        if route == REMOTE:
            continue
        try:
            found[route] = _shared(store, settings, route)
        except NoRoute as exc:
            problems.append(str(exc))
    if not found:
        raise NoRoute("; ".join(problems))
    for problem in problems:
        on_missing(problem)
    return found
