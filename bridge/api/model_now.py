"""Whether the model that gave an answer is the one that would answer now.

A request that names a model is another question with another name. One that names none
is for the session's own model, or for what settings choose.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bridge.api.hosts import eligible_hosts
from bridge.config import Settings
from bridge.protocol.names import CLIENT_MODELS
from bridge.protocol.request import Request
from bridge.routes import OWN
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.freshness.never_reused import Given


def why_another(
    store: Store,
    settings: Settings,
    given: Given,
    definition: Definition | None,
    *,
    until_s: float = math.inf,
) -> str:
    """Why another model might answer now than gave an answer; empty if none would.

    Where no session is open, none would. What cannot be told until `until_s`, on the
    monotonic clock, is a reason.
    """
    request, then = given.request, given.reads.model
    route = next((own for own in OWN if own == given.response.route), None)
    if route is None:
        return _of_session(store, request, then)
    if not then:
        return "which model gave it is not known"
    from bridge.agent_loop.chat_model import ModelFailed
    from bridge.errors import BridgeError
    from bridge.worker.model_keys import key_now

    try:
        now = key_now(
            route, request, definition, settings, store.place, until_s=until_s
        )
    except (ModelFailed, BridgeError) as exc:
        return str(exc)
    if now == then:
        return ""
    or_trust = ", or Claude Code trusts the project as it did not then"
    return f"another would answer on route {route} now" + or_trust * (route == "claude")


def _of_session(store: Store, request: Request, then: str) -> str:
    if request.model in CLIENT_MODELS:
        return ""
    models = {session.model for session in eligible_hosts(store, request)}
    if not models or (then and then in models):
        return ""
    if not then:
        return "which model gave it is not known"
    now = ", ".join(sorted(filter(None, models))) or "one that is not known"
    return f"{then} gave it, and the session has {now}"
