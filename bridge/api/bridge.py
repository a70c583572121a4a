"""Bridge: ask an agent from any program and get a typed answer.

    bridge = Bridge.open()
    answer = bridge.ask("Which modules lack tests?", schema=Modules).parsed

Threads may share a Bridge. Every request is a record on disk first: a caller that dies
loses nothing, and `Bridge.open().wait(request_id)` in another process finds the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import update_wrapper
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Unpack,
    overload,
)

from bridge.api.project_runs import ProjectRuns
from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.ids import RequestId
from bridge.protocol.status import ignore

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from bridge.api.options import AskOptions, SubmitOptions, WaitOptions
    from bridge.api.result import Result

    Json: TypeAlias = dict[str, Any] | None

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_TIMEOUT_S = 120.0


class Bridge(ProjectRuns):
    """The bridge of one project."""

    @overload
    def ask(
        self,
        prompt: str = ...,
        agent: str = ...,
        *,
        schema: None = None,
        **options: Unpack[AskOptions],
    ) -> Result[AgentOutput]: ...

    @overload
    def ask(
        self,
        prompt: str = ...,
        agent: str = ...,
        *,
        schema: dict[str, Any],
        **options: Unpack[AskOptions],
    ) -> Result[Any]: ...

    # The next two differ only for type checkers that do not know `TypeForm`.
    @overload
    def ask(
        self,
        prompt: str = ...,
        agent: str = ...,
        *,
        schema: type[T],
        **options: Unpack[AskOptions],
    ) -> Result[T]: ...

    @overload
    def ask(
        self,
        prompt: str = ...,
        agent: str = ...,
        *,
        schema: TypeForm[T],
        **options: Unpack[AskOptions],
    ) -> Result[T]: ...

    def ask(
        self,
        prompt: str = "",
        agent: str = "general-purpose",
        *,
        schema: object = None,
        **options: Unpack[AskOptions],
    ) -> Result[Any]:
        """Ask an agent and wait for its answer; `AskOptions` explains the options.

        The prompt may be left out where the agent has all that it needs: of a task
        (`task_id`), or of a definition whose template has no `{{ task }}`.

        `schema` is the form of the answer, and the type of `Result.parsed`: a pydantic
        model or another type that pydantic can check (a dataclass, a TypedDict,
        `list[Model]`, `Literal["a", "b"]`); a JSON Schema as a dict; or None for an
        `AgentOutput`. A schema with only unknown keywords is refused, since any answer
        would pass; beside known keywords, unknown ones are ignored, as the standard
        says.

        The result may report failure (`success` False) in a valid answer; anything less
        raises. `Result.trusted` says whether the answer can be relied on.

        Raises:
            NoHost: no live session could take it, or the bridge is off (`BRIDGE_OFF`,
                `hostbridge off`); nothing was asked.
            NoRoute: this machine lacks what the route needs; nothing was asked.
            UnknownAgent, InvalidRequest, DepthExceeded: nothing was asked.
            BadDefinition, NotTrusted: nothing was asked; the definition cannot be used.
            BadSetting: nothing was asked; no model of the endpoint is named.
            CannotWaitHere: asked, but the only host would have to wait for itself.
            RequestFailed: it ended without a valid answer; `code` and `stage` say how.
        """
        from bridge.api.ask import Asker
        from bridge.api.result import result_or_raise

        asker = Asker(self.store, self.settings, self.quick)
        response = asker.ask(prompt, agent, schema, options)
        result = result_or_raise(response, schema)
        return result.marked_cached() if asker.is_cached else result

    def submit(
        self,
        prompt: str = "",
        agent: str = "general-purpose",
        *,
        schema: TypeForm[Any] | Json = None,
        **options: Unpack[SubmitOptions],
    ) -> RequestId:
        """Ask without waiting; the request is durable on return.

        Needs no live session: on `route` auto the request waits for one; on claude,
        local or endpoint it waits for `hostbridge serve`. `SubmitOptions` explains the
        options; `schema` is that of `ask`, and `wait` takes it, too.

        Raises:
            UnknownAgent, InvalidRequest, DepthExceeded: nothing was asked.
            BadDefinition, NotTrusted: nothing was asked; the definition cannot be used.
        """
        from bridge.api.submission import Submitter

        return Submitter(self.store, self.settings).submit(
            prompt, agent, schema, options
        )

    @overload
    def wait(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
        self, request: str, *, schema: type[T], **options: Unpack[WaitOptions]
    ) -> Result[T]: ...

    @overload
    def wait(  # type: ignore[overload-overlap]
        self, request: str, *, schema: Json = None, **options: Unpack[WaitOptions]
    ) -> Result[Any]: ...

    @overload
    def wait(  # type: ignore[overload-overlap]
        self, request: str, *, schema: TypeForm[T], **options: Unpack[WaitOptions]
    ) -> Result[T]: ...

    @overload
    def wait(
        self, request: Iterable[str], *, schema: type[T], **options: Unpack[WaitOptions]
    ) -> Iterator[Result[T | None]]: ...

    @overload
    def wait(
        self,
        request: Iterable[str],
        *,
        schema: Json = None,
        **options: Unpack[WaitOptions],
    ) -> Iterator[Result[Any]]: ...

    @overload
    def wait(
        self,
        request: Iterable[str],
        *,
        schema: TypeForm[T],
        **options: Unpack[WaitOptions],
    ) -> Iterator[Result[T | None]]: ...

    def wait(
        self,
        request: str | Iterable[str],
        *,
        schema: Any = None,
        **options: Unpack[WaitOptions],
    ) -> Result[Any] | Iterator[Result[Any]]:
        """Wait for one request, or for many as they are completed.

        One: returns its result, or raises as `ask` does. Many: yields a result for each
        as it ends, also for those that failed (`error` is set, `parsed` is None). The
        requests are left as they are when the time is up.

        `schema` is the type they were asked with: only its JSON Schema is on disk. With
        none, `parsed` is an `AgentOutput` if that was asked for, and decoded JSON
        otherwise; either way it was checked. `timeout_s` is 120 by default; `on_stage`
        is called with the stage of a request, `on_progress` with what it waits for
        before its next try, `on_question` with what its agent asks (see `AskOptions`).

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: an option is not what it should be, or an id is not an id.
            WaitTimeout: `timeout_s` seconds passed.
            StateVanished: the state directory was removed meanwhile.
        """
        from bridge.api.options import checked
        from bridge.api.result import result_or_raise, schema_of
        from bridge.api.wait import Waiter

        given = checked("wait", options)
        timeout_s = given.get("timeout_s", DEFAULT_TIMEOUT_S)
        if schema is not None:
            schema_of(schema)
        on_stage, replier = given.get("on_stage", ignore), None
        if on_question := given.get("on_question"):
            from bridge.api.questions import Replier

            replier = Replier(self.quick, self.settings, on_question)
            on_stage = replier.before(on_stage)
        waiter = Waiter(
            self.quick,
            on_stage=on_stage,
            on_progress=given.get("on_progress", ignore),
        )
        if isinstance(request, Iterable) and not isinstance(request, str | bytes):
            ids = {self._known(each) for each in request}
            if replier:
                replier.ids = ids
            return waiter.many(ids, schema, timeout_s)
        request_id = self._known(request)
        if replier:
            replier.ids.add(request_id)
        response = waiter.one(request_id, timeout_s)
        return result_or_raise(response, schema)


def _here(method: Callable[Concatenate[Bridge, P], T]) -> Callable[P, T]:
    """A method, of the bridge of the project around the working folder."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return method(Bridge.open(), *args, **kwargs)

    # As a bound method, whose signature has no `self`.
    return update_wrapper(call, MethodType(method, Bridge))


ask = _here(Bridge.ask)
spawn_agent = ask
start_agent = ask
