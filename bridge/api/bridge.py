"""Bridge: ask an agent from any program and get a typed answer.

    bridge = Bridge.open()
    answer = bridge.ask("Which modules lack tests?", schema=Modules).parsed

Threads may share a Bridge. Every request is a record on disk first: a caller that dies
loses nothing, and `Bridge.open().wait(request_id)` in another process finds the answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import update_wrapper
from math import inf
from pathlib import Path
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

from bridge.api.hosts import Hosts
from bridge.api.options import checked
from bridge.errors import StateRefused, StateUnavailable
from bridge.protocol.ids import check_id
from bridge.protocol.status import ignore
from bridge.protocol.type_checks import check
from bridge.store import wakeups
from bridge.store.config_file import settings_at
from bridge.store.lease import is_abandoned
from bridge.store.location import locate
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import TypeForm

    from bridge.api.history import Story
    from bridge.api.options import AskOptions, SubmitOptions, WaitOptions
    from bridge.api.project_status import Overview
    from bridge.api.result import Result
    from bridge.config import Settings
    from bridge.protocol.agent_output import AgentOutput
    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store import Found
    from bridge.store.clock import Clock
    from bridge.store.prune import Pruned

    Json: TypeAlias = dict[str, Any] | None

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_TIMEOUT_S = 120.0


class Bridge:
    """The bridge of one project."""

    def __init__(
        self, settings: Settings, start: Path, *, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        place = locate(settings, start)
        self.store = Store(place, clock=clock, lease_s=float(settings.lease_s))
        # A waiter waits only a moment for the lock: its deadline matters more than
        # cleaning up.
        self._quick = self.store.until(-inf)
        self.hosts = Hosts(self.store, settings)

    @classmethod
    def open(cls, path: Path | str | None = None) -> Bridge:
        """The bridge of the project that `path` (default: the working folder) is in.

        Raises:
            BadSetting: a `BRIDGE_*` variable or a `config.toml` has an invalid value.
            StateRefused: the state directory would not be safe, or `path` is not there.
        """
        if path is not None:
            check(path=path)
        start = Path(path or ".")
        # Unlike Path's, this one says no to a path that is too long.
        if path and not os.path.exists(start):
            raise StateRefused(
                start,
                "there is no such folder, so no project",
                "give the path of a folder in the project",
            )
        return cls(settings_at(start), start)

    # Asking

    @overload
    def ask(
        self,
        prompt: str,
        agent: str = ...,
        *,
        schema: None = None,
        **options: Unpack[AskOptions],
    ) -> Result[AgentOutput]: ...

    @overload
    def ask(
        self,
        prompt: str,
        agent: str = ...,
        *,
        schema: dict[str, Any],
        **options: Unpack[AskOptions],
    ) -> Result[Any]: ...

    # The next two differ only for type checkers that do not know `TypeForm`.
    @overload
    def ask(
        self,
        prompt: str,
        agent: str = ...,
        *,
        schema: type[T],
        **options: Unpack[AskOptions],
    ) -> Result[T]: ...

    @overload
    def ask(
        self,
        prompt: str,
        agent: str = ...,
        *,
        schema: TypeForm[T],
        **options: Unpack[AskOptions],
    ) -> Result[T]: ...

    def ask(
        self,
        prompt: str,
        agent: str = "general-purpose",
        *,
        schema: object = None,
        **options: Unpack[AskOptions],
    ) -> Result[Any]:
        """Ask an agent and wait for its answer; `AskOptions` explains the options.

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

        asker = Asker(self.store, self.settings, self._quick)
        response = asker.ask(prompt, agent, schema, options)
        return result_or_raise(response, schema)

    def submit(
        self,
        prompt: str,
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

    # Waiting

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
        is called with the stage of a request.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: an option is not what it should be, or an id is not an id.
            WaitTimeout: `timeout_s` seconds passed.
            StateVanished: the state directory was removed meanwhile.
        """
        from bridge.api.result import result_or_raise, schema_of
        from bridge.api.wait import Waiter

        given = checked("wait", options)
        timeout_s = given.get("timeout_s", DEFAULT_TIMEOUT_S)
        if schema is not None:
            schema_of(schema)
        waiter = Waiter(self._quick, on_stage=given.get("on_stage", ignore))
        if isinstance(request, Iterable) and not isinstance(request, str | bytes):
            ids = {self._known(each) for each in request}
            return waiter.many(ids, schema, timeout_s)
        response = waiter.one(self._known(request), timeout_s)
        return result_or_raise(response, schema)

    def _known(self, request: str) -> RequestId:
        request_id = check_id(request)
        self._find(request_id)
        return request_id

    def _find(self, request_id: RequestId) -> Found:
        found = self.store.find(request_id)
        if found is None:
            raise self.store.unknown(request_id)
        return found

    # Ending

    def cancel(self, request: str) -> bool:
        """Cancel a request; False if it has ended.

        A running agent is stopped at its next tool call.

        Raises:
            UnknownRequest: there is no such request.
        """
        from bridge.api.wait import cancel

        return cancel(self._quick, self._known(request))

    def respond(self, request: str, words: str) -> Result[Any]:
        """Answer a request by hand; the answer is marked `route: manual`.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: a host works on it, it has ended, or this is no answer.
        """
        from bridge.api.respond import respond

        check(words=words)
        return respond(self.store, self.status(request), words)

    # Looking: this also ends overdue requests and gives back those of dead hosts, since
    # nobody else may be there to do it.

    def status(self, request: str) -> Found:
        """One request as it stands now.

        Raises:
            UnknownRequest: there is no such request.
        """
        request_id = check_id(request)
        found = self._find(request_id)
        if self._has_moved(found.request, found.response):
            return self._find(request_id)
        return found

    def overview(self) -> Overview:
        """Open sessions and requests of this project, at one moment."""
        from bridge.api.project_status import overview

        seen = overview(self.store, self.settings)
        due = [
            each
            for each in seen.requests
            if each.left_s <= 0 or (each.is_abandoned and each.route == "host")
        ]
        if due and self._look_after(check_id(r.request_id) for r in due):
            return overview(self.store, self.settings)
        return seen

    def story(self, request: str) -> Story:
        """Everything known about one request.

        Raises:
            UnknownRequest: nothing is known about it.
        """
        from bridge.api.history import tell

        story = tell(self.store, request)
        if self._has_moved(story.request, story.response):
            return tell(self.store, request)
        return story

    def prune(
        self, *, older_than_days: float | None = None, max_bytes: int | None = None
    ) -> Pruned:
        """Remove what has ended, and what sessions that are gone left behind.

        The options are those of `Store.prune`.
        """
        from bridge.host.pins import Pins

        limits = {"older_than_days": older_than_days, "max_bytes": max_bytes}
        check(**{name: limit for name, limit in limits.items() if limit is not None})
        gone = self.store.prune(older_than_days=older_than_days, max_bytes=max_bytes)
        bells = wakeups.remove_gone(self.store)
        Pins(self.store.place.guard).forget_gone()
        return replace(gone, bells=bells)

    def _has_moved(self, request: Request | None, response: Response | None) -> bool:
        """End or give back the request if needed; True if it must be read again."""
        if request is None or response is not None:
            return False
        is_held = request.served_on != "host" or not is_abandoned(request.claim)
        if self.store.now_ms() < request.deadline_ms and is_held:
            return False
        return self._look_after([check_id(request.request_id)])

    def _look_after(self, ids: Iterable[RequestId]) -> bool:
        """End what is overdue, give back what a dead host held; False if it cannot."""
        from bridge.host.sweep_and_wake import sweep

        try:
            sweep(self._quick, waiting=ids)
        except StateUnavailable:
            return False
        return True


def _here(method: Callable[Concatenate[Bridge, P], T]) -> Callable[P, T]:
    """A method, of the bridge of the project around the working folder."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return method(Bridge.open(), *args, **kwargs)

    # As a bound method, whose signature has no `self`.
    return update_wrapper(call, MethodType(method, Bridge))


ask = _here(Bridge.ask)
spawn_agent = ask
start_agent = ask
