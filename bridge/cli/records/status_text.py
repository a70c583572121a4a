"""The overview of a project as a screen: three tables, each line with a whole id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bridge.cli.common.output import ago, span
from bridge.cli.screen.screen import Line, Style, Styled, wrapped
from bridge.cli.screen.table import Column, table
from bridge.protocol.ids import is_id

if TYPE_CHECKING:
    from bridge.api.live_requests import LiveRequest
    from bridge.api.project_status import EndedRequest, OpenSession, Overview
    from bridge.api.runs_now import LiveRun

SESSIONS = (
    Column("SESSION"),
    Column("STATE", least=4),
    Column("AGENTS"),
    Column("PID", spare=1),
)
_LIVE = (
    Column("REQUEST"),
    Column("STAGE", least=15),
    Column("ASKED", spare=2),
    Column("LEFT", spare=4),
    Column("AGENT", least=10, spare=3),
    Column("BY", least=10, spare=5),
    Column("PROMPT", least=12, spare=1),
)
_RUNS = (
    Column("RUN"),
    Column("STEPS", spare=1),
    Column("NAME", least=8),
    Column("WAITS FOR", least=12),
)
_ENDED = (
    Column("REQUEST"),
    Column("RESULT", least=15),
    Column("ENDED", spare=2),
    Column("TOOK", spare=4),
    Column("AGENT", least=10, spare=3),
    Column("PROMPT", least=12, spare=1),
)
_SHOWN_WORKTREES = 3
_MIB = 1024 * 1024
_COLOURS: dict[str, Style] = {
    "running": "green",
    "completed": "green",
    "offered": "cyan",
    "waiting": "cyan",
    "paused": "yellow",
    "asking": "yellow",
}


def overview_lines(
    seen: Overview, width: int | None, *, all_budgets: bool = False
) -> list[Line]:
    """Sessions, requests, and what ended last."""
    return list(_lines(seen, width, all_budgets=all_budgets))


def _lines(seen: Overview, width: int | None, *, all_budgets: bool) -> Iterator[Line]:
    yield Styled(seen.project, "bold")
    yield from off_lines(seen, width)
    yield ""
    if seen.sessions:
        yield from table(SESSIONS, map(session_row, seen.sessions), width)
        yield from _used(seen, width, all_budgets=all_budgets)
    else:
        text = "no session is open (`claude` opens one, `hostbridge install` before it)"
        yield from wrapped(seen.dropped or text, width)
    yield ""
    yield from _waiting(seen, width)
    if seen.runs:
        yield ""
        yield from table(_RUNS, map(_run, seen.runs), width)
        for way in (way for run in seen.runs for way in run.ways):
            yield from wrapped(f"waits for you: {way}", width, whole_words=True)
    if seen.worktrees:
        yield ""
        yield from _worktrees(seen, width)
    if seen.tasks is not None:
        yield ""
        yield from task_line(seen, width)
    yield ""
    if seen.last:
        yield from table(_ENDED, map(ended_row, seen.last), width)
    if seen.exists:
        yield f"{seen.ended:,} ended in all{_cleaned(seen)}"
    else:
        text = f"nothing was ever asked here: there is no {seen.state}"
        yield from wrapped(text, width, whole_words=True)


def _cleaned(seen: Overview) -> str:
    if seen.cleaned is None:
        return ""
    when, count, size, _ = seen.cleaned
    return (
        f"; cleaned up {ago(when)}: {count:,} requests, {size / _MIB:.1f} MiB "
        "(keep_days, keep_mib)"
    )


def _worktrees(seen: Overview, width: int | None) -> Iterator[Line]:
    """What runs have left behind, and what becomes of it."""
    for each in seen.worktrees[:_SHOWN_WORKTREES]:
        how = each.status or "no longer on record"
        text = (
            f"worktree of a run that has ended ({how}): {each.folder}, branch "
            f"{each.branch}; `{each.ways[0]}` removes it, unless something in it is "
            "not merged"
        )
        yield from wrapped(text, width, whole_words=True)
    if (more := len(seen.worktrees) - _SHOWN_WORKTREES) > 0:
        yield f"and {more:,} more worktrees of runs that have ended"


def off_lines(seen: Overview, width: int | None) -> Iterator[Line]:
    """Whether it is off, and what turns it on."""
    if seen.is_off:
        since = span(seen.off_s or 0)
        text = f"off for {since}, by `hostbridge off`; `hostbridge on` turns it on"
        yield from wrapped(Styled(text, "yellow"), width)
    if seen.is_off_here:
        yield Styled("off in this shell: BRIDGE_OFF is set", "yellow")


def task_line(seen: Overview, width: int | None) -> Iterator[Line]:
    """How many tasks there are, by status; nothing where there were never any."""
    if seen.tasks is None:
        return
    *counts, why = seen.tasks
    if why is not None:
        text = f"the tasks cannot be read: {why}"
        yield from wrapped(Styled(text, "yellow"), width, whole_words=True)
        return
    names = (name.replace("_", " ") for name in seen.tasks._fields)
    told = (f"{n:,} {name}" for n, name in zip(counts, names, strict=False) if n)
    yield from wrapped(f"tasks: {', '.join(told) or 'none'} (hostbridge task)", width)


def _waiting(seen: Overview, width: int | None) -> Iterator[Line]:
    """What waits or runs."""
    if seen.requests:
        yield from table(_LIVE, map(_request, seen.requests), width)
        yield from _held_back(seen, width)
    elif not seen.unreadable:
        yield "nothing waits or runs"
    yield from unreadable_lines(seen, width)
    more = seen.claimed + seen.waiting - len(seen.requests) - len(seen.unreadable)
    if more > 0:
        yield f"and {more:,} more wait; {seen.waiting:,} in all"


def _held_back(seen: Overview, width: int | None) -> Iterator[Line]:
    """The limits that requests wait for, and what helps now."""
    limits = {r.held_back.why: r.held_back for r in seen.requests if r.held_back}
    for why, limit in limits.items():
        text = f"held back: {why}; more now: {limit.cure}"
        yield from wrapped(Styled(text, "yellow"), width, whole_words=True)


def unreadable_lines(seen: Overview, width: int | None) -> Iterator[Line]:
    """What waits, and cannot be read."""
    for name in seen.unreadable:
        yield from wrapped(f"{name}  {_unreadable(name)}", width, whole_words=True)


def _unreadable(name: str) -> str:
    """How to learn why; no command is shown for a name that the shell could run."""
    if is_id(name):
        return f"cannot be read: hostbridge show {name}"
    return "is no id of a request; the file is in requests/"


def session_row(session: OpenSession) -> Sequence[str]:
    """One open session: id, state, busy agents, process."""
    is_seen = session.seen == "alive"
    notes = (
        "open" if is_seen else "not visible from here",
        "" if session.off_s is None else f"off for {span(session.off_s)}",
        "" if session.wakes else "not woken while idle",
        *(
            f"may start no agent now ({use.key})"
            for use in session.budgets
            if use.used >= use.most
        ),
    )
    return (
        session.session_id,
        ", ".join(filter(None, notes)),
        f"{session.running} of {session.slots}",
        str(session.pid),
    )


def _used(seen: Overview, width: int | None, *, all_budgets: bool) -> Iterator[Line]:
    """The budgets that are nearly used up, or all."""
    for session in seen.sessions:
        for use in session.budgets:
            if all_budgets or (use.is_near and use.used < use.most):
                text = (
                    f"session {session.session_id} has used {use.percent} % of "
                    f"{use.key} ({use.used:,} of {use.most:,})"
                )
                line = Styled(text, "yellow") if use.is_near else text
                yield from wrapped(line, width, whole_words=True)


def request_stage(request: LiveRequest, *more: str) -> Styled:
    """How far a request is, with what else is to be said of that."""
    notes = list(more)
    if request.is_abandoned:
        notes.append("its process is gone")
    waits = request.waits
    is_told = waits is not None and waits.kind in ("pause", "reply")
    pause = f": {waits.what}" if waits and is_told else ""
    more_words = f" ({', '.join(notes)})" if notes else ""
    return _status(request.stage.words, pause + more_words)


def _request(request: LiveRequest) -> Sequence[str]:
    usual = ("normal", "host")
    notes = [n for n in (request.priority, request.route) if n not in usual]
    if request.held_back and request.held_back.limit == "fan_out":
        notes.append("held")
    if request.context:
        notes.append(f"context: {request.context}")
    return (
        request.request_id,
        request_stage(request, *notes),
        ago(request.age_s),
        span(request.left_s) if request.left_s > 0 else "overdue",
        request.agent,
        request.requester,
        request.excerpt,
    )


def _run(run: LiveRun) -> Sequence[str]:
    return run.run, f"{run.steps_ended} of {run.steps}", run.flow, run.waits_for


def ended_row(request: EndedRequest) -> tuple[str, str, str, str, str, str]:
    """One that has ended: id, result, when, how long it took, agent, prompt."""
    is_told = request.code in (None, request.status)
    return (
        request.request_id,
        _status(request.status, "" if is_told else f": {request.code}"),
        ago(request.ago_s),
        f"{request.duration_s:.1f} s",
        request.agent,
        request.excerpt,
    )


def _status(word: str, *more: str) -> Styled:
    return Styled(word + "".join(more), _COLOURS.get(word, "red"))
