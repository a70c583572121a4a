"""Ask an agent, wait, and print its answer.

The Claude Code session that is open in this project answers. With --route, `claude -p`,
a model on this machine or a model server answers instead.

The answer is a status, a summary and its evidence; with --schema, a JSON value that
satisfies it. `--schema module:Class` imports that module from the working folder, and
so runs its code. Results go to stdout, progress and errors to stderr.

Ctrl-C cancels the request; so do SIGTERM and SIGHUP. Exit codes: 0 answered with
success; 1 the agent answered failure, or the request failed; 2 usage; 4 nobody could
take it; 5 deadline; 6 submitted, cannot wait here; 7 success from a small model, or
from another model than you asked for, without verified evidence; 130 interrupted.

For example:
  hostbridge ask "Which modules lack tests?"
  git diff | hostbridge ask Explore - --timeout 5m --text
  hostbridge ask --cached "Which modules lack tests?"
  hostbridge ask --may-ask --timeout 1h "Print the prices"
  hostbridge ask --context session "What did we decide?"
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.common.exit_codes import of_result
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.model_name import from_here
from bridge.cli.common.options import (
    ACCEPT_DEGRADED,
    AS_JSON,
    AS_TEXT,
    QUESTION,
    WHO,
    option,
    switch,
)
from bridge.cli.screen.durations import duration
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.routes import OWN
from bridge.store.config_file import settings_at

if TYPE_CHECKING:
    from bridge.api.result import Result

OPTIONS = (
    *QUESTION,
    option(
        "--fallback-after",
        dest="fallback_after_s",
        metavar="TIME",
        heading=WHO,
        type=duration(least_s=0),
        help="If no session has taken it after this time, answer it here, on the route "
        "that --fallback names.",
    ),
    option(
        "--fallback",
        metavar="ROUTE",
        heading=WHO,
        completes="routes",
        help="The route to fall back to: claude, endpoint or local; by default what "
        "BRIDGE_CLI_FALLBACK says.",
    ),
    switch(
        "--cached",
        help="The newest answer to the same question, at once, if everything that it "
        "rests on is as it was; otherwise ask.",
    ),
    switch(
        "--watch",
        help="Ask again whenever something that the answer rests on has changed, until "
        "Ctrl-C.",
    ),
    ACCEPT_DEGRADED,
    AS_JSON,
    AS_TEXT,
)


def command(options: Namespace) -> int:
    """Ask and print; returns the exit code."""
    settings = settings_at(Path())
    _check_fallback(options, settings)
    if is_local(options, settings):
        # A small model loads in about the time that the imports below take.
        from bridge.llama.preload import start_ahead

        start_ahead(from_here(options.model, settings), settings)
    from bridge.api.bridge import Bridge
    from bridge.cli.asking.question_prompt import QuestionPrompt
    from bridge.cli.common.inputs import agent_and_prompt, hint_of_quotes, question
    from bridge.cli.common.progress import ProgressLine

    bridge = Bridge(settings, Path())
    agent, prompt = agent_and_prompt(bridge, options)
    interrupts = Interrupts()
    interrupts.on()
    given = question(options, bridge) | {"cached": options.cached}

    def ask() -> Result[Any]:
        progress = ProgressLine(agent)
        with hint_of_quotes(options), progress:
            return bridge.ask(
                prompt,
                agent,
                on_stage=interrupts.before(progress),
                on_progress=progress.follow,
                on_question=QuestionPrompt(bridge, progress),
                **given,
            )

    if options.watch:
        from bridge.cli.asking.ask_watched import watch

        watch(bridge, options, ask, partial(_show, options), interrupts)
    result = ask()
    _show(options, result)
    return of_result(result, accept_degraded=options.accept_degraded)


def _show(options: Namespace, result: Result[Any]) -> None:
    """Print an answer, and say who gave it."""
    from bridge.cli.asking.answer_text import answer_lines, bare_text, by_whom
    from bridge.cli.common.output import ago, complain, record, say, say_json
    from bridge.cli.screen.screen import screen_of
    from bridge.protocol.failure_codes import MEANINGS

    if options.as_json:
        cached = {"cached": result.cached} if options.cached else {}
        say_json(record(result.response) | cached)
        return
    width = screen_of(sys.stdout).width
    answer = (bare_text(result),) if options.as_text else answer_lines(result, width)
    say(*answer)
    if result.cached:
        given_s = time.time() - result.response.completed_at / 1000
        complain(
            f"this is the answer of request {result.request_id}, {ago(given_s)}; "
            "nothing that it rests on has changed"
        )
    if who := by_whom(result):
        complain(who)
    if result.error:
        why = MEANINGS[result.error.code]
        complain(f"{why}; see all of it: hostbridge show {result.request_id}")


def _check_fallback(options: Namespace, settings: Settings) -> None:
    """What the library would say, too, by the names of its arguments."""
    route, to, after_s = options.route, options.fallback, options.fallback_after_s
    wrong = ""
    if after_s is None and to in OWN:
        wrong = (
            "--fallback needs --fallback-after TIME, such as 20s (to skip the session: "
            f"--route {to})"
        )
    elif after_s is not None and route in OWN:
        wrong = (
            f"--fallback-after belongs to the routes auto and host; route {route} is "
            "served here at once"
        )
    elif after_s is not None and not (to or settings.cli_fallback):
        wrong = (
            "--fallback-after needs --fallback ROUTE, the route to fall back to: "
            f"{', '.join(OWN)}"
        )
    if wrong:
        raise InvalidRequest(wrong)


def is_local(options: Namespace, settings: Settings) -> bool:
    """Whether a local model in this process answers, if the agent allows it."""
    if settings.off:
        return False
    is_auto = options.route == "auto" and options.fallback_after_s is None
    return settings.cli_fallback == "local" if is_auto else options.route == "local"
