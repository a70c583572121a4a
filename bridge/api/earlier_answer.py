"""Find the earlier answer to a question, while everything that it rests on holds."""

from __future__ import annotations

import time
from pathlib import Path

from bridge.api.model_now import ModelsNow
from bridge.api.request_draft import Draft
from bridge.api.routing import RoutePlan
from bridge.freshness import kept_reads
from bridge.freshness.disk import Disk, Unknowable
from bridge.freshness.never_reused import Given, why_never
from bridge.freshness.question import digest_of
from bridge.freshness.reads import differences
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response, Route
from bridge.store import subagent_runs
from bridge.store.state import State
from bridge.store.store import Store

_LOOK_S = 0.02


def find_answer(
    store: Store, begun: Draft, planned: RoutePlan, *, until_s: float
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
            given = _find(state, asked, route, store.place.project, until_s)
            if (
                given is None
                and route == "host"
                and _is_kept_soon(store, asked, until_s)
            ):
                given = _find(state, asked, route, store.place.project, until_s)
            if given is None:
                continue
            definition = begun.definition_on(route)
            models = ModelsNow(store, begun.settings, until_s=until_s)
            if not models.why_another(given, definition):
                return given.response
    return None


def _find(
    state: State, asked: Request, route: Route, project: Path, until_s: float
) -> Given | None:
    """The newest answer to a question, if it holds."""
    given = kept_reads.find(state, asked, route, project)
    return given if given is not None and _holds(given, until_s) else None


def _is_kept_soon(store: Store, asked: Request, until_s: float) -> bool:
    """Wait while a hook writes down what its answer to this question rests on.

    The answer is out before that. False if no hook does.
    """
    question, waited = digest_of(asked, "host"), False
    until_s = min(until_s, store.clock.monotonic_s() + kept_reads.READ_S)
    while store.clock.monotonic_s() < until_s and _is_ending(store, question):
        waited = True
        time.sleep(_LOOK_S)
    return waited


def _is_ending(store: Store, question: str) -> bool:
    """Whether an agent has just answered this question, and its run is on record still.

    One that stays on record longer had its hook killed.
    """
    runs = subagent_runs.all_runs(store)
    asked = (e.request_id for e in runs if e.state == "running" and not e.nested)
    found = (store.find(RequestId(name)) for name in {*asked})
    return any(
        each is not None
        and each.request is not None
        and each.response is not None
        and each.response.success
        and each.response.route == "host"
        and 0 <= store.now_ms() - each.response.completed_at < kept_reads.READ_S * 1000
        and digest_of(each.request, "host") == question
        for each in found
    )


def _holds(given: Given, until_s: float) -> bool:
    """Whether an answer may be reused, and all that it rests on is as it was."""
    if why_never(given) is not None:
        return False
    try:
        return next(differences(given.reads, Disk(until_s)), None) is None
    except Unknowable:
        return False
