"""Tell what ended a command: to a person on stderr, to a program as JSON on stdout.

    hostbridge: request 1k0 failed: the agent answered with text, where JSON was due
      the agent said:
        | I would rather not.
      what to do:
        - ask again, or with a stronger model (--model)
        - see all of it: hostbridge show 1k0

Words from outside stand behind a bar, those of the agent bounded, and what a terminal
would obey or hide in them is visible: nothing in them can pose as a line of ours.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from textwrap import dedent

from bridge.cli.common.exit_codes import Exit, exit_code
from bridge.cli.common.output import (
    complain,
    counted,
    error_value,
    say,
    say_json,
    visible,
)
from bridge.cli.screen.screen import screen_of, wrapped
from bridge.errors import BridgeError, CannotWaitHere
from bridge.protocol.failure_codes import ANSWERED, MEANINGS, cure_of
from bridge.protocol.response import RequestFailed, Response
from bridge.protocol.wording import one_line

# Also after other short options, as in -jt5m.
_AS_JSON = re.compile(r"--json\Z|-[anwy]*j")
_SAID_LINES = 8
_SAID_CHARS = 1_000


def report(error: BridgeError, arguments: list[str]) -> Exit:
    """Tell of an error that ends a command; returns the exit code.

    What goes on without anybody waiting for it is named on stdout, as by `submit`.
    """
    if wants_json(arguments):
        say_json(error_value(error))
    elif isinstance(error, CannotWaitHere) and error.request_id:
        say(error.request_id)
    complain_of(error)
    return exit_code(error)


def report_other(
    code: str, message: str, arguments: list[str], request_id: str | None = None
) -> None:
    """Tell of what ends a command and is none of our errors: a full disk, Ctrl-C."""
    if wants_json(arguments):
        error = {"code": code, "message": message, "stage": None}
        # It may be stdout that is full.
        with suppress(OSError):
            say_json({"requestId": request_id, "success": False, "error": error})
            sys.stdout.flush()
    complain(message)


def wants_json(arguments: list[str]) -> bool:
    """Whether these words ask for JSON, whatever else is wrong with them."""
    before_dashes = arguments[: (*arguments, "--").index("--")]
    return any(map(_AS_JSON.match, before_dashes))


def complain_of(error: BridgeError) -> None:
    """Tell a person of an error: what happened, the agent's words, what to do."""
    complain("\n".join(error_lines(error, screen_of(sys.stderr).width)))


def complain_of_responses(responses: list[Response]) -> None:
    """Tell a person of requests that failed: of one all, of several what helps."""
    if len(responses) == 1:
        complain_of(RequestFailed(responses[0]))
        return
    ways = {
        cure_of(
            error.code, error.stage, response.request_id, response.route
        ): error.code
        for response in responses
        if (error := response.error)
    }
    lines = [f"{len(responses)} requests failed", "  what to do:"]
    width = screen_of(sys.stderr).width
    for way, code in ways.items():
        lines += _item(f"{code}: {way}", width)
    lines += _item("see all of one: hostbridge show ID", width)
    complain("\n".join(lines))


def error_lines(error: BridgeError, width: int | None = None) -> Iterator[str]:
    """An error as a person reads it, in lines that fit `width`."""
    if isinstance(error, RequestFailed):
        yield from _failure(error.response, width)
    else:
        first, *others = error.what.splitlines() or [""]
        yield first
        yield from _behind_bar("\n".join(others), width)
    if len(error.ways) == 1:
        yield from wrapped(f"what to do: {error.ways[0]}", width, "  ")
    elif error.ways:
        yield "  what to do:"
        for way in error.ways:
            yield from _item(way, width)


def _failure(response: Response, width: int | None) -> Iterator[str]:
    """What happened to a request, and the words of its agent."""
    error = response.error
    assert error is not None  # noqa: S101 - it failed
    meaning, message = MEANINGS[error.code], error.message
    # The words of an agent that itself reports a failure are its answer.
    is_answer = error.code in ANSWERED
    if not is_answer and not message.startswith(meaning):
        meaning, _, message = message.partition("; ")
    yield f"request {response.request_id} failed: {one_line(meaning)} ({error.code})"
    yield from _behind_bar(message.removeprefix(meaning).removeprefix(": "), width)
    if response.raw_output.strip() and not is_answer:
        yield "  the agent said:"
        yield from _said(response.raw_output, width)


def _behind_bar(detail: str, width: int | None) -> Iterator[str]:
    """What may hold words from outside: of a server, a tool, a definition."""
    if detail := dedent(detail).strip():
        yield from wrapped(visible(detail, kept="\n\t"), width, "  | ")


def _item(text: str, width: int | None) -> Iterator[str]:
    lines = wrapped(text, width, "      ", whole_words=True)
    yield next(lines).replace("      ", "    - ", 1)
    yield from lines


def _said(words: str, width: int | None) -> Iterator[str]:
    short = "\n".join(words.strip()[:_SAID_CHARS].splitlines()[:_SAID_LINES])
    yield from wrapped(visible(short, kept="\n\t"), width, "    | ")
    if more := len(words.strip()) - len(short):
        yield f"    … {counted(more, 'more character')}"
