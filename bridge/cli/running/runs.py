"""Runs of flows: how far they are, and what a person can do with them.

A run is named by its id, or by how that begins. What `pause`, `resume`, `cancel` and
`jump` did is shown as by `show`.

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
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import AS_JSON, option
from bridge.cli.common.output import complain, say, say_json, tell
from bridge.cli.common.verbs import Verb, Verbs
from bridge.cli.running.run_text import (
    run_lines,
    run_table,
    run_value,
    waits_for_you,
    ways_out,
)
from bridge.cli.running.which_run import step_of, which_run
from bridge.cli.screen.screen import screen_of
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import all_runs, view
from bridge.errors import InvalidRequest
from bridge.worktrees.leftovers import free

_RUN = option("run", metavar="RUN", help="The run, or how its id begins.")
_LATEST = "The run, or how its id begins; by default the latest."
VERBS = Verbs()


@VERBS.add()
def _list(options: Namespace) -> int:
    """List all runs; the default."""
    bridge = Bridge.open()
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


@VERBS.add(option("run", **_RUN.settings | {"nargs": "?", "help": _LATEST}))
def _show(options: Namespace) -> int:
    """Tell of each step: its state, how long it took, and what it waits for."""
    bridge = Bridge.open()
    run_id = which_run(bridge, options.run) if options.run else _latest(bridge)
    # What has ended meanwhile is part of how far it is.
    advance(bridge.store, bridge.settings, run_id)
    return _print(bridge, options, run_id)


def _latest(bridge: Bridge) -> str:
    """The run that was begun last."""
    for run in all_runs(bridge.store):
        return run[0] if isinstance(run, tuple) else run["run"]
    raise InvalidRequest("nothing was run here; see `hostbridge run --help`")


def _act(options: Namespace) -> int:
    bridge, verb = Bridge.open(), options.verb
    run_id = which_run(bridge, options.run)
    if verb in ("resume", "jump"):
        # Its user has stopped it: a model must not undo that.
        only_by_hand(bridge.settings, bridge.store, f"hostbridge runs {verb}")
    acted = run_id
    if verb == "jump":
        acted, node = step_of(view(bridge.store, run_id), options.step)
        act = partial(by_hand.jump, node=node)
    else:
        act = getattr(by_hand, verb)
    run = advance(bridge.store, bridge.settings, acted, act)
    if verb == "cancel" and run["root"] == acted:
        _free(bridge, acted)
    if verb == "jump" and run["root"] != acted:
        # A called run goes on with whoever called it; that may run already.
        with suppress(InvalidRequest):
            advance(bridge.store, bridge.settings, run["root"], by_hand.resume)
    return _print(bridge, options, run_id)


_STEP = option(
    "step",
    metavar="STEP",
    help="Which: node-3, @label, or node-0/node-1 in a flow that it called.",
)
VERBS |= {
    "pause": Verb("Ask nothing more; what was asked goes on.", _act, (_RUN, AS_JSON)),
    "resume": Verb(
        "Go on with one that is paused, failed or cancelled, in an open session; "
        "`hostbridge run --resume` also waits for it, and serves it here.",
        _act,
        (_RUN, AS_JSON),
    ),
    "cancel": Verb(
        "End one, or give up one that has failed; removes its worktrees, except what "
        "is not merged.",
        _act,
        (_RUN, AS_JSON),
    ),
    "jump": Verb(
        "Go on from another step, by its number or its label; what follows it starts "
        "anew.",
        _act,
        (_RUN, _STEP, AS_JSON),
    ),
}


def _print(bridge: Bridge, options: Namespace, run_id: str) -> int:
    seen = view(bridge.store, run_id)
    if options.as_json:
        say_json(run_value(bridge, seen))
        return Exit.OK
    say(*run_lines(bridge, seen, screen_of(sys.stdout).width))
    if seen.run["status"] == "completed" and (kind := kind_of(seen)):
        from bridge.cli.running.validation_text import said_in

        say("", *said_in(bridge, kind, run_id))
    for checkpoint, node, _ in seen.checkpoints():
        complain(waits_for_you(bridge, checkpoint, node))
    for way in ways_out(seen.run):
        complain(way)
    return Exit.OK


def _free(bridge: Bridge, run_id: str) -> None:
    """Remove the worktrees of a run that was given up; say what stays, and why."""
    freed = free(bridge.store, run_id)
    for each in freed.removed:
        complain(f"removed the worktree {each.folder} and its branch {each.branch}")
    for each in freed.kept:
        complain(f"kept: {each.holds}. What to do: {'; '.join(each.ways)}")
