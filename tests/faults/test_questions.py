"""A question and its reply: whatever is killed, one reply counts, and none is lost."""

import json
import os
from functools import partial

import pytest
from faultlab import Operation, prepared, tell
from storeworld import (
    answer,
    claimant,
    folders_of,
    path_of,
    put_odd,
    quarantined,
    request,
    store_in,
    take,
    this_process,
)
from systemcalls import ERRORS, together

from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.ids import RequestId
from bridge.protocol.question import Asked, problem_of_form
from bridge.store import questions
from bridge.store.store import Store

pytestmark = pytest.mark.faults

ASKED = Asked("Which colour?", {"enum": ["red", "blue"]})
ID = RequestId("asks")
# Who claims, also where a child of it is what is broken.
HOST = this_process()
PROMPT = "Paint."


def begin(store: Store) -> None:
    """An agent works on a request, and may ask."""
    store.submit(request(ID, may_ask=True, prompt=PROMPT))
    store.claim(claimant(HOST), 1, take)


def ask(store: Store) -> object:
    with store.state() as state:
        return questions.ask(state, ID, lambda _: True, ASKED)


def begin_and_ask(store: Store) -> None:
    begin(store)
    ask(store)


def reply(store: Store, value: str = "red") -> object:
    return store.reply(ID, value, by="a test", number=1)


def wait_for_reply(store: Store) -> object:
    """The agent may end, and the request waits."""
    given_back = store.give_back(ID, HOST)
    assert given_back, "it was held"
    return given_back


def files_are_whole(store: Store) -> None:
    for room in ("requests", "processing", "questions"):
        folder = path_of(store, room)
        for file in folder.glob("[!.]*.json") if folder.exists() else ():
            assert isinstance(json.loads(file.read_bytes()), dict)


def settled(store: Store) -> list[object]:
    """What a fresh process makes of it: it asks, and replies, unless that is done."""
    found = store.find_unfinished(ID)
    if found.asks is None and not found.exchanges:
        assert ask(store) is not None
    assert [q.words for q in store.open_questions()] in ([], [ASKED.words])
    with store.state() as state, state.hold():
        after = questions.look(state, ID)
    if after is not None and after.asks is not None:
        reply(store)
    found = store.find_unfinished(ID)
    assert found.asks is None
    return [each.reply for each in found.exchanges]


STEPS = [
    Operation("ask", begin, ask, frozenset((ID,))),
    Operation("reply", begin_and_ask, reply, frozenset((ID,))),
    Operation("wait for the reply", begin_and_ask, wait_for_reply, frozenset((ID,))),
]


@pytest.fixture
def asking(tmp_path):
    """The state of a request whose agent has asked and ended."""
    store = store_in(tmp_path)
    begin_and_ask(store)
    wait_for_reply(store)
    return store


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_kill_or_an_error_at_any_call_leaves_one_question_and_one_reply(step):
    """What was said to be done is done; what was not can be done again."""
    with prepared(step) as state:
        for fault, store, outcome in state.faults(ERRORS, 3):
            files_are_whole(store)
            found = store.find_unfinished(ID)
            if step.act is reply and outcome.status == "returned":
                assert [each.reply for each in found.exchanges] == ["red"], fault
            assert settled(store) == ["red"], fault
    tell(f"{step.name}: {state.cases} faults")


def test_of_many_replies_at_once_the_first_counts(asking):
    def say(value):
        try:
            reply(asking, value)
        except InvalidRequest:
            return "refused"
        return value

    words = ("red", "blue") * 4
    said = [each.value for each in together(partial(say, word) for word in words)]

    (won,) = [each for each in said if each != "refused"]
    assert settled(asking) == [won]
    kept = asking.evidence(ID)
    assert [each["reason"] for each in kept] == [
        "a second reply to question 1: the first one counts"
    ] * 7


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large"])
def test_what_is_no_plain_file_is_no_reply(asking, tmp_path, kind):
    """Nothing it leads to is read, and the question stays."""
    file = path_of(asking, "questions") / f"{ID}.1.reply.json"
    aim = tmp_path / "aim"
    aim.write_text('{"value": "red"}')
    put_odd(file, kind, aim)
    if kind == "large":
        file.write_text('{"value": "red", "more": "' + "x" * 2_000_000 + '"}')
    # Older than what somebody may still be writing.
    os.utime(file, (0, 0), follow_symlinks=False)

    with asking.state() as state, state.hold():
        seen = questions.look(state, ID)

    assert seen.asks.number == 1
    assert not os.path.lexists(file)
    assert aim.read_text() == '{"value": "red"}'
    assert settled(asking) == ["red"]


NO_REPLIES = {
    "empty": b"",
    "cut": b'{"value": "re',
    "a value alone": b'"red"',
    "a list": b'["red"]',
    "nothing": b"{}",
    "another form": b'{"value": "green"}',
    "null": b'{"value": null}',
    "not UTF-8": b'{"value": "\xff"}',
    "half a character": b'{"value": "\\ud800"}',
    "two marks": b'\xef\xbb\xbf{"value": "red"}',
    "not finite": b'{"value": NaN}',
    "deep": b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "two objects": b'{"value": "red"}{"value": "red"}',
}


@pytest.mark.parametrize("name", NO_REPLIES)
def test_a_file_that_is_no_reply_is_put_aside_and_the_question_stays(asking, name):
    file = path_of(asking, "questions") / f"{ID}.1.reply.json"
    file.write_bytes(NO_REPLIES[name])
    os.utime(file, (0, 0))

    assert asking.take_reply(ID).asks.number == 1

    assert not file.exists()
    assert list(quarantined(asking)) == [file.name]
    assert settled(asking) == ["red"]


OTHER_NAMES = (
    "asks.2.reply.json", "asks.01.json", "asks.\u0661.json", ".1.json", "x.1.json",
    f"asks.{'9' * 200}.json", "asks.1.json.bak",
)  # fmt: skip


@pytest.mark.parametrize("name", OTHER_NAMES, ids=ascii)
def test_a_file_of_another_name_is_neither_question_nor_reply(asking, name):
    (path_of(asking, "questions") / name).write_text('{"value": "red"}')

    assert asking.take_reply(ID).asks.number == 1
    assert [question.number for question in asking.open_questions()] == [1]
    assert settled(asking) == ["red"]


def test_a_form_that_would_never_be_checked_is_refused():
    """Its agent may have read injected text: nothing is fetched, nothing hangs."""
    deep: object = {}
    for _ in range(300):
        deep = {"not": deep}
    forms = [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"pattern": "(" * 40 + "a" + "){9999}" * 40},
        {"properties": {str(n): {} for n in range(5_000)}},
        deep,
    ]

    assert all(problem_of_form(form) for form in forms)


def write_reply(store: Store, value: str) -> str:
    """As a program in any language may."""
    folder = path_of(store, "questions")
    made = folder / f".{os.getpid()}"
    made.write_text(json.dumps({"value": value}))
    try:
        os.link(made, folder / questions.reply_file(ID, 1))
    except FileExistsError:
        return "refused"
    finally:
        made.unlink()
    return "written"


def claim(store: Store, session: str) -> list[object]:
    mine = store.claim(claimant(HOST, session), 1, take)
    return [exchange.reply for one in mine for exchange in one.exchanges] or [len(mine)]


def end(store: Store) -> bool:
    """Somebody answers by hand, or the agent does after all."""
    return store.publish(answer(request(ID, prompt=PROMPT)), source="test")


def said_or_refused(store: Store, value: str) -> str:
    try:
        reply(store, value)
    except (InvalidRequest, StateUnavailable):
        # A file that a program has just written may be in the way.
        return "refused"
    return value


@pytest.mark.slow
def test_of_all_that_comes_at_once_one_reply_one_claim_and_one_end_count(
    tmp_path,
):
    """Whichever of them comes first."""
    seen = set()
    for number in range(12):
        store = store_in(tmp_path / str(number), lock_wait_s=60.0)
        begin_and_ask(store)
        wait_for_reply(store)
        acts = {
            "red": partial(said_or_refused, store, "red"),
            "blue": partial(said_or_refused, store, "blue"),
            "file": partial(write_reply, store, "blue"),
            "claim 1": partial(claim, store, "session-1"),
            "claim 2": partial(claim, store, "session-2"),
            "sweep": partial(store.sweep, everything=True),
        }
        if number % 2:
            acts["end"] = partial(end, store)
        came = dict(zip(acts, together(acts.values()), strict=True))

        assert not [each.message for each in came.values() if each.message]
        assert len(folders_of(store, ID)) == 1
        replied = {came[name].value for name in ("red", "blue")} - {"refused"}
        claims = [came[n].value for n in ("claim 1", "claim 2") if came[n].value != [0]]
        assert len(replied) <= 1
        assert len(claims) <= 1
        found = store.find(ID)
        counts = [each.reply for each in found.request.exchanges]
        assert counts in ([], ["red"], ["blue"])
        assert replied <= set(counts)
        # Nobody holds it before there is a reply.
        assert all(each == counts for each in claims)
        assert (found.response is not None) == bool(number % 2)
        seen.add((bool(claims), *counts, *replied))
    tell(f"{len(seen)} ways it went: {seen}")
