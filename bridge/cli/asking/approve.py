"""Say yes to requests that wait for you, and answer the checkpoints of flows.

A program, a rule or an agent that asks for more agents at once than `fan_out` allows
waits for your yes: its other requests are held. This shows them, and asks you on the
terminal. An ID may also be a running request, whose agent then may start more agents of
its own at once.

With the RUN of a flow it answers the checkpoint that waits: `hostbridge approve RUN`
agrees, and so does an ANSWER that says yes, whose words later steps read: "yes, but
smaller". Words after the yes begin with "but", "and" or a colon, and deny nothing.
`hostbridge approve RUN no` refuses. An ANSWER that is neither changes nothing. Where an
agent asks, it goes on with the ANSWER, whichever that is. Of several checkpoints
RUN/STEP names one. The first answer counts.

Refused inside a Claude Code session: its model must not say yes for its user.

For example:
  hostbridge status
  hostbridge approve --all
"""

from argparse import Namespace
from functools import partial

from bridge.api.bridge import Bridge
from bridge.bound.session_above import only_by_hand
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import option, switch
from bridge.cli.common.output import complain, counted, tell, visible
from bridge.cli.common.which_request import which
from bridge.cli.running.run_text import stands, ways_out
from bridge.cli.running.which_run import step_of, which_run
from bridge.cli.screen.terminal import confirm
from bridge.config import language
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.run import Run
from bridge.engine.view import RunView, view
from bridge.errors import InvalidRequest
from bridge.protocol.ids import check_id
from bridge.protocol.request import Request
from bridge.protocol.wording import one_line
from bridge.store.wakeups import wake_all

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
_SHOWN = 20
_EXCERPT_CHARS = 60


def command(options: Namespace) -> int:
    """Show, ask, free; returns the exit code."""
    bridge = Bridge.open()
    if bool(options.ids) == options.all:
        raise InvalidRequest(
            "approve needs an ID, a RUN, or --all; see `hostbridge status`"
        )
    if options.ids and (run := _run_of(bridge, options.ids[0])):
        return _answer(bridge, run, options.ids)
    waiting = _meant(bridge, options)
    if not waiting:
        tell("no request waits for a yes")
        return Exit.OK
    only_by_hand(bridge.settings, bridge.store, "hostbridge approve")
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


def _run_of(bridge: Bridge, words: str) -> str | None:
    """The run of a flow that is meant; None if none is."""
    run = which_run(bridge, words.partition("/")[0])
    return (
        run if (bridge.store.place.state / "runs" / run / "run.json").exists() else None
    )


def _answer(bridge: Bridge, run: str, words: list[str]) -> int:
    """Answer a checkpoint."""
    only_by_hand(bridge.settings, bridge.store, "hostbridge approve")
    answer = " ".join(words[1:]) if words[1:] else None
    node = None
    if step := words[0].partition("/")[2]:
        run, node = step_of(view(bridge.store, run), step)
    answer_checkpoint(bridge, run, node, answer)
    now = view(bridge.store, run).run
    if now["status"] == "running":
        tell(f"run {run} goes on with: {visible(answer or 'yes')}")
    else:
        tell(f"answered: {visible(answer or 'yes')}")
        for line in (stands(now), *ways_out(now)):
            complain(line)
    return Exit.OK


def answer_checkpoint(
    bridge: Bridge, run: str, node: str | None, answer: str | None
) -> None:
    """Answer a checkpoint of a run, or of a flow that it has called.

    Raises:
        InvalidRequest: none waits for an answer, or several do and none is named.
    """
    meant = run
    seen = view(bridge.store, run)
    waiting = [*seen.checkpoints()]
    if node is None and len(waiting) == 1:
        ((meant, node, _),) = waiting
    elif node is None and waiting:
        named = ", ".join(f"{each}/{at}" for each, at, _ in waiting)
        raise InvalidRequest(f"run {run}: which checkpoint? {named}")
    elif node is None:
        _refuse_late(seen)
    act = partial(
        by_hand.say, node=node, text=answer, by="approve", language=language()
    )
    advance(bridge.store, bridge.settings, meant, act)


def _refuse_late(seen: RunView) -> None:
    """Say so if the last checkpoint of a run, or of what it called, was answered."""
    answered = [run for run in seen.runs() if run["said"]]
    if answered:
        by_hand.refuse_late(max(answered, key=_last_said_ms))


def _last_said_ms(run: Run) -> int:
    return max(said["at"] for said in run["said"].values())


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


def _about(request: Request) -> str:
    who = request.requester or "a program"
    prompt = one_line(request.prompt, _EXCERPT_CHARS)
    return f"{request.request_id}  {request.agent_type}  by {who}: {prompt}"
