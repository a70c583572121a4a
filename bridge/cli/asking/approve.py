"""The older spelling of `hostbridge reply` for a yes: to held requests, and to runs.

`hostbridge approve RUN` agrees to the checkpoint that waits, `hostbridge approve RUN
ANSWER` answers it. `hostbridge approve ID...` and `--all` let requests go on that are
held. It goes in the next version.

For example:
  hostbridge status
  hostbridge approve --all
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.asking.checkpoint_reply import is_run, reply_to_run
from bridge.cli.asking.question_prompt import only_by_a_person
from bridge.cli.asking.reply import free
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import option, switch
from bridge.cli.common.which_request import which
from bridge.cli.running.which_run import which_run
from bridge.errors import InvalidRequest
from bridge.protocol.ids import check_id
from bridge.protocol.request import Request

USAGE = "ID...|--all|RUN [ANSWER]"
OPTIONS = (
    option(
        "ids",
        metavar="ID...|RUN [ANSWER]",
        nargs="*",
        completes="ids",
        help="Requests, by the ids that `status` shows; or the run of a flow, or "
        "RUN/STEP, and what you say: yes by default.",
    ),
    switch("--all", help="All that wait for a yes in this project."),
)


def command(options: Namespace) -> int:
    """Say yes, or what is answered; returns the exit code."""
    bridge = Bridge.open()
    if bool(options.ids) == options.all:
        raise InvalidRequest(
            "approve needs an ID, a RUN, or --all; see `hostbridge questions`"
        )
    only_by_a_person(bridge)
    run, _, step = next(iter(options.ids), "").partition("/")
    if run and is_run(bridge, run := which_run(bridge, run)):
        answer = " ".join(options.ids[1:]) if options.ids[1:] else None
        reply_to_run(bridge, run, step, answer)
        return Exit.OK
    return free(bridge, _meant(bridge, options))


def _meant(bridge: Bridge, options: Namespace) -> list[Request]:
    """The requests that need a yes, of those that are meant.

    Raises:
        InvalidRequest: one that was named has ended.
    """
    if not bridge.store.exists():
        return []
    if options.all:
        return list(bridge.store.held_requests())
    meant = []
    for words in options.ids:
        request_id = check_id(which(bridge, words))
        request = bridge.store.find_unfinished(request_id)
        if request is None:
            raise InvalidRequest(f"request {request_id} does not wait or run here")
        if request.held is not None or (request.claim and not request.approved):
            meant.append(request)
    return meant
