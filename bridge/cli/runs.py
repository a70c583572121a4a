"""Runs of flows: how far they are, and what a person can do with them.

`show` tells of each step: its state, how long it took, which way a condition went, and
what it waits for. `pause` lets what was asked go on and asks nothing more; `resume`
goes on with a run that is paused, failed or cancelled, in an open session (`hostbridge
run --resume` also waits for it, and serves it here); `cancel` ends it, gives up one
that has failed, and removes its worktrees except what is not merged; `jump` goes on
from another step, by its number or its label: what follows it starts anew.

For example:
  hostbridge runs
  hostbridge runs --json
"""

import sys
from argparse import Namespace
from contextlib import suppress
from functools import partial

from bridge.api.bridge import Bridge
from bridge.api.validation_result import kind_of
from bridge.bound.session_above import only_by_hand
from bridge.cli.exit_codes import Exit
from bridge.cli.options import AS_JSON, option
from bridge.cli.output import complain, say, say_json, tell
from bridge.cli.run_text import (
    run_lines,
    run_table,
    run_value,
    waits_for_you,
    ways_out,
)
from bridge.cli.screen import screen_of
from bridge.cli.which_run import step_of, which_run
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import all_runs, view
from bridge.errors import InvalidRequest
from bridge.worktrees.leftovers import free

_WHAT = ("list", "show", "pause", "resume", "cancel", "jump")
OPTIONS = (
    option(
        "what",
        metavar="list|show|pause|resume|cancel|jump",
        nargs="?",
        default="list",
        choices=_WHAT,
        help="What to do; list, the default.",
    ),
    option(
        "run",
        metavar="RUN",
        nargs="?",
        help="The run, or how its id begins; for show by default the latest.",
    ),
    option(
        "step",
        metavar="STEP",
        nargs="?",
        help="For jump: node-3, @label, or node-0/node-1 in a flow that it called.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> int:
    """List, show, or act; returns the exit code."""
    bridge = Bridge.open()
    if options.what == "list":
        return _list(bridge, options)
    if not options.run and options.what != "show":
        raise InvalidRequest(f"runs {options.what} needs a RUN; see `hostbridge runs`")
    if bool(options.step) != (options.what == "jump"):
        raise InvalidRequest("runs jump takes a RUN and a STEP; the others only a RUN")
    run_id = which_run(bridge, options.run) if options.run else _latest(bridge)
    if options.what == "show":
        # What has ended meanwhile is part of how far it is.
        advance(bridge.store, bridge.settings, run_id)
    else:
        _act(bridge, options, run_id)
    seen = view(bridge.store, run_id)
    if options.as_json:
        say_json(run_value(bridge, seen))
        return Exit.OK
    say(*run_lines(bridge, seen, screen_of(sys.stdout).width))
    if seen.run["status"] == "completed" and (kind := kind_of(seen)):
        from bridge.cli.validation_text import said_in

        say("", *said_in(bridge, kind, run_id))
    for checkpoint, node, _ in seen.checkpoints():
        complain(waits_for_you(bridge, checkpoint, node))
    for way in ways_out(seen.run):
        complain(way)
    return Exit.OK


def _latest(bridge: Bridge) -> str:
    """The run that was begun last."""
    for run in all_runs(bridge.store):
        return run[0] if isinstance(run, tuple) else run["run"]
    raise InvalidRequest("nothing was run here; see `hostbridge run --help`")


def _list(bridge: Bridge, options: Namespace) -> int:
    runs = [*all_runs(bridge.store)]
    if options.as_json:
        for run in runs:
            if isinstance(run, tuple):
                say_json({"run": run[0], "status": "unreadable", "why": str(run[1])})
            else:
                kept = ("run", "name", "status", "why", "asked", "createdAt", "at")
                say_json({key: run[key] for key in kept})  # type: ignore[literal-required]
        return Exit.OK
    if not runs:
        tell("nothing was run here; see `hostbridge run --help`")
        return Exit.OK
    say(*run_table(runs, bridge.store.now_ms(), screen_of(sys.stdout).width))
    return Exit.OK


def _act(bridge: Bridge, options: Namespace, run_id: str) -> None:
    if options.what in ("resume", "jump"):
        # Its user has stopped it: a model must not undo that.
        name = f"hostbridge runs {options.what}"
        only_by_hand(bridge.settings, bridge.store, name)
    if options.what == "jump":
        run_id, node = step_of(view(bridge.store, run_id), options.step)
        act = partial(by_hand.jump, node=node)
    else:
        act = getattr(by_hand, options.what)
    run = advance(bridge.store, bridge.settings, run_id, act)
    if options.what == "cancel" and run["root"] == run_id:
        _free(bridge, run_id)
    if options.what == "jump" and run["root"] != run_id:
        # A called run goes on with whoever called it; that may run already.
        with suppress(InvalidRequest):
            advance(bridge.store, bridge.settings, run["root"], by_hand.resume)


def _free(bridge: Bridge, run_id: str) -> None:
    """Remove the worktrees of a run that was given up; say what stays, and why."""
    freed = free(bridge.store, run_id)
    for each in freed.removed:
        complain(f"removed the worktree {each.folder} and its branch {each.branch}")
    for each in freed.kept:
        complain(f"kept: {each.holds}. What to do: {'; '.join(each.ways)}")
