"""Reply to what an agent asks: it goes on with that, and answers then.

VALUE is JSON or a text, as the question wants it; yes and no where it asks for that; a
choice, or its number in the list. - reads stdin, --file a file. On a terminal, without
a value, the question is asked. The first reply counts; a value of another form is
refused, with its place, and the question stays open.

Refused inside a Claude Code session: its model would reply for its user, or an agent to
its own question.

For example:
  hostbridge questions
  hostbridge reply 1k1a5b5we99-n-1f5gf4 euros
  hostbridge reply 1k1a5b5we99-n-1f5gf4 --file reply.json
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from bridge.api.bridge import Bridge
from bridge.cli.asking.question_prompt import QuestionPrompt, chosen, only_by_a_person
from bridge.cli.common.inputs import read_words
from bridge.cli.common.options import AS_JSON, option
from bridge.cli.common.output import say_result
from bridge.cli.common.which_request import which
from bridge.errors import InvalidRequest
from bridge.protocol.question import Question
from bridge.store.questions import question_of

OPTIONS = (
    option(
        "request_id",
        metavar="ID",
        completes="questions",
        help="The id that `hostbridge questions` shows.",
    ),
    option("value", metavar="VALUE|-", nargs="?", help="The reply; - reads stdin."),
    option(
        "--file",
        metavar="FILE",
        type=Path,
        completes="file",
        help="Read the reply from this file.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Reply and say so."""
    bridge = Bridge.open()
    only_by_a_person(bridge)
    request_id = which(bridge, options.request_id)
    found = bridge.status(request_id)
    question = question_of(found.request) if found.request else None
    if question is None or found.response is not None:
        # Says why; a second reply is kept. It is for no question that is asked later.
        last = len(found.request.exchanges) if found.request else 0
        typed = None if _is_open(options) else _typed(options)
        bridge.reply(request_id, typed, number=last)
        return
    value = _value(bridge, options, question)
    bridge.reply(request_id, value, number=question.number)
    said = {"requestId": request_id, "question": question.number, "reply": value}
    say_result(options, said, f"replied to {request_id}: its agent goes on")


def _value(bridge: Bridge, options: Namespace, question: Question) -> Any:
    prompt = QuestionPrompt(bridge)
    is_open = _is_open(options)
    if is_open and prompt.may_ask():
        value = prompt(question)
        if value is None:
            raise InvalidRequest("nothing was replied")
        return value
    typed = _typed(options)
    if is_open and not typed.strip():
        raise InvalidRequest(
            f"no reply; try: hostbridge reply {question.request_id} VALUE"
        )
    try:
        return chosen(question.form, typed)
    except ValueError as exc:
        raise InvalidRequest(
            f"request {question.request_id} asks for another form: {exc}",
            ways=("see what is asked: hostbridge questions",),
        ) from None


def _is_open(options: Namespace) -> bool:
    """Whether the command line has no reply."""
    return options.value is None and options.file is None


def _typed(options: Namespace) -> str:
    """The words of the reply, wherever they stand."""
    if options.value in (None, "-"):
        return read_words(options.file, "the reply")
    value: str = options.value
    return value
