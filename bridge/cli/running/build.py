"""Have something built, looked at by validators, and mended until they approve.

The builder works in the project, or with --worktree in a git worktree on a branch of
its own. What validators find goes back to it, for three rounds by default; then it is
escalated: a person is asked (human), an agent advises for one more round and then a
person is asked (architect), what is left becomes a task (coordinator), or it ends
(none). A validator that could not decide goes to the person at once. What was not
committed before and is not touched is not looked at.

`hostbridge reply RUN` answers: yes approves, no ends it, other words are advice for
one more round. Ctrl-C pauses it, and `hostbridge run --resume RUN` goes on with it, as
after a kill.

Exit codes: 0 approved; 1 rejected, or the run failed; 8 needs review; 2 called wrongly,
or approved and --sarif could not be written; 4 nobody could take it; 5 its time was
over; 6 begun, cannot wait here; 130 interrupted.

For example:
  hostbridge build "Orders can be exported as CSV"
  hostbridge build "Fix #12" --rounds 2 --worktree
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.common.inputs import read_words
from bridge.cli.common.options import AS_JSON, NO_WAIT_QUOTA, option
from bridge.cli.common.verbs import given_in
from bridge.cli.running.run_options import ARGUMENTS, BUDGETS, TIMES, option_for
from bridge.cli.running.run_shown import shown
from bridge.cli.running.validate import SARIF, WHO_LOOKS, named, write_sarif
from bridge.cli.running.validation_text import end_of_build

_BUILDER = "Who builds it"
OPTIONS = (
    option(
        "task", metavar="TASK|-", help="What is to be built; - reads it from stdin."
    ),
    option_for("build", "agent", _BUILDER),
    option_for("build", "model", _BUILDER),
    option_for("build", "in_worktree", _BUILDER),
    *WHO_LOOKS,
    option_for("build", "rounds"),
    option_for("build", "escalate_to"),
    *TIMES,
    *BUDGETS,
    NO_WAIT_QUOTA,
    SARIF,
    AS_JSON,
)


def command(options: Namespace) -> int:
    """Build, wait, print; returns the exit code."""
    bridge = Bridge.open()
    task = options.task
    if task == "-":
        task = read_words(Path("-"), "what is to be built")
    given = given_in(options, ARGUMENTS["build"]) | {"validators": named(options)}
    done = shown(
        bridge,
        lambda on_change: bridge.build_and_validate(task, on_change=on_change, **given),
        as_json=options.as_json,
    )
    code = end_of_build(bridge, done, as_json=options.as_json)
    if options.sarif and done.rounds:
        return write_sarif(options.sarif, done.rounds[-1], code)
    return code
