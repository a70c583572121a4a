"""Reply to what agents ask: by a call, or by a function of the one who waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.api.hosts import Hosts
from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.question import Question
from bridge.protocol.status import Stage
from bridge.store.questions import question_of

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.store import Store

    OnQuestion = Callable[[Question], Any]


def reply(
    store: Store,
    settings: Settings,
    request: str,
    value: Any,
    *,
    number: int | None = None,
    by: str = "",
) -> None:
    """Reply to what the agent of a request asks; raises as `Bridge.reply`."""
    request_id = check_id(request)
    if store.find(request_id) is None:
        raise store.unknown(request_id)
    after = store.reply(request_id, value, by=by or "reply", number=number)
    if after.claim is None:
        Hosts(store, settings).wake(after)


class Replier:
    """Has questions answered by a function of the caller, in the thread that waits.

    A question for which it returns None is left to others, and not put to it again.
    """

    def __init__(
        self, store: Store, settings: Settings, on_question: OnQuestion
    ) -> None:
        self.ids: set[RequestId] = set()
        self._store = store
        self._settings = settings
        self._on_question = on_question
        # What the function has said to each question.
        self._said: dict[tuple[str, int], Any] = {}

    def before(
        self, then: Callable[[Stage], None], ids: Iterable[RequestId] = ()
    ) -> Callable[[Stage], None]:
        """A callback of a wait, which has the questions of these requests answered."""
        self.ids.update(ids)

        def on_stage(stage: Stage) -> None:
            then(stage)
            if stage is Stage.ASKING:
                self.answer_all()

        return on_stage

    def answer_all(self) -> None:
        """Put each open question to the function, and pass on its reply."""
        for request_id in sorted(self.ids):
            question = None
            with suppress(StateUnavailable):
                request = self._store.find_unfinished(request_id)
                question = question_of(request) if request else None
            if question is not None:
                self._answer(question)

    def _answer(self, question: Question) -> None:
        key = question.request_id, question.number
        if key not in self._said:
            self._said[key] = self._on_question(question)
        value = self._said[key]
        if value is None or not self._is_open(question):
            return
        try:
            self._reply(question, value)
        except StateUnavailable:
            # A busy lock, or a full disk: the next look tries again.
            pass
        except InvalidRequest:
            # Of another form; or else somebody was quicker.
            if self._is_open(question):
                raise

    def _reply(self, question: Question, value: Any) -> None:
        reply(
            self._store,
            self._settings,
            question.request_id,
            value,
            number=question.number,
            by="on_question",
        )

    def _is_open(self, question: Question) -> bool:
        """Whether nobody else has replied meanwhile, and its time is not over."""
        request = self._store.find_unfinished(RequestId(question.request_id))
        if request is None or request.asks is None:
            return False
        # Not `question.until`: somebody may have set the clock since it was read.
        is_late = self._store.now_ms() >= request.deadline_ms
        return request.asks.number == question.number and not is_late
