"""What agents ask instead of answering, and the replies: the files of `questions/`.

    questions/<id>.<number>.json         a question: who asks, words, form, until when
    questions/<id>.<number>.reply.json   its reply, {"value": …}: the first counts

The record of the request says which question is open (`asks`): it waits, and nobody
takes it. Any program of this user may reply, by `reply` or by writing the file. Whoever
looks takes the reply over into the record, under the lock; from then on it stands. One
that does not parse is left alone for two seconds; one that is none goes to quarantine,
and the question stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol import plain_json
from bridge.protocol.claim import Claim
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.question import (
    Asked,
    Asking,
    Exchange,
    Question,
    problem_of_reply,
    problem_of_value,
)
from bridge.protocol.request import Request
from bridge.protocol.wording import one_line
from bridge.store.directory import NotAPlainFile
from bridge.store.records import is_young, read_quietly
from bridge.store.responses import keep_evidence
from bridge.store.state import State, file_of

FOLDER = "questions"
_REPLY = ".reply.json"
_MAX_FILE_BYTES = 1 << 20
_MAX_BY = 60


def reply_file(request_id: str, number: int) -> str:
    """The file in which a reply lies."""
    return f"{_stem(request_id, number)}{_REPLY}"


def _stem(request_id: str, number: int) -> str:
    return f"{file_of(request_id).removesuffix('.json')}.{number}"


def question_of(request: Request) -> Question | None:
    """The question that a request waits for; None for none."""
    asks = request.asks
    if asks is None:
        return None
    return Question(
        request_id=request.request_id,
        number=asks.number,
        agent_type=request.agent_type,
        words=asks.words,
        form=asks.form,
        asked_at=asks.at,
        until=request.deadline_ms,
    )


def ask(
    state: State, request_id: str, is_mine: Callable[[Claim], bool], asked: Asked
) -> Request | None:
    """Write down what the agent of a claimed request asks; durable on return.

    None if the claim is not the one under which it works. A question that is open
    already stays: its hook was killed.
    """
    with state.hold():
        request = state.find_claimed(request_id)
        claim = request.claim if request else None
        if request is None or claim is None or not is_mine(claim):
            return None
        if state.is_answered(request_id) or request.asks is not None:
            return request if request.asks is not None else None
        number = len(request.exchanges) + 1
        asking = Asking(
            number=number, words=asked.words, form=asked.form, at=state.now_ms()
        )
        request = request.with_(asks=asking)
        _write(state, request)
        file = file_of(request_id)
        state["processing"].replace(file, request.to_json())
        state.note("asks", request_id, question=number)
        return request


def _write(state: State, request: Request) -> None:
    """Write the file of a question; a reply to another one of its number goes aside."""
    question, folder = question_of(request), state[FOLDER]
    assert question is not None, "it asks"  # noqa: S101
    file = f"{_stem(question.request_id, question.number)}.json"
    before = read_quietly(folder, file, Question)
    if before is None:
        # What is there is no question, and nothing could replace a folder.
        state.make_way(FOLDER, file)
    if before is None or (before.words, before.form) != (question.words, question.form):
        state.make_way(FOLDER, reply_file(question.request_id, question.number))
    folder.replace(file, question.to_json())


def take_reply(state: State, request: Request) -> Request:
    """The request with the reply to its open question, if that is there.

    The lock is held. What is no reply is put aside, with the reason. One that has come
    after the deadline changes nothing any more.
    """
    asks = request.asks
    if asks is None or state.now_ms() >= request.deadline_ms:
        return request
    file = reply_file(request.request_id, asks.number)
    try:
        data = state[FOLDER].read(file, _MAX_FILE_BYTES)
        if data is None:
            return request
        reply = plain_json.loads(data)
        wrong = _why_none(asks, reply)
    except (plain_json.JSONDecodeError, NotAPlainFile, RecursionError) as exc:
        if is_young(state[FOLDER], file, state.now_ms()):
            return request
        wrong = f"not a reply: {exc}"
    except OSError:
        # A failing disk may read it the next time.
        return request
    if wrong:
        state.put_aside(FOLDER, file, wrong)
        state.note("reply refused", request.request_id, question=asks.number, why=wrong)
        return request
    return _accepted(state, request, asks, reply)


def _accepted(
    state: State, request: Request, asks: Asking, reply: dict[str, Any]
) -> Request:
    """The request with what its file, or a call, replies: that counts from here on."""
    done = Exchange(words=asks.words, reply=reply["value"])
    after = request.with_(asks=None, exchanges=(*request.exchanges, done))
    name = file_of(request.request_id)
    where = "processing" if state["processing"].has(name) else "requests"
    state[where].replace(name, after.to_json())
    by = reply.get("by")
    by = one_line(by, _MAX_BY) if isinstance(by, str) else None
    state.note("replied", request.request_id, question=asks.number, by=by)
    return after


def look(state: State, request_id: str) -> Request | None:
    """The unfinished request, with the reply that has come for it. The lock is held."""
    request = state.live(request_id)
    return request and take_reply(state, request)


def _why_none(asks: Asking, reply: Any) -> str:
    """Why what lies in the file is no reply; empty if it is one."""
    if not isinstance(reply, dict) or "value" not in reply:
        return 'expected an object with the reply under "value"'
    problem = problem_of_reply(asks.form, reply["value"])
    return f"value: {problem}" if problem else ""


def reply(
    state: State, request_id: RequestId, value: Any, *, by: str, number: int | None
) -> Request:
    """Reply to the open question of a request; durable on return.

    `number` says which one is meant, by default the open one.

    Raises:
        InvalidRequest: nothing is asked, that was replied to before, or the value is
            not of the form that is asked for. The question stays as it is.
        StateUnavailable: what lies in the place of the reply cannot be moved away.
    """
    if problem := problem_of_value(value):
        # Before anything else: a second reply is kept.
        raise _refused(request_id, f"takes no such reply: {problem}")
    with state.hold():
        request = state.live(request_id)
        if request is None or state.is_answered(request_id):
            raise _refused(request_id, "has ended: its agent asks nothing")
        if state.now_ms() >= request.deadline_ms:
            raise _refused(request_id, "is past its deadline: no reply helps it now")
        # A program may have written one.
        request = take_reply(state, request)
        asks = request.asks
        if asks is None or number not in (None, asks.number):
            _refuse_second(state, request, value, by, number)
            raise _refused(request_id, "has no agent that asks")
        if problem := problem_of_reply(asks.form, value):
            raise _refused(request_id, f"asks for another form: {problem}")
        file = reply_file(request_id, asks.number)
        # What is there is no reply yet: somebody has begun to write one.
        state.make_way(FOLDER, file)
        record = {"value": value, "at": state.now_ms(), "by": by}
        data = plain_json.dumps(record, line=True)
        try:
            state[FOLDER].create(file, data)
        except FileExistsError:
            path = f"{state[FOLDER].path}/{file}"
            raise StateUnavailable(
                f"{path} is in the way of the reply: try again, or move it away"
            ) from None
        # No second look at the clock: what is said to count does count.
        return _accepted(state, request, asks, plain_json.loads(data))


def _refuse_second(
    state: State, request: Request, value: Any, by: str, number: int | None
) -> None:
    """Refuse a second reply, and keep it; the first one stands."""
    number = number or len(request.exchanges)
    if not 0 < number <= len(request.exchanges):
        return
    words = plain_json.dumps(value).decode()
    reason = f"a second reply to question {number}: the first one counts"
    keep_evidence(state, request.request_id, reason=reason, source=by, words=words)
    raise _refused(
        RequestId(request.request_id),
        f"has a reply to its question {number}, which counts; this one is kept as "
        "evidence",
    )


def _refused(request_id: RequestId, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"request {request_id} {why}",
        ways=(f"see how it stands: hostbridge show {request_id}",),
        request_id=request_id,
    )


def open_questions(state: State) -> list[Question]:
    """The questions that wait for a reply, the oldest first."""
    return sorted(_open(state), key=lambda question: question.asked_at)


def _open(state: State) -> Iterator[Question]:
    live = {*state["requests"].names(), *state["processing"].names()}
    for name in state[FOLDER].names():
        request_id, _, number = name.partition(".")
        if request_id not in live or not is_id(request_id) or not number.isdecimal():
            continue
        request = None
        with suppress(OSError):
            request = state.live(request_id)
        question = question_of(request) if request else None
        if question is None or str(question.number) != number:
            continue
        if not state.is_answered(request_id):
            yield question
