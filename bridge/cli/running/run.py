"""Run a flow or a pipeline to its end, and print what its last steps answered.

It is a file, a name (see `hostbridge flow list` and `hostbridge workflow list`) or, of
a flow, - for stdin. The open session answers; with --route it is `claude -p`, a local
model or a model server. What runs is shown on the terminal.

Ctrl-C pauses the run: what was asked may still be answered, nothing more is asked.
--resume goes on with it, and with a run that failed, was cancelled or lost its process.
--dry-run asks nobody: a file (YAML, JSON) has the answers, by agent, checkpoint, called
flow or step: one, or a list of which each call takes the next.

Exit codes: 0 it went to its end; 1 it failed; 4 nobody could take it; 6 begun, cannot
wait here; 7 it rests on an answer of a small model; 130 interrupted.

For example:
  echo 'Explore:"Look around"' | hostbridge run -
  echo 'Explore || Plan' | hostbridge run - --json
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge.agents.library import WORKFLOWS
from bridge.api.bridge import Bridge
from bridge.api.flow_files import NAMED
from bridge.api.flow_result import FlowResult
from bridge.api.validation_result import kind_of
from bridge.bound.session_above import only_outside_sessions
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_pairs, read_words
from bridge.cli.common.options import (
    ACCEPT_DEGRADED,
    AS_JSON,
    NO_WAIT_QUOTA,
    SESSION,
    option,
)
from bridge.cli.common.output import complain, say, say_json, visible
from bridge.cli.common.verbs import given_in
from bridge.cli.running.run_options import ARGUMENTS, BUDGETS, ROUTE, TIMES, option_for
from bridge.cli.running.run_shown import shown
from bridge.cli.running.run_text import (
    CHANGED,
    changed_files,
    stands,
    ways_out,
)
from bridge.cli.running.which_run import which_run
from bridge.engine.view import view
from bridge.errors import InvalidRequest
from bridge.protocol.wording import in_shell

OPTIONS = (
    option(
        "flow", metavar="FILE|NAME|-", nargs="?", completes="file", help="What to run."
    ),
    option(
        "--param",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="A parameter of it; NAME:=JSON for anything but text. May be repeated.",
    ),
    option("--resume", metavar="RUN", help="Go on with this run."),
    option(
        "--dry-run",
        dest="answers",
        metavar="FILE",
        completes="file",
        type=Path,
        help="Show whom it would ask, and what; the answers are in this file.",
    ),
    ROUTE,
    SESSION,
    *TIMES,
    *BUDGETS,
    option_for("run", "on_failure"),
    NO_WAIT_QUOTA,
    ACCEPT_DEGRADED,
    AS_JSON,
)


def command(options: Namespace) -> int:
    """Run, and print; returns the exit code."""
    if bool(options.flow) == bool(options.resume):
        raise InvalidRequest(
            "run needs a flow, a pipeline, or --resume RUN; see `hostbridge flow list`"
        )
    bridge = Bridge.open()
    if options.answers:
        if options.resume:
            raise InvalidRequest(
                "--dry-run is for a flow, not for a run that has begun"
            )
        from bridge.cli.running.run_rehearsed import rehearse

        return rehearse(
            bridge,
            _flow(options.flow),
            read_pairs("--param", options.params),
            options.answers,
            as_json=options.as_json,
        )
    given = given_in(options, ARGUMENTS["run"])

    def go(on_change: Callable[[Any], None]) -> FlowResult:
        if not options.resume:
            params = read_pairs("--param", options.params)
            flow = _flow(options.flow)
            if Path(flow).suffix in WORKFLOWS.suffixes:
                # It starts programs: a model may run those that have a name.
                command = in_shell("hostbridge", "run", options.flow)
                only_outside_sessions(bridge.settings, bridge.store, command)
            return bridge.run(flow, params, on_change=on_change, **given)
        run_id = which_run(bridge, options.resume)
        for file in changed_files(bridge, view(bridge.store, run_id)):
            complain(CHANGED.format(file=file))
        return bridge.resume(run_id, on_change=on_change, **given)

    done = shown(bridge, go, as_json=options.as_json)
    if options.resume and (kind := kind_of(view(bridge.store, done.run))):
        # It is printed, and ends, as the command does that began it.
        from bridge.cli.running.validation_text import end_of

        return end_of(bridge, kind, done.run, as_json=options.as_json)
    return _print(bridge, options, done)


def _print(bridge: Bridge, options: Namespace, done: FlowResult) -> int:
    if options.as_json:
        say_json(done)
    elif done.status == "completed":
        say(visible(done.text, kept="\n\t"))
    if done.status != "completed":
        run = view(bridge.store, done.run).run
        for line in (stands(run), *ways_out(run)):
            complain(line)
    if not done.success:
        return Exit.FAILED
    if done.degraded and not options.accept_degraded:
        complain("it rests on an answer of a small model, or of another than wanted")
        return Exit.DEGRADED
    return Exit.OK


def _flow(named: str) -> str | Path:
    if named == "-":
        # It may look like a name.
        return read_words(Path("-"), "the flow") + "\n"
    # The name of a file may look like the text of a flow.
    if not NAMED.fullmatch(named) and Path(named).is_file():
        return Path(named)
    return named
