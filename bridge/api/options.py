"""The options of `ask`, `submit` and `wait`, spelt out and explained once.

Those of runs are in `bridge.api.run_options`.

`schema`, which decides the type of the answer, stands in the methods themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from bridge.config import LONGEST_S
from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.ids import Priority
from bridge.protocol.request import ContextFrom, Node
from bridge.protocol.status import Stage
from bridge.protocol.type_checks import check, seconds_in
from bridge.routes import OwnRoute

if TYPE_CHECKING:
    from datetime import timedelta

    from bridge.agents.definition import Mode
    from bridge.api.routing import RouteChoice
    from bridge.change.change import Change
    from bridge.protocol.outcome import Progress
    from bridge.protocol.question import Question


class RequestOptions(TypedDict, total=False):
    """What both `ask` and `submit` take; anything missing or None is the default.

    Attributes:
        timeout_s: seconds until the request ends without an answer; by default the
            definition's, or 120.
        model: the model that is to answer; by default the definition's.
        priority: high, normal or low; by default the definition's, or normal.
        arguments: available to the definition's templates as `arguments`.
        node: a piece of source the request is about, as `FILE::NAME` or a `Node`.
        change: the change that it is about, as `read_change` returned it. By default a
            definition with `context: [change]` gets what is not committed.
        variables: variables of the agent, available to the definition's templates.
        task_id: the task that it is about, such as `#42`, or any id of the caller's;
            repeated in the result. With that of a task no prompt is needed: then the
            prompt is what the task says.
        workflow: the step workflow for the agent, by its key in the definition's
            `workflows`; by default the definition's own.
        mode: terminal (an agent of an open session) or headless (a process of its own);
            by default the workflow's, and then the definition's.
        dedup_key: stands for one question. The same question with the same key gets the
            same request, running or answered; another question is refused.
        session: the only host session that may take the request.
        continues: an answered request, whose agent is asked this in the same
            conversation; agent, model, schema, arguments and workflow are those of that
            request unless given.
        context: session: the agent is a fork of the session's conversation, which it
            knows, and which stays as it is.
        route: auto (the definition's, or an open session), host, or a route that is
            served without a session: claude, local, endpoint.
        answer_to_host: whether the open session reads the answer, too.
        max_attempts: how often it is tried where a try fails for a reason that may
            pass; by default the definition's, or 2.
        wait_quota: whether a usage limit is waited for, until the deadline, by default;
            or ends the request at once.
        may_ask: True lets the agent end with a question to whoever asks; otherwise its
            definition says (`allow_questions`).
    """

    timeout_s: float | timedelta | None
    model: str | None
    priority: Priority | None
    arguments: dict[str, Any] | None
    node: str | Node | None
    change: Change | None
    variables: dict[str, Any] | None
    task_id: str | None
    workflow: str | None
    mode: Mode | None
    dedup_key: str | None
    session: str | None
    continues: str | None
    context: ContextFrom | None
    route: RouteChoice
    answer_to_host: bool
    max_attempts: int | None
    wait_quota: bool | None
    may_ask: bool | None


class SubmitOptions(RequestOptions, total=False):
    """The options of `submit`.

    Attributes:
        request_id: names the request; by default it gets an id that sorts by time.
    """

    request_id: str | None


class AskOptions(RequestOptions, total=False):
    """The options of `ask`.

    Attributes:
        fallback_after_s: serve the request here if no session has taken it after so
            many seconds; with route auto at once, if no session is open.
        fallback: the route to fall back to: claude, local or endpoint; by default the
            one that `BRIDGE_CLI_FALLBACK` names.
        cached: return the newest answer to the same question, if everything that it
            rests on is still as it was; otherwise ask. `Result.cached` says which.
        on_stage: called as the request moves from stage to stage.
        on_progress: receives the progress of what this process serves, and in its
            `waits` what a request waits for before its next try.
        on_question: gets the question of an agent and returns the reply, or None to
            leave it to others. With it the agent may ask, unless `may_ask` is given.
    """

    fallback: OwnRoute | None
    fallback_after_s: float | timedelta | None
    cached: bool
    on_stage: Callable[[Stage], None]
    on_progress: Callable[[Progress], None]
    on_question: Callable[[Question], Any]


class WaitOptions(TypedDict, total=False):
    """The options of `wait`; see `Bridge.wait`."""

    timeout_s: float | timedelta
    on_stage: Callable[[Stage], None]
    on_progress: Callable[[Progress], None]
    on_question: Callable[[Question], Any]


_KNOWN: dict[str, frozenset[str]] = {
    "ask": AskOptions.__optional_keys__,
    "submit": SubmitOptions.__optional_keys__,
    "wait": WaitOptions.__optional_keys__,
}


def _known(of: str) -> frozenset[str]:
    if of in _KNOWN:
        return _KNOWN[of]
    # What `submit` does not load.
    from bridge.api.run_options import OF_RUNS

    return frozenset(OF_RUNS[of].__annotations__)


def checked(
    of: Literal["ask", "submit", "wait", "run", "validate", "build"], options: Any
) -> dict[str, Any]:
    """The options that were given, those that are not None; durations in seconds.

    Raises:
        InvalidRequest: there is no such option, or its value is of a wrong kind.
    """
    known = _known(of)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, {*known, "schema"}, 1)
            raise InvalidRequest(f"{of} has no option {name!r}{hint}")
    given = {name: value for name, value in options.items() if value is not None}
    check(**given)
    durations = {n: seconds_in(each) for n, each in given.items() if n.endswith("_s")}
    if of not in _KNOWN:
        for name, value_s in durations.items():
            check_time(name, value_s)
    return given | durations


def check_time(name: str, value_s: float) -> None:
    """Check how long something may take.

    Raises:
        InvalidRequest: nothing can be done in that time, or it is too long.
    """
    if not 0 < value_s <= LONGEST_S:
        raise InvalidRequest(
            f"{name} {value_s:g}: expected seconds, more than 0 and at most "
            f"{LONGEST_S} (30 days)"
        )
