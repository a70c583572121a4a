"""What a person does with a run: pause, go on, cancel, jump, answer. Pure.

Each changes a draft of the run; whoever holds the run's lock writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.engine.run_ids import LIVE, OUT, request_id
from bridge.errors import InvalidRequest, UnclearAnswer
from bridge.protocol.consent import HOW_TO_SAY, MORE_WORDS, Consent, consent_of
from bridge.protocol.record import printable
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridge.engine.draft import RunDraft
    from bridge.engine.run import LinkedNode, Policy, Run

_MAX_SHOWN = 60
# Where a person has answered.
BY: Mapping[str, str] = {
    "reply": "by `hostbridge reply`",
    "approve": "by `hostbridge approve`",
    "run": "in the terminal of `hostbridge run`",
    "question": "in a Claude Code session",
}


def pause(made: RunDraft) -> None:
    """Ask nobody any more; what was asked goes on."""
    _check(made, "running")
    made.halt("paused", "by its user")


def cancel(made: RunDraft) -> None:
    """End it; what was asked is cancelled. One that has failed is given up."""
    _check(made, *LIVE, "failed")
    made.halt("cancelled", "by its user")


def resume(
    made: RunDraft,
    *,
    agents: int | None = None,
    tokens: int | None = None,
    until: int | None = None,
    policy: Policy | None = None,
) -> None:
    """Go on where it stopped: what failed or was cancelled is asked again.

    Where a `fail` has ended it, what that was decided by is read anew.

    `agents`, `tokens`, `until` and `policy` are new ones, None for those that it has.
    """
    run = made.run
    if run["parent"]:
        raise InvalidRequest(f"{run['run']} goes on with {run['root']}: resume that")
    _check(made, "paused", "failed", "cancelled")
    run |= {"agents": agents if agents is not None else run["agents"]}
    run |= {"tokens": tokens if tokens is not None else run["tokens"]}
    run |= {"until": until if until is not None else run["until"]}
    run |= {"policy": policy or run["policy"]}
    run["resumed"] += 1
    _go_on(made)


def go_on(made: RunDraft, *, resumed: int) -> None:
    """Go on in a called run whose caller was resumed."""
    run = made.run
    run["resumed"] = resumed
    if run["status"] == "completed":
        made.do("tell", run["run"], "")
    else:
        _go_on(made)


def _go_on(made: RunDraft) -> None:
    run = made.run
    made.goes_on = True
    run |= {"status": "running", "why": "", "out": []}
    if "done" in run:
        run["done"] = 0
    stopped = [n for n, each in made.known.items() if each.get("state") == "stopped"]
    for name, entry in [*made.known.items()]:
        if entry.get("state") in ("stopped", "cancelled"):
            again = entry.copy()
            again.pop("state")
            again.pop("why", None)
            again.pop("waits", None)
            made.known[name] = again
            # A jump that was used up may be taken as often again.
            at = made.nodes[name].get("last")
            jump = at["jump"] if at else name
            for back in made.nodes[jump].get("back", ()):
                run["loops"].pop(f"{jump}>{back['to']}", None)
            if made.nodes[name]["kind"] == "call" and "attempt" in again:
                # The run that it called goes on, and does not begin anew.
                again["state"] = "open"
                run["open"].append(name)
    for name in stopped:
        if anew := made.nodes[name].get("anew"):
            made.reset([*anew, name])
    for name in run["open"]:
        if made.nodes[name]["kind"] == "call":
            made.do("call", made.asked(name), name)
    made.touch(made.nodes)


def jump(made: RunDraft, node: str) -> None:
    """Go on from a node: what follows it starts anew, what only led to it is left."""
    if node not in made.nodes:
        raise InvalidRequest(f"run {made.run['run']} has no step {node!r}")
    run = made.run
    is_over = () if run["parent"] else ("completed",)
    _check(made, *LIVE, "failed", "cancelled", *is_over)
    if not run["parent"]:
        run["resumed"] += 1
    _go_on(made)
    made.reset(_reached(node, lambda name: (to for to, _ in made.nodes[name]["to"])))
    made.known[node] = {**made.known.get(node, {}), "forced": True}
    before = _reached(node, lambda name: made.nodes[name]["in"]) - {node}
    made.leave(name for name in made.nodes if name in before)


def _reached(node: str, nexts: Callable[[str], Iterable[str]]) -> set[str]:
    """A node, and all that one comes to from it."""
    found, left = {node}, [node]
    for each in left:
        new = {*nexts(each)} - found - {OUT}
        found |= new
        left += new
    return found


def unclear(text: str, node: str) -> UnclearAnswer:
    """The error that an answer to a checkpoint is neither a yes nor a no."""
    said = one_line(printable(text), _MAX_SHOWN)
    return UnclearAnswer(said, node, f"{HOW_TO_SAY}; {MORE_WORDS}")


def say(
    made: RunDraft,
    node: str | None,
    text: str | None,
    *,
    by: str,
    language: str = "",
    asked: str | None = None,
) -> None:
    """Answer a checkpoint, by default the only one; the first answer counts.

    It is meant for the visit whose id is `asked`, if that is given. Without a `text` it
    is agreed to; an agent that asks needs one. `language` is the person's.

    Raises:
        UnclearAnswer: it is neither yes nor no, and nothing else was asked for.
        InvalidRequest: no checkpoint waits for it.
    """
    run = made.run
    ids = {name: request_id(run, name) for name in checkpoints(made.nodes, run)}
    waiting = {name: id_ for name, id_ in ids.items() if id_ not in run["said"]}
    named = [
        name
        for name, id_ in waiting.items()
        if node in (None, name) and asked in (None, id_)
    ]
    if len(named) != 1 and (asked or not waiting):
        refuse_late(run, asked)
    _check(made, *LIVE)
    if asked and not named:
        raise InvalidRequest(f"run {run['run']} does not wait for it any more")
    if len(named) != 1:
        which = f"no checkpoint {node}" if node else "which checkpoint?"
        known = ", ".join(waiting) or "none"
        raise InvalidRequest(
            f"run {run['run']}: {which}; those that wait for an answer: {known}"
        )
    name = named[0]
    is_agents = "waits" in run["nodes"][name]
    if text is None and not is_agents:
        text = "yes"
    if text is None or not text.strip():
        whose = "an agent asks it" if is_agents else "no words are no yes"
        raise InvalidRequest(
            f"run {run['run']}: say something to {name}: {whose}",
            ways=(f"hostbridge reply {run['run']} ANSWER",),
        )
    consent = consent_of(text, language)
    if consent is Consent.UNCLEAR and not takes_words(made.nodes, run, name):
        raise unclear(text, name)
    run["said"] = {
        **run["said"],
        waiting[name]: {
            "text": printable(text),
            "agreed": consent is not Consent.NO,
            "plain": consent is Consent.YES,
            "at": run["at"],
            "by": by,
        },
    }


def refuse_late(run: Run, asked: str | None = None) -> None:
    """Say so if a checkpoint was answered before; by default the last of the run.

    Raises:
        InvalidRequest: it was; says where, and what.
    """
    last = next(reversed(run["said"]), "")
    first = run["said"].get(asked or last)
    if first is not None:
        raise InvalidRequest(
            f"run {run['run']}: this checkpoint was answered before, "
            f"{BY.get(first['by'], first['by'])}: {first['text']}"
        )


def checkpoints(nodes: Mapping[str, LinkedNode], run: Run) -> list[str]:
    """Those of the open nodes that wait for a person's answer."""
    known = run["nodes"]
    return [
        name
        for name in run["open"]
        if nodes[name]["kind"] == "approval" or "waits" in known[name]
    ]


def takes_words(nodes: Mapping[str, LinkedNode], run: Run, name: str) -> bool:
    """Whether a checkpoint asks for more than a yes or a no, as agents do."""
    return "waits" in run["nodes"][name] or nodes[name].get("takes") == "words"


def _check(made: RunDraft, *wanted: str) -> None:
    run = made.run
    if run["status"] not in wanted:
        why = f" ({run['why']})" if run["why"] else ""
        raise InvalidRequest(
            f"run {run['run']} is {run['status']}{why}", ways=_ways(run)
        )


def _ways(run: Run) -> tuple[str, ...]:
    """What can be done with a run as it stands."""
    from bridge.engine.view import resume_command  # hooks load this module

    if run["parent"]:
        return ()
    has_stopped = run["status"] in ("paused", "failed", "cancelled")
    way = f"go on where it stopped: {resume_command(run)}"
    return (way if has_stopped else f"see it: hostbridge runs show {run['run']}",)
