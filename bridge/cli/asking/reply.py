"""Reply to what waits for you; `hostbridge questions` lists it.

To an agent's question VALUE is JSON or a text, as the question wants it; yes and no
where it asks for that; a choice, or its number in the list. A value of another form is
refused, with its place, and the question stays open.

A checkpoint of a run goes on after a yes, and ends after a no. More words begin with
"but", "and" or a colon, and later steps read them: "yes, but smaller". An answer that
is neither changes nothing. Of several checkpoints of a run RUN/STEP names one.

A request that is held, since its asker wants more agents at once than `fan_out` allows,
goes on after a yes, which you confirm on the terminal; a no cancels it. To a request
that is at work, yes means that its agent may start more agents of its own at once. A
request that waits for an agent is answered with the VALUE, by hand: its form is checked
like an agent's answer, and it is marked `route: manual`.

- reads stdin, --file a file. On a terminal, without a value, you are asked. The first
reply counts. Refused inside a Claude Code session: its model would reply for its user,
or an agent to its own question.

For example:
  hostbridge questions
  hostbridge reply 1k1a5b5we99-n-1f5gf4 euros
  hostbridge reply 1k1a5b5we99-n-1f5gf4 --file reply.json
  hostbridge reply rk1a5b5wf01 yes, but smaller
"""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bridge.api.bridge import Bridge
from bridge.api.inbox import Waiting, inbox
from bridge.cli.asking.checkpoint_reply import ask_and_reply, is_run, reply_to_run
from bridge.cli.asking.question_prompt import (
    QuestionPrompt,
    chosen,
    may_ask,
    only_by_a_person,
)
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_words
from bridge.cli.common.options import AS_JSON, option, switch
from bridge.cli.common.output import (
    complain,
    counted,
    record,
    say_result,
    tell,
    visible,
)
from bridge.cli.common.which_request import which
from bridge.cli.running.which_run import which_run
from bridge.cli.screen.terminal import confirm
from bridge.config import language
from bridge.errors import InvalidRequest
from bridge.protocol.consent import Consent, consent_of
from bridge.protocol.ids import check_id
from bridge.protocol.question import Question
from bridge.protocol.request import Request
from bridge.protocol.wording import one_line
from bridge.store.questions import question_of
from bridge.store.wakeups import wake_all

USAGE = "ID [VALUE|-]"
OPTIONS = (
    option(
        "id",
        metavar="ID",
        nargs="?",
        completes="questions",
        help="What `hostbridge questions` shows: a request, a RUN, or RUN/STEP.",
    ),
    option("value", metavar="VALUE|-", nargs="*", help="The reply; - reads stdin."),
    option(
        "--file",
        metavar="FILE",
        type=Path,
        completes="file",
        help="Read the reply from this file.",
    ),
    switch("--all-held", help="Say yes to all requests that are held."),
    AS_JSON,
)
_SHOWN = 20
_EXCERPT_CHARS = 60


def command(options: Namespace) -> int:
    """Reply and say so; returns the exit code."""
    bridge = Bridge.open()
    if (options.id is None) != options.all_held:
        wrong = "takes no ID beside --all-held" if options.id else "needs an ID"
        raise InvalidRequest(f"reply {wrong}; see `hostbridge questions`")
    only_by_a_person(bridge)
    if options.all_held:
        has_any = bridge.store.exists()
        return free(bridge, bridge.store.held_requests() if has_any else [])
    words = _meant(inbox(bridge.store), options.id)
    run, _, step = words.partition("/")
    run = which_run(bridge, run)
    if not is_run(bridge, run):
        return _reply_to_request(bridge, options, which(bridge, words))
    if _is_open(options):
        ask_and_reply(bridge, run, step)
    else:
        reply_to_run(bridge, run, step, _typed(options))
    return Exit.OK


def _meant(waiting: list[Waiting], words: str) -> str:
    """The id of what waits and begins with these words; they themselves if none does.

    Raises:
        InvalidRequest: several do; lists them.
    """
    found = [each for each in waiting if each.id.startswith(words)] if words else []
    if len(found) > 1 and words not in [each.id for each in found]:
        listed = "".join(f"\n{_in_a_line(each)}" for each in found[:_SHOWN])
        raise InvalidRequest(f"{words}: {len(found)} that wait begin so:{listed}")
    return found[0].id if len(found) == 1 else words


def _in_a_line(each: Waiting) -> str:
    words = visible(one_line(each.words, _EXCERPT_CHARS))
    return f"{each.id}  {each.kind} of {visible(each.who)}: {words}"


def _reply_to_request(bridge: Bridge, options: Namespace, request_id: str) -> int:
    found = bridge.status(request_id)
    request = None if found.response else found.request
    if question := question_of(request) if request else None:
        value = _value(bridge, options, question)
        bridge.reply(request_id, value, number=question.number)
        said = {"requestId": request_id, "question": question.number, "reply": value}
        say_result(options, said, f"replied to {request_id}: its agent goes on")
    elif request and request.held is not None:
        return _reply_to_held(bridge, options, request)
    elif request and request.claim and not request.approved and _says_yes(options):
        return free(bridge, [request])
    elif request and not request.exchanges:
        respond(bridge, options, request_id, _typed(options))
    else:
        # Says why; a second reply is kept. It is for no question that is asked later.
        last = len(found.request.exchanges) if found.request else 0
        typed = None if _is_open(options) else _typed(options)
        bridge.reply(request_id, typed, number=last)
    return Exit.OK


def respond(bridge: Bridge, options: Namespace, request_id: str, words: str) -> None:
    """Answer a request by hand, and say so; raises as `Bridge.respond`."""
    result = bridge.respond(request_id, words)
    said = f"answered {result.request_id}"
    say_result(options, record(result.response), said)


def _reply_to_held(bridge: Bridge, options: Namespace, request: Request) -> int:
    consent = None if _is_open(options) else _consent(options)
    if consent is Consent.NO:
        bridge.cancel(request.request_id)
        tell(f"cancelled {request.request_id}")
        return Exit.OK
    if consent in (None, Consent.YES):
        return free(bridge, [request])
    raise InvalidRequest(
        f"request {request.request_id} is held: reply yes or no, and no more"
    )


def _says_yes(options: Namespace) -> bool:
    return not _is_open(options) and _consent(options) is Consent.YES


def _consent(options: Namespace) -> Consent:
    return consent_of(_typed(options), language())


def free(bridge: Bridge, waiting: Sequence[Request]) -> int:
    """Show what needs a yes, ask for it on the terminal, and let it go on."""
    if not waiting:
        tell("no request waits for a yes")
        return Exit.OK
    lines = [_about(each) for each in waiting[:_SHOWN]]
    more = len(waiting) - _SHOWN
    lines += [f"and {more:,} more"] if more > 0 else []
    if not confirm(lines, f"Let {counted(len(waiting), 'request')} go on?"):
        complain("nothing was changed; only the word yes agrees")
        return Exit.FAILED
    freed = bridge.store.approve([check_id(each.request_id) for each in waiting])
    wake_all(bridge.store)
    tell(f"approved {counted(freed, 'request')}")
    return Exit.OK


def _about(request: Request) -> str:
    who = request.requester or "a program"
    prompt = one_line(request.prompt, _EXCERPT_CHARS)
    return f"{request.request_id}  {request.agent_type}  by {who}: {prompt}"


def _value(bridge: Bridge, options: Namespace, question: Question) -> Any:
    is_open = _is_open(options)
    if is_open and may_ask(bridge):
        value = QuestionPrompt(bridge)(question)
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
    return not options.value and options.file is None


def _typed(options: Namespace) -> str:
    """The words of the reply, wherever they stand."""
    if options.value in ([], ["-"]):
        return read_words(options.file, "the reply")
    return " ".join(options.value)
