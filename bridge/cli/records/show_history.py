"""What happened to a request, line by line: its events, its tool calls, its run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridge.cli.common.output import span
from bridge.cli.screen.screen import Line, Style, Styled, wrapped
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from bridge.api.history import Story
    from bridge.protocol.request import Request

_CHARS = 200
_INDENT = "    "
_NAMED = frozenset({"at", "requestId", "event", "turn"})
# Events of the journal as a person says them; those that are not here are shown as
# they are, with their facts.
_SAID = {
    "submitted": "asked by {by}",
    "claimed": "taken by {session} (pid {pid})",
    "launched": "the agent was started",
    "offered again": "offered again",
    "corrected": "the agent was told to correct its answer",
    "waiting again": "given back, waits again",
    "evidence": "answer rejected ({source}): {reason}",
    "completed": "answered ({source})",
    "failed": "failed: {code} ({source})",
    "timeout": "the deadline passed",
    "cancelled": "cancelled",
    "rule": "{why}",
    "usage": "its end told what it took",
    "refused": "refused: {call}: {why}",
    "asks": "the agent asks question {question}",
    "replied": "replied to question {question} ({by})",
    "reply refused": "what lay there is no reply to question {question}: {why}",
}
_OUTCOMES: dict[bool | None, tuple[str, Style]] = {
    None: ("running", "yellow"),
    True: ("ok", "green"),
    False: ("failed", "red"),
}


class _Facts(dict[str, Any]):
    """The facts of an event; one that is not there is a question mark."""

    def __missing__(self, key: str) -> str:
        return "?"


def history_lines(story: Story, width: int | None, *, full: bool) -> Iterator[Line]:
    """Each event with its time, and how long after the first it was."""
    times = [at for e in story.history if isinstance(at := e.get("at"), int)]
    for event in story.history:
        at = event.get("at")
        later = _later(at - times[0]) if isinstance(at, int) else ""
        head = f"{clock(at, exact=full)}  {later:>8}  "
        yield from _entry(head, _said(event), width, full=full)


def try_lines(request: Request, width: int | None, *, full: bool) -> Iterator[Line]:
    """The tries before this one: when each ended, and why."""
    for each in request.failures:
        head = f"{clock(each.at, exact=full)}  try {each.attempt}  "
        yield from _entry(head, f"{each.code}: {each.message}", width, full=full)


def _said(event: dict[str, Any]) -> str:
    kind = str(event.get("event"))
    if kind == "waiting again" and "code" in event:
        later = f" from {clock(event['notBefore'])}" if "notBefore" in event else ""
        return f"failed: {event['code']}; to be tried again{later}"
    words = _SAID.get(kind)
    return _with_facts(event) if words is None else words.format_map(_Facts(event))


def _with_facts(event: dict[str, Any]) -> str:
    facts = {k: v for k, v in event.items() if k not in _NAMED and v not in (None, "")}
    words = " ".join(f"{name}={value}" for name, value in facts.items())
    turn = f"{event['turn']}. " if "turn" in event else ""
    return f"{turn}{event.get('event')} {words}"


def _later(ms: int) -> str:
    if ms <= 0:
        return ""
    return f"+{ms / 1000:.1f} s" if ms < 60_000 else f"+{span(ms / 1000)}"  # noqa: PLR2004 - a minute


def run_lines(story: Story, width: int | None, *, full: bool) -> Iterator[Line]:
    """The turns of a run of our own."""
    for event in story.turns:
        head = f"{clock(event.get('at'))} "
        yield from _entry(head, _with_facts(event), width, full=full)


def call_lines(story: Story, width: int | None, *, full: bool) -> Iterator[Line]:
    """The tool calls that were seen."""
    for call in story.calls:
        word, style = _OUTCOMES[call.ok]
        if call.ok is None and story.response is not None:
            word = "no end"
        words = f"{call.tool} {call.command or ''}"
        first, *others = _entry(f"{word:<8}", words, width, full=full)
        yield _INDENT, Styled(word, style), first[len(_INDENT + word) :]
        yield from others


def kept_lines(story: Story, width: int | None, *, full: bool) -> Iterator[Line]:
    """Answers that were rejected, with the reason."""
    for kept in story.evidence:
        why = f"{kept.get('source')}: {kept.get('reason')}"
        yield from _entry("", why, width, full=full)
        words = str(kept.get("rawOutput") or "")
        yield from wrapped(
            words if full else one_line(words, _CHARS), width, _INDENT * 2
        )


def _entry(head: str, text: str, width: int | None, *, full: bool) -> Iterator[str]:
    """One entry of a list, cut short; if `full`, with all of its lines.

    What goes on below is moved in further: it cannot pose as the next entry.
    """
    text = text.rstrip() if full else one_line(text, _CHARS)
    first, *others = text.splitlines() or [""]
    blanks = " " * len(_INDENT + head)
    begin, *more = wrapped(first, width, blanks)
    yield _INDENT + head + begin[len(blanks) :]
    yield from more
    for line in others:
        yield from wrapped(line, width, _INDENT * 2)


def clock(at_ms: object, *, exact: bool = False) -> str:
    """The time of day, here; with milliseconds if `exact`."""
    try:
        moment = datetime.fromtimestamp(int(str(at_ms)) / 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return "?"
    return moment.strftime("%H:%M:%S.%f")[:-3] if exact else f"{moment:%H:%M:%S}"
