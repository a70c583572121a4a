"""Wait for requests, and print a line for each as it ends.

On a terminal it asks you what an agent asks that may. Ctrl-C leaves the requests as
they are: they go on. With --text, only the answers are
printed. Exit codes: 0 all answered with success; if some
failed in the same way, the code that `ask` would exit with (4 nobody could take
it, 5 deadline, 7 degraded, 1 most others); 1 if they failed in different ways.

For example:
  id=$(hostbridge submit "Which modules lack tests?")
  hostbridge wait "$id" --timeout 10m
"""

from argparse import Namespace

from bridge.api.bridge import DEFAULT_TIMEOUT_S, Bridge
from bridge.cli.asking.answer_text import bare_text, result_line
from bridge.cli.asking.question_prompt import QuestionPrompt
from bridge.cli.common.exit_codes import Exit, of_result
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.options import (
    ACCEPT_DEGRADED,
    ALL,
    AS_JSON,
    AS_TEXT,
    IDS,
    timeout,
)
from bridge.cli.common.output import record, say, say_result
from bridge.cli.common.progress import ProgressLine
from bridge.cli.common.which_request import chosen
from bridge.protocol.response import Response

# How many ids are named while waiting.
_NAMED = 2
USAGE = "ID...|--all"
OPTIONS = (
    IDS,
    ALL,
    timeout("How long to wait; by default 2m.", least_s=0, default=DEFAULT_TIMEOUT_S),
    ACCEPT_DEGRADED,
    AS_JSON,
    AS_TEXT,
)


def command(options: Namespace) -> int:
    """Wait and print; returns the exit code."""
    codes = set()
    bridge, timeout_s = Bridge.open(), options.timeout_s
    ids = chosen(bridge, options)
    left = dict.fromkeys(ids)
    failed: list[Response] = []
    interrupts = Interrupts()
    interrupts.on()
    try:
        with ProgressLine(_title(ids)) as progress:
            on_stage = interrupts.before(progress)
            for result in bridge.wait(
                ids,
                timeout_s=timeout_s,
                on_stage=on_stage,
                on_progress=progress.follow,
                on_question=QuestionPrompt(bridge, progress, timeout_s=timeout_s),
            ):
                del left[result.request_id]
                if not options.as_text:
                    say_result(options, record(result.response), result_line(result))
                elif result.parsed is not None:
                    say(bare_text(result))
                codes.add(of_result(result, accept_degraded=options.accept_degraded))
                if result.error:
                    failed.append(result.response)
    except KeyboardInterrupt as exc:
        again = " ".join(left)
        exc.add_note(f"still running: `hostbridge wait {again}` picks it up")
        vars(exc)["request_id"] = next(iter(left)) if len(left) == 1 else None
        raise
    if failed:
        from bridge.cli.common.error_report import complain_of_responses

        complain_of_responses(failed)
    codes.discard(Exit.OK)
    return (codes or {Exit.OK}).pop() if len(codes) <= 1 else Exit.FAILED


def _title(ids: list[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (", ..." if ids[_NAMED:] else "")
