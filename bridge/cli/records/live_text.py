"""The overview as a screen that is looked at for hours: as high and wide as it is.

What needs a person stands on top, then the sessions with their budgets, what runs and
where, what waits and why, the runs of flows with their open steps, and what ended last.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridge.cli.common.output import ago, counted, span
from bridge.cli.records.status_text import (
    SESSIONS,
    ended_row,
    off_lines,
    request_stage,
    session_row,
    task_line,
    unreadable_lines,
)
from bridge.cli.screen.screen import Line, Style, Styled, cells, wrapped
from bridge.cli.screen.table import Column, table

if TYPE_CHECKING:
    from bridge.api.live_requests import LiveRequest
    from bridge.api.project_status import OpenSession, Overview
    from bridge.api.runs_now import LiveRun
    from bridge.bound.budgets import Use


_RUNNING = (
    Column("RUNNING"),
    Column("NOW", least=28),
    Column("SINCE", spare=1),
    Column("LEFT", spare=5),
    Column("WHERE", least=16, spare=2),
    Column("AGENT", least=8, spare=3),
    Column("MODEL", spare=6),
    Column("PROMPT", least=10, spare=4),
)
_WAITING = (
    Column("WAITING"),
    Column("FOR", least=28),
    Column("ASKED", spare=1),
    Column("LEFT", spare=3),
    Column("AGENT", least=8, spare=4),
    Column("BY", least=10, spare=6),
    Column("PROMPT", least=10, spare=5),
)
_RUNS = (
    Column("RUN"),
    Column("STATE", least=12),
    Column("SINCE", spare=1),
    Column("WHAT", least=10, spare=2),
)
_ENDED = (
    Column("ENDED"),
    Column("RESULT", least=12),
    Column("WHEN", spare=2),
    Column("TOOK", spare=3),
    Column("TOKENS", spare=4),
    Column("AGENT", least=8, spare=5),
    Column("PROMPT", least=10, spare=1),
)
_BAR = 8
_NEEDS: dict[str, Style] = {
    "turn": "cyan",
    "pause": "cyan",
    "process": "cyan",
    "slots": "cyan",
}


def live_lines(seen: Overview, width: int, height: int) -> list[Line]:
    """The whole screen; no line is wider, but for an id that is."""
    return fitted([*_blocks(seen, width)], height)


def _blocks(seen: Overview, width: int) -> Iterator[Block]:
    project = wrapped(Styled(seen.project, "bold"), width)
    summary = wrapped(_summary(seen), width)
    yield Block(head=[*project, *summary, *off_lines(seen, width)])
    yield Block(rows=[*_for_you(seen, width)])
    yield _sessions(seen, width)
    yield _running(seen, width)
    yield _waiting(seen, width)
    yield _runs(seen, width)
    yield Block(head=[*task_line(seen, width)], rank=5)
    yield _ended(seen, width)


def _summary(seen: Overview) -> str:
    """What there is, in a line: all that is left of it on the smallest screen."""
    counts = {
        "at work": seen.claimed, "waiting": seen.waiting, "ended": seen.ended,
    }  # fmt: skip
    words = [counted(len(seen.sessions), "session")]
    words += [f"{number:,} {what}" for what, number in counts.items()]
    words += [counted(len(seen.runs), "run")] if seen.runs else []
    return ", ".join(words)


def _for_you(seen: Overview, width: int) -> Iterator[Line]:
    """What only the person who looks can do."""
    ways = [way for run in seen.runs for way in run.ways]
    cures = {
        waits.cure: waits.what
        for each in seen.requests
        if (waits := each.waits) and waits.kind not in _NEEDS and waits.cure
    }
    for session in seen.sessions:
        for use in session.budgets:
            if use.used >= use.most:
                used = f"{use.key} ({use.used:,} of {use.most:,})"
                text = f"used up: {used} of session {session.session_id}"
                yield from wrapped(Styled(text, "red"), width, below="    ")
    for way in ways:
        yield from _moved_in(f"waits for you: {way}", width)
    for cure, what in cures.items():
        yield from _moved_in(f"to free what waits for {what}: {cure}", width)


def _moved_in(text: str, width: int) -> Iterator[Line]:
    line = Styled(text, "yellow")
    return wrapped(line, width, below="    ", whole_words=True)


def _sessions(seen: Overview, width: int) -> Block:
    if not seen.sessions:
        text = "no session is open (`claude` opens one, `hostbridge install` before it)"
        return Block(head=[*wrapped(text, width)], rank=3)
    head, *lines = table(SESSIONS, map(session_row, seen.sessions), width)
    rows: list[Line] = []
    for session, line in zip(seen.sessions, lines, strict=True):
        rows += [line, *_budgets(session, width)]
    return Block([head], rows, rank=3)


def _budgets(session: OpenSession, width: int) -> Iterator[Line]:
    """Each budget as a bar; the fullest first, side by side as far as they fit."""
    pieces: list[str] = []
    for use in sorted(session.budgets, key=lambda use: -use.percent):
        piece = _meter(use)
        if pieces and sum(map(cells, pieces)) + 2 + cells(piece) > width:
            yield tuple(pieces)
            pieces = []
        pieces += ["  ", piece]
    if pieces:
        yield tuple(pieces)


def _meter(use: Use) -> Styled:
    what, _, window = use.key.partition("_per_")
    full = min(_BAR, use.percent * _BAR // 100)
    bar = "█" * full + "░" * (_BAR - full)
    is_spent = use.used >= use.most
    share = "SPENT" if is_spent else f"{use.percent} %"
    style: Style = "red" if is_spent else "yellow" if use.is_near else "dim"
    return Styled(f"{f'{what}/{window}':<15} {bar} {share:<5}", style)


def _running(seen: Overview, width: int) -> Block:
    held = [each for each in seen.requests if each.waits is None]
    if not held:
        return Block()
    head, *rows = table(_RUNNING, map(_running_row, held), width)
    return Block([head], rows, rank=1)


def _running_row(each: LiveRequest) -> Sequence[str]:
    left = span(each.left_s) if each.left_s > 0 else "overdue"
    if each.route == "host":
        where = f"session {each.session}"
    else:
        where = f"{each.route}, pid {each.pid}"
    return (
        each.request_id,
        _now(each),
        span(each.held_s or 0),
        left,
        where,
        each.agent,
        each.model or "",
        each.excerpt,
    )


def _now(each: LiveRequest) -> Styled:
    """The stage, and where the agent is, as far as that is known."""
    turn = f"turn {each.turn}" if each.turn is not None else ""
    calls = counted(each.calls, "call") if each.calls else ""
    at = ", ".join(filter(None, (each.tool or "", turn, calls)))
    stage = request_stage(each)
    return Styled(f"{stage}: {at}" if at else stage, stage.style)


def _waiting(seen: Overview, width: int) -> Block:
    waiting = [each for each in seen.requests if each.waits is not None]
    odd = [*unreadable_lines(seen, width)]
    unread = seen.waiting - len(waiting) - len(seen.unreadable)
    if not waiting and not odd and unread <= 0:
        is_busy = len(seen.requests) > 0
        return Block() if is_busy else Block(head=["nothing waits or runs"], rank=2)
    lines = [*table(_WAITING, map(_waiting_row, waiting), width)] if waiting else []
    return Block(lines[:1], lines[1:], odd, max(0, unread), rank=2)


def _waiting_row(each: LiveRequest) -> Sequence[str]:
    waits = each.waits
    assert waits is not None, "it waits"  # noqa: S101
    what = waits.what
    if waits.for_s is not None and waits.limit is not None:
        what = f"{waits.limit.limit}: {span(waits.for_s)} more"
    if each.priority != "normal":
        what += f" ({each.priority})"
    return (
        each.request_id,
        Styled(what, _NEEDS.get(waits.kind, "yellow")),
        ago(each.age_s),
        span(each.left_s) if each.left_s > 0 else "overdue",
        each.agent,
        each.requester,
        each.excerpt,
    )


def _runs(seen: Overview, width: int) -> Block:
    # What waits for a person comes first: the end of the list may be cut.
    runs = sorted(seen.runs, key=lambda run: not run.ways)
    rows = [row for run in runs for row in _run_rows(run)]
    if not rows:
        return Block()
    head, *lines = table(_RUNS, rows, width)
    return Block([head], lines, rank=1)


def _run_rows(run: LiveRun) -> Iterator[Sequence[str]]:
    state = f"{run.status}, {run.steps_ended} of {run.steps}"
    colour: Style = "cyan" if run.status == "running" else "yellow"
    name = run.flow or "a flow"
    if not run.open:
        name = f"{name}: {run.waits_for}" if run.waits_for else name
    yield run.run, Styled(state, colour), span(run.age_s), name
    for step in run.open:
        for_s = "" if step.for_s is None else span(step.for_s)
        yield f"└ {step.node}", step.says, for_s, step.what


def _ended(seen: Overview, width: int) -> Block:
    if not seen.exists:
        text = f"nothing was ever asked here: there is no {seen.state}"
        return Block(head=[*wrapped(text, width, whole_words=True)], rank=4)
    foot = [f"{seen.ended:,} ended in all"]
    if not seen.last:
        return Block(foot=foot, rank=4)
    rows = []
    for each in seen.last:
        name, result, when, took, agent, prompt = ended_row(each)
        tokens = "" if each.tokens is None else f"{each.tokens:,}"
        rows.append((name, result, when, took, tokens, agent, prompt))
    head, *lines = table(_ENDED, rows, width)
    return Block([head], lines, foot, rank=4)


class Block(NamedTuple):
    """Lines that belong together.

    Attributes:
        head: what stands above.
        rows: a list, of which the end may be left out.
        foot: what stands below.
        unread: how many more rows there are that nobody has read.
        rank: how early the whole block is left out; 0 is never. The list of such a one
            is cut only when all others have been.
    """

    head: Sequence[Line] = ()
    rows: Sequence[Line] = ()
    foot: Sequence[Line] = ()
    unread: int = 0
    rank: int = 0

    def lines(self, shown: int) -> list[Line]:
        """The block with the first rows of its list."""
        left = len(self.rows) - shown + self.unread
        more = [Styled(f"and {left:,} more", "dim")] if left else []
        return [*self.head, *self.rows[:shown], *more, *self.foot]

    def height(self, shown: int) -> int:
        """How many lines that takes."""
        is_cut = len(self.rows) > shown or self.unread > 0
        return len(self.head) + shown + is_cut + len(self.foot)


def fitted(blocks: Sequence[Block], height: int) -> list[Line]:
    """The lines of all blocks, at most so many; a blank line between two if it fits.

    What has no room is cut from the longest list first, which then says how many are
    left out; a block that comes last in importance goes as a whole if that is not
    enough.
    """
    left = [block for block in blocks if block.height(len(block.rows))]
    shown = [len(block.rows) for block in left]
    while _height(left, shown) > height:
        # The first row that goes makes place for the line that says so.
        loose = [at for at, n in enumerate(shown) if n > 1 and left[at].rank]
        if loose:
            shown[max(loose, key=lambda at: (shown[at], left[at].rank))] -= 1
            continue
        gone = max(range(len(left)), key=lambda at: left[at].rank)
        if left[gone].rank:
            del left[gone], shown[gone]
        elif max(shown) > 1:
            shown[shown.index(max(shown))] -= 1
        else:
            break
    gaps = _height(left, shown) + len(left) - 1 <= height
    return [*_joined(left, shown, gaps=gaps)][:height]


def _height(blocks: Sequence[Block], shown: Sequence[int]) -> int:
    return sum(b.height(n) for b, n in zip(blocks, shown, strict=True))


def _joined(
    blocks: Sequence[Block], shown: Sequence[int], *, gaps: bool
) -> Iterator[Line]:
    for at, (block, count) in enumerate(zip(blocks, shown, strict=True)):
        if at and gaps:
            yield ""
        yield from block.lines(count)
