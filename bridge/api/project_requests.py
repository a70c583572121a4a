"""The requests of one project, looked at, answered by hand, ended and removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
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
from bridge.store import Found
from bridge.store.claim import is_abandoned
from bridge.store.clock import Clock
from bridge.store.config_file import settings_at
from bridge.store.location import locate
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.api.history import Story
    from bridge.api.project_status import Overview
    from bridge.api.result import Result
    from bridge.protocol.question import Question
    from bridge.store.prune import Pruned


class ProjectRequests:
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
        from bridge.store.live_runs import some_live

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
        from bridge.api.clean_up import prune
        from bridge.protocol.type_checks import check

        check(dry_run=dry_run)
        limits = {"older_than_days": older_than_days, "max_bytes": max_bytes}
        check(**{name: limit for name, limit in limits.items() if limit is not None})
        return prune(
            self.store,
            older_than_days=older_than_days,
            max_bytes=max_bytes,
            dry_run=dry_run,
        )

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
    from bridge.store.live_runs import run_of

    if run := run_of(store.place, request):
        from bridge.engine.advance import advance

        # Whoever looks next does it otherwise.
        with suppress(BridgeError):
            advance(store, settings, run)
