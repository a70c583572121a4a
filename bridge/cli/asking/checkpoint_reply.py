"""A person's reply to a checkpoint of a run, or to what one of its agents asks."""

from __future__ import annotations

import sys
import termios
from functools import partial
from typing import TYPE_CHECKING

from bridge.cli.asking.question_prompt import may_ask
from bridge.cli.common.output import complain, indented, tell, visible
from bridge.cli.running.run_text import how_to_say, stands, ways_out
from bridge.cli.running.which_run import step_of
from bridge.cli.screen.terminal import typed_on
from bridge.config import language
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import RunView, question, view
from bridge.errors import InvalidRequest, UnclearAnswer

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge
    from bridge.engine.run import Run


def is_run(bridge: Bridge, run: str) -> bool:
    """Whether a run of a flow has this id."""
    return (bridge.store.place.state / "runs" / run / "run.json").exists()


def reply_to_run(
    bridge: Bridge, run: str, step: str, answer: str | None, *, by: str = "reply"
) -> None:
    """Answer a checkpoint of a run, or of a flow that it has called; say how it stands.

    The first answer counts. Without a `step` the only checkpoint that waits is meant.

    Raises:
        InvalidRequest: none waits for an answer, or several do and none is named.
        UnclearAnswer: it is neither a yes nor a no, and nothing else was asked for.
    """
    meant, node = _checkpoint(view(bridge.store, run), step)
    act = partial(by_hand.say, node=node, text=answer, by=by, language=language())
    advance(bridge.store, bridge.settings, meant, act)
    now = view(bridge.store, run).run
    goes_on = now["status"] == "running"
    said = visible(answer or "yes")
    tell(f"run {run} goes on with: {said}" if goes_on else f"answered: {said}")
    for line in () if goes_on else (stands(now), *ways_out(now)):
        complain(line)


def ask_and_reply(bridge: Bridge, run: str, step: str) -> None:
    """As `reply_to_run`, with what a person types who is shown what is asked.

    Raises:
        InvalidRequest: also if nobody can be asked here.
    """
    seen = view(bridge.store, run)
    meant, node = _checkpoint(seen, step)
    if node is None or not may_ask(bridge):
        # Says what the run stands at, or that no words are no answer.
        reply_to_run(bridge, run, step, "")
        return
    said = visible(question(bridge.store, meant, node), kept="\n")
    sys.stderr.write(f"\n{indented(said)}\n")
    stdin = sys.stdin.fileno()
    termios.tcflush(stdin, termios.TCIFLUSH)
    while True:
        sys.stderr.write(f"Your answer ({how_to_say(seen, meant, node)}): ")
        sys.stderr.flush()
        try:
            line = typed_on(stdin)
            if line:
                reply_to_run(bridge, run, step, line)
                return
        except (UnclearAnswer, ValueError) as exc:
            complain(f"not an answer: {visible(str(exc))}")


def _checkpoint(seen: RunView, step: str) -> tuple[str, str | None]:
    """The run and the node that are meant; no node if none waits for an answer.

    Raises:
        InvalidRequest: several wait, and none is named; or it was answered before.
    """
    if step:
        return step_of(seen, step)
    waiting = [*seen.checkpoints()]
    if len(waiting) > 1:
        named = ", ".join(f"{each}/{at}" for each, at, _ in waiting)
        raise InvalidRequest(f"run {seen.run['run']}: which checkpoint? {named}")
    if not waiting:
        _refuse_late(seen)
        return seen.run["run"], None
    return waiting[0][:2]


def _refuse_late(seen: RunView) -> None:
    """Say so if the last checkpoint of a run, or of what it called, was answered."""
    answered = [run for run in seen.runs() if run["said"]]
    if answered:
        by_hand.refuse_late(max(answered, key=_last_said_ms))


def _last_said_ms(run: Run) -> int:
    return max(said["at"] for said in run["said"].values())
