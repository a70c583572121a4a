"""One project: its requests, looked at, answered by hand, ended and removed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bridge.api.hosts import Hosts
from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import Found, journal, wakeups
from bridge.store.clock import Clock
from bridge.store.config_file import settings_at
from bridge.store.lease import is_abandoned
from bridge.store.live_runs import run_of, some_live
from bridge.store.location import locate
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.api.active_workflow import Workflows
    from bridge.api.history import Story
    from bridge.api.project_status import Overview
    from bridge.api.result import Result
    from bridge.api.stale import Standing
    from bridge.api.variables import Variables
    from bridge.api.watching import Watched
    from bridge.metrics.metrics import Dimension, Metrics
    from bridge.protocol.question import Question
    from bridge.store.prune import Pruned
    from bridge.tasks.tasks import Tasks
    from bridge.tracing.spans import Span


class Project:
    """What `Bridge` can do with requests that were asked."""

    def __init__(
        self, settings: Settings, start: Path, *, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        place = locate(settings, start)
        self.store = Store(place, clock=clock, lease_s=float(settings.lease_s))
        # A waiter waits only a moment for the lock: its deadline matters more than
        # cleaning up.
        self.quick = self.store.until(-inf)
        self.hosts = Hosts(self.store, settings)

    @classmethod
    def open(cls, path: Path | str | None = None) -> Self:
        """The bridge of the project that `path` (default: the working folder) is in.

        Raises:
            BadSetting: a `BRIDGE_*` variable or a `config.toml` has an invalid value.
            InvalidRequest: `path` is not there.
            StateRefused: the state directory would not be safe.
        """
        if path is not None:
            from bridge.protocol.type_checks import check

            check(path=path)
        start = Path(path or ".")
        # Unlike Path's, this one says no to a path that is too long.
        if path and not os.path.exists(start):
            raise InvalidRequest(
                f"path {str(path)!r}: there is no such folder; give the path of a "
                "folder in the project"
            )
        return cls(settings_at(start), start)

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

        is_done = cancel(self.quick, self._known(request))
        go_on_after(self.quick, self.settings, request)
        return is_done

    def respond(self, request: str, words: str) -> Result[Any]:
        """Answer a request by hand; the answer is marked `route: manual`.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: a host works on it, it has ended, or this is no answer.
        """
        from bridge.api.respond import respond

        result = respond(self.store, self.status(request), words)
        go_on_after(self.quick, self.settings, request)
        return result

    def questions(self) -> list[Question]:
        """What agents ask, and nobody has replied to, the oldest first."""
        return self.store.open_questions() if self.store.exists() else []

    def reply(self, request: str, value: Any, *, number: int | None = None) -> None:
        """Reply to what the agent of a request asks: it goes on with that.

        `value` is of the question's `form`; `number` says which question is meant, by
        default the one that is open. The first reply counts. Durable on return.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: its agent asks nothing, somebody was quicker (then this one
                is kept as evidence), or the value is of another form.
        """
        from bridge.api.questions import reply

        reply(self.store, self.settings, request, value, number=number)

    def spans(self, *, since_s: float | None = None) -> tuple[Span, ...]:
        """What has ended, as spans: of the last `since_s` seconds, or all on record.

        `bridge.tracing.opentelemetry` turns them into OpenTelemetry's own.
        """
        from bridge.tracing.spans import spans_of

        if not self.store.exists():
            return ()
        with self.store.state() as state:
            found = tuple(spans_of(journal.lines(state.directory)))
        first_ms = 0 if since_s is None else self.store.now_ms() - since_s * 1000
        return tuple(span for span in found if span.end_ms >= first_ms)

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

        if some_live(self.store.place):
            from bridge.engine.advance import advance_all

            # What a deadline has ended is part of how far they are.
            advance_all(self.quick, self.settings)
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

    def stale(self, ids: Iterable[str] = ()) -> list[Standing]:
        """How answers stand: these, or by default the newest to each question.

        One is stale if something that its agent looked at has changed since: a file,
        the names below a folder, its definition. `Standing.reasons` says what.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: it has no answer that could be checked.
        """
        from bridge.api.stale import Freshness

        return Freshness(self.store, self.settings).standings(ids)

    def watch(self, request_id: str | None = None) -> Watched:
        """Watch what the answer of a request rests on, or all of the project.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: the project cannot be read.
        """
        from bridge.api.stale import Freshness
        from bridge.api.watching import watch

        return watch(Freshness(self.store, self.settings), request_id)

    def write_lock(
        self, path: Path | str, ids: Iterable[str] = ()
    ) -> tuple[int, list[Standing]]:
        """Write what answers rest on into a file for the project to keep.

        By default of all that hold, and that a clone can check. Returns how many it
        has, and those that were left out. An earlier lock is replaced, no other file.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: one of `ids` cannot be locked, or another file is there.
        """
        from bridge.api.answer_lock import write_lock
        from bridge.api.stale import Freshness
        from bridge.protocol.type_checks import check

        check(path=path)
        return write_lock(Freshness(self.store, self.settings), Path(path), ids)

    def check_lock(self, path: Path | str) -> list[Standing]:
        """How the answers in a lock stand; it needs no record of them.

        Raises:
            InvalidRequest: it cannot be read, or is no lock; says in which line.
        """
        from bridge.api.answer_lock import check_lock
        from bridge.protocol.type_checks import check

        check(path=path)
        return check_lock(self.store.place.project, Path(path))

    def stats(
        self,
        *,
        since: str = "7d",
        by: Dimension | Iterable[Dimension] = (),
    ) -> Metrics:
        """What became of requests, flows and tasks: counts, times, tokens.

        `since` is how long ago that begins (`7d`, `24h`), a day (`2026-11-01`), or
        `all`. `by` is what `groups` are grouped by: day, agent, route, model, or
        several of them.

        Raises:
            InvalidRequest: `since` or `by` is something else.
        """
        from bridge.metrics.days import since_ms
        from bridge.metrics.metrics import dimensions_of
        from bridge.metrics.reader import read

        begins_ms, names = since_ms(since, self.store.now_ms()), dimensions_of(by)
        return read(self.store, since_ms=begins_ms, by=names)

    def report(self, path: Path | str, *, since: str = "all") -> Path:
        """Write the page that shows `stats` with charts and tables; returns its path.

        It is one HTML file, which needs no network. An earlier report is replaced, no
        other file is. `since` is that of `stats`.

        Raises:
            InvalidRequest: `since` or `path` is something else, another file is there,
                or it cannot be written.
        """
        from bridge.protocol.type_checks import check
        from bridge.report.page import page
        from bridge.report.report_file import write

        check(path=path)
        file = Path(path).absolute()
        write(file, page(self.stats(since=since).to_data()))
        return file

    def variables(self, session: str | None = None) -> Variables:
        """The variables of an open session, which its rules read.

        By default the session that this runs in, or the only one; in an agent, its own.

        Raises:
            InvalidRequest: it is not open, or there are none, or several.
        """
        from bridge.api.variables import Variables

        return Variables.open(self.store, self.settings, session, "tool")

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Any:
        """Call one of the tools on tasks that agents have, such as `get_task`.

        The result is JSON values, the same as over MCP and in pipelines. With a `key`,
        a call that changes something is done once: repeated, it returns the first
        result.

        Raises:
            InvalidRequest: there is no such tool, or an argument is not what it must
                be; nothing was done.
            TaskRefused, TasksBusy: as the verbs of `tasks`.
        """
        from bridge.api.task_tools import call_tool

        return call_tool(self.store, self.settings, name, arguments or {}, key=key)

    @property
    def workflows(self) -> Workflows:
        """The step workflows of this project's conversations."""
        from bridge.api.active_workflow import Workflows

        return Workflows(self.store, self.settings)

    @property
    def tasks(self) -> Tasks:
        """The tasks of this project, claimed for this program, or its session.

        Raises:
            StateRefused: the state directory is not safe.
        """
        from bridge.api.task_holder import program_here
        from bridge.tasks.tasks import Tasks

        return Tasks(self.store, program_here(self.store, self.settings))

    def prune(
        self,
        *,
        older_than_days: float | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove what has ended, and what sessions that are gone left behind.

        The options are those of `Store.prune`. A dry run only counts what has ended.
        """
        from dataclasses import replace

        from bridge.host.pins import Pins
        from bridge.protocol.type_checks import check
        from bridge.tasks.calls import forget
        from bridge.tasks.database import Database

        check(dry_run=dry_run)
        limits = {"older_than_days": older_than_days, "max_bytes": max_bytes}
        check(**{name: limit for name, limit in limits.items() if limit is not None})
        gone = self.store.prune(
            older_than_days=older_than_days, max_bytes=max_bytes, dry_run=dry_run
        )
        if dry_run:
            return gone
        if older_than_days is not None:
            # One that is in use, or damaged, is for who uses it to see.
            with suppress(BridgeError):
                forget(Database(self.store), older_than_days)
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
        from bridge.store.wakeups import sweep

        try:
            sweep(self.quick, waiting=ids)
        except StateUnavailable:
            return False
        return True


def go_on_after(store: Store, settings: Settings, request: str) -> None:
    """Have the end of a request lead on in the run of a flow that asked it."""
    if run := run_of(store.place, request):
        from bridge.engine.advance import advance

        # Whoever looks next does it otherwise.
        with suppress(BridgeError):
            advance(store, settings, run)
