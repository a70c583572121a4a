"""The options of `ask` and `submit`, spelt out and explained once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.api.result import Shape
    from bridge.protocol.ids import Priority
    from bridge.protocol.outcome import Progress
    from bridge.protocol.request import Node
    from bridge.protocol.status import Stage


class RequestOptions(TypedDict, total=False):
    """What both `ask` and `submit` take; anything missing or None is the default.

    Attributes:
        schema: the form of the answer: a pydantic model, a JSON Schema, or None for
            `AgentOutput`. A schema with only unknown keywords is refused, since any
            answer would pass; beside known keywords, unknown ones are ignored, as the
            standard says.
        timeout_s: seconds until the request ends without an answer; by default the
            definition's, or 120.
        model: the model that is to answer; by default the definition's.
        priority: high, normal or low; by default the definition's, or normal.
        arguments: available to the definition's templates as `arguments`.
        node: a piece of source the request is about, as `FILE::NAME` or a `Node`.
        variables: variables of the agent, available to the definition's templates.
        task_id: an id chosen by the caller, repeated in the result.
        dedup_key: stands for one question. The same question with the same key gets the
            same request, running or answered; another question is refused.
        session: the only host session that may take the request.
        route: auto (the definition's, or an open session), host, or a route that is
            served without a session: claude, local, endpoint.
        answer_to_host: whether the open session reads the answer, too.
    """

    schema: Shape
    timeout_s: float | None
    model: str | None
    priority: Priority | None
    arguments: dict[str, Any] | None
    node: str | Node | None
    variables: dict[str, Any] | None
    task_id: str | None
    dedup_key: str | None
    session: str | None
    route: str
    answer_to_host: bool


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
        on_stage: called as the request moves from stage to stage.
        on_progress: receives the progress of what this process serves.
    """

    fallback: str | None
    fallback_after_s: float | None
    on_stage: Callable[[Stage], None]
    on_progress: Callable[[Progress], None]


class WaitOptions(TypedDict, total=False):
    """The options of `wait`; see `Bridge.wait`."""

    schema: Shape
    timeout_s: float
    on_stage: Callable[[Stage], None]


def check_names(of: Literal["ask", "submit"], options: Mapping[str, object]) -> None:
    """Raise TypeError for an unknown option, as Python does for a keyword."""
    known = AskOptions if of == "ask" else SubmitOptions
    for name in options.keys() - known.__optional_keys__:
        raise TypeError(f"{of}() got an unexpected keyword argument {name!r}")
