"""Find the earlier answer to a question, while everything that it rests on holds."""

from __future__ import annotations

from bridge.api.model_now import ModelsNow
from bridge.api.request_draft import Draft
from bridge.api.routing import Plan
from bridge.freshness import kept_reads
from bridge.freshness.disk import Disk, Unknowable
from bridge.freshness.never_reused import Given, why_never
from bridge.freshness.reads import differences
from bridge.protocol.response import Response
from bridge.store.store import Store


def find_answer(
    store: Store, begun: Draft, planned: Plan, *, until_s: float
) -> Response | None:
    """The newest answer to what is asked, by a route that may answer it now.

    None if there is none, it is never reused, it does not hold any more, or that could
    not be told until `until_s`, on the monotonic clock.
    """
    if not store.exists():
        return None
    routes = dict.fromkeys((planned.route, planned.own or planned.route))
    with store.state(make=False) as state:
        for route in routes:
            asked = begun.on(route)
            given = kept_reads.find(state, asked, route, store.place.project)
            if given is None or not _holds(given, until_s):
                continue
            definition = begun.definition_on(route)
            models = ModelsNow(store, begun.settings, until_s=until_s)
            if not models.why_another(given, definition):
                return given.response
    return None


def _holds(given: Given, until_s: float) -> bool:
    """Whether an answer may be reused, and all that it rests on is as it was."""
    if why_never(given) is not None:
        return False
    try:
        return next(differences(given.reads, Disk(until_s)), None) is None
    except Unknowable:
        return False
