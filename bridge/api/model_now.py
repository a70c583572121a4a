"""Whether the model that gave an answer is the one that would answer now.

A request that names a model is another question with another name. One that names none
is for the session's own model, or for what settings choose.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bridge.api.hosts import eligible_hosts
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.protocol.names import CLIENT_MODELS
from bridge.protocol.request import Request
from bridge.routes import OWN, OwnRoute
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.freshness.never_reused import Given


class ModelsNow:
    """The models that would answer now: each is asked about once.

    What cannot be told until `until_s`, on the monotonic clock, is a reason.
    """

    def __init__(
        self, store: Store, settings: Settings, *, until_s: float = math.inf
    ) -> None:
        self._store = store
        self._settings = settings
        self._until_s = until_s
        # By what they depend on; an error says why nobody knows.
        self._keys: dict[tuple[Any, ...], str | Exception] = {}
        self._models: dict[tuple[Any, ...], set[str]] = {}

    def why_another(self, given: Given, definition: Definition | None) -> str:
        """Why another model might answer now than gave an answer; empty if none would.

        Where no session is open, none would.
        """
        request, then = given.request, given.reads.model
        route = next((own for own in OWN if own == given.response.route), None)
        if route is None:
            return self._of_session(request, then)
        if not then:
            return "which model gave it is not known"
        asked = (route, request.model, request.agent_type)
        if asked not in self._keys:
            self._keys[asked] = self._key(route, request, definition)
        now = self._keys[asked]
        if isinstance(now, Exception):
            return str(now)
        if now == then:
            return ""
        or_trust = ", or Claude Code trusts the project as it did not then"
        return f"another would answer on route {route} now" + or_trust * (
            route == "claude"
        )

    def _key(
        self, route: OwnRoute, request: Request, definition: Definition | None
    ) -> str | Exception:
        from bridge.agent_loop.chat_model import ModelFailed
        from bridge.worker.model_keys import key_now

        place, until_s = self._store.place, self._until_s
        try:
            return key_now(
                route, request, definition, self._settings, place, until_s=until_s
            )
        except (ModelFailed, BridgeError) as exc:
            return exc

    def _of_session(self, request: Request, then: str) -> str:
        if request.model in CLIENT_MODELS:
            return ""
        asked = (request.route, request.session, request.declined_by)
        if asked not in self._models:
            able = eligible_hosts(self._store, request)
            self._models[asked] = {session.model for session in able}
        models = self._models[asked]
        if not models or (then and then in models):
            return ""
        if not then:
            return "which model gave it is not known"
        now = ", ".join(sorted(filter(None, models))) or "one that is not known"
        return f"{then} gave it, and the session has {now}"
