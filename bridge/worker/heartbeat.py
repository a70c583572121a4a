"""What a worker checks while it works, and its heartbeat."""

import math
import os
from collections.abc import Callable
from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.status import Stage
from bridge.store import sessions
from bridge.store.store import Store
from bridge.store.switch import is_off

_LOOK_S = 0.25
# Below any lease that makes sense.
_BEAT_S = 30.0


class Watch:
    """Says whether to stop working; cheap enough to be called often.

    Work stops when the request has ended or has vanished with its state directory, and
    when hostbridge is switched off.

    `deadline_s` is the request's deadline and `until_s` the asker's, both on the
    monotonic clock, since somebody may set the other one. Neither is a reason to stop:
    the executor ends at `end_s` by itself, and reports a timeout, not a cancellation.
    """

    def __init__(
        self,
        store: Store,
        request: Request,
        on_stage: Callable[[Stage], None],
        *,
        deadline_s: float = math.inf,
        until_s: float = math.inf,
    ) -> None:
        self.has_ended = self.is_off = False
        self.stage = Stage.RUNNING
        self._deadline_s = deadline_s
        self._until_s = until_s
        self._store = store
        self._request_id = RequestId(request.request_id)
        self._session = request.claim.session if request.claim else ""
        self._on_stage = on_stage
        self._looked_s = self._beat_s = store.clock.monotonic_s()
        state, file = store.place.state, f"{request.request_id}.json"
        self._looked_at = (
            state / "responses" / file,
            state / "processing" / file,
            state / "off",
        )
        self._seen: list[tuple[int, int] | None] = []

    def __call__(self) -> bool:
        """Whether to stop: the answer is not wanted, or hostbridge is switched off."""
        now_s = self._store.clock.monotonic_s()
        if now_s - self._looked_s >= _LOOK_S:
            self._looked_s = now_s
            self._on_stage(self.stage)
            is_due = now_s - self._beat_s >= _BEAT_S
            signs = self._signs()
            if signs != self._seen or is_due:
                with suppress(StateUnavailable):
                    self._look(beat=is_due)
                    self._seen = signs
                    self._beat_s = now_s if is_due else self._beat_s
        return self.has_ended or self.is_off

    def _signs(self) -> list[tuple[int, int] | None]:
        """Inode and time of the files that matter: cheap to get, and to compare."""
        signs: list[tuple[int, int] | None] = []
        for path in self._looked_at:
            try:
                facts = os.lstat(path)
                signs.append((facts.st_ino, facts.st_mtime_ns))
            except OSError:
                signs.append(None)
        return signs

    def _look(self, *, beat: bool) -> None:
        with self._store.open() as store:
            self.has_ended = store.is_over(self._request_id)
            if beat:
                sessions.beat(store, self._session)
            self.is_off = is_off(store)

    @property
    def end_s(self) -> float:
        """When the work must end, on the monotonic clock."""
        return min(self._deadline_s, self._until_s)

    @property
    def is_given_up(self) -> bool:
        """Whether the asker's time is up, but not the request's."""
        return self._store.clock.monotonic_s() >= self._until_s < self._deadline_s

    def stop(self) -> None:
        """Remove the heartbeat."""
        with suppress(StateUnavailable):
            sessions.remove_beat(self._store, self._session)
