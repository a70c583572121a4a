"""The history of one request, as text.

Text from outside is indented: no line of a prompt or an answer can pose as ours.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridge.api.result import result_of
from bridge.cli.answer_text import answer_text
from bridge.cli.output import counted, indented, json_text, span
from bridge.host.output import one_line
from bridge.protocol.wording import seconds
from bridge.store.host_process import Liveness, liveness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.api.history import Story
    from bridge.protocol.claimed_commands import ToolCall
    from bridge.protocol.request import Claim, Request
    from bridge.protocol.response import Response

_LINES = 8
_CHARS = 1_000
_FACT_CHARS = 200
_NAMED = frozenset({"at", "requestId", "event", "turn"})
_OUTCOME = {None: "not seen to end", True: "ok", False: "failed"}


def story_text(story: Story, *, now_ms: int, full: bool = False) -> str:
    """The story in sections; long words are cut unless `full`."""
    return "\n".join(_sections(story, now_ms, full=full))


def _sections(story: Story, now_ms: int, *, full: bool) -> Iterator[str]:
    request, response = story.request, story.response
    yield _fact("request", story.request_id)
    yield _fact("status", _status(story))
    if story.problem is not None:
        yield from _titled("problem", [indented(story.problem)])
    if request is not None:
        is_over = response is not None
        yield from _asked(request, now_ms, is_over=is_over, full=full)
        yield from _matter(request, is_over=is_over, full=full)
        if request.claim is not None:
            yield from _held(request.claim, is_over=is_over)
    if full:
        for role, words in story.messages:
            title = f"sent as {role} ({counted(len(words), 'character')})"
            yield from _titled(one_line(title, _FACT_CHARS), [indented(words)])
    yield from _titled("history", [_event(event, full=full) for event in story.history])
    yield from _titled("tool calls", [_call(call, full=full) for call in story.calls])
    yield from _titled("run", [_event(event, full=full) for event in story.turns])
    kept = [_kept(evidence, full=full) for evidence in story.evidence]
    yield from _titled("kept as evidence", kept)
    if response is not None:
        yield from _answer(response, full=full)
    yield from _titled("files", [f"    {path}" for path in story.files])


def _status(story: Story) -> str:
    response = story.response
    if response is not None:
        return f"{story.status} after {response.duration / 1000:.1f} s"
    if story.problem is not None:
        return "there, but it cannot be read"
    if story.status is None:
        return "gone; only traces are left"
    stage = story.request.stage if story.request else story.status
    return f"{story.status}, {stage}" if stage != story.status else f"{stage}"


def _asked(
    request: Request, now_ms: int, *, is_over: bool, full: bool
) -> Iterator[str]:
    age = span((now_ms - request.asked_ms) / 1000)
    parent, route = request.parent_request_id, request.route
    facts = {
        "agent": request.agent_type + (f" ({request.model})" if request.model else ""),
        "asked by": f"{request.requester or 'a program'}, {age} ago",
        "for": f"route {route}" if route != "host" else None,
        "parent": f"{parent} (depth {request.depth})" if parent else None,
        "deadline": _deadline(request, now_ms, is_over=is_over),
        "task": request.task_id,
        "priority": request.priority if request.priority != "normal" else None,
        "only for": f"session {request.session}" if request.session else None,
        "key": request.dedup_key,
    }
    yield from (_fact(name, value) for name, value in facts.items() if value)
    for name in ("arguments", "variables"):
        if value := getattr(request, name):
            yield _fact(name, json_text(value), full=full)


def _matter(request: Request, *, is_over: bool, full: bool) -> Iterator[str]:
    """The prompt, and what else its agent gets."""
    yield from _titled(
        f"prompt ({counted(len(request.prompt), 'character')})",
        [_words(request.prompt, full=full)],
    )
    if request.definition is not None and request.claim is None and not is_over:
        spoken = request.definition.prompt
        title = f"with its definition ({counted(len(spoken), 'character')})"
        yield from _titled(title, [_words(spoken, full=full)])
    if request.node is not None:
        node = request.node
        text = [_words(node.text, full=full)]
        title = f"node {node.file}, line {node.line}, {node.type} {node.name}"
        yield from _titled(one_line(title, _FACT_CHARS), text)
    if request.answer_schema is not None:
        schema = json_text(request.answer_schema, pretty=True)
        yield from _titled("schema", [_words(schema, full=full)])


def _deadline(request: Request, now_ms: int, *, is_over: bool) -> str:
    left_s = (request.deadline_ms - now_ms) / 1000
    left = f"in {span(left_s)}" if left_s > 0 else f"passed {span(-left_s)} ago"
    allowed = f"{seconds(request.timeout / 1000)} after it was asked"
    return allowed if is_over else f"{allowed}: {left}"


def _held(claim: Claim, *, is_over: bool) -> Iterator[str]:
    is_gone = not is_over and liveness(claim.host) is Liveness.GONE
    pid = f"pid {claim.host.pid}" + (", which is gone" if is_gone else "")
    if claim.route != "host":
        who = f"a process of route {claim.route} ({pid}), {_clock(claim.at)}"
        yield _fact("served by", who)
        return
    yield _fact("session", f"{claim.session} ({pid})")
    offers = ", ".join(_clock(at) for at in claim.offers)
    yield _fact("offered", f"{counted(len(claim.offers), 'time')}: {offers}")
    if claim.agent_id:
        yield _fact("agent id", claim.agent_id)
    if claim.corrections:
        why = f" (last: {claim.last_failure})" if claim.last_failure else ""
        yield _fact("corrected", f"{counted(claim.corrections, 'time')}{why}")


def _answer(response: Response, *, full: bool) -> Iterator[str]:
    error = response.error
    verdict = f"{error.code}: {error.message}" if error else "valid"
    # A session does not say which of its models answered.
    model = response.model if response.route != "host" else None
    notes = ", ".join(filter(None, (model, "degraded" if response.degraded else None)))
    yield _fact("route", f"{response.route} ({notes})" if notes else response.route)
    if response.agent_id:
        yield _fact("agent id", response.agent_id)
    yield _fact("verdict", verdict, full=full)
    if response.raw_output:
        title = f"words ({counted(len(response.raw_output), 'character')})"
        yield from _titled(title, [_words(response.raw_output, full=full)])
    if response.parsed_output is not None:
        value = answer_text(result_of(response).parsed)
        yield from _titled("answer", [_words(value, full=full)])


def _fact(name: str, value: str, *, full: bool = False) -> str:
    return f"{name:<10}{one_line(value, len(value) if full else _FACT_CHARS)}"


def _titled(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from lines


def _event(event: dict[str, Any], *, full: bool) -> str:
    """One event of a request or of a run: when, in which turn, and its facts."""
    facts = {k: v for k, v in event.items() if k not in _NAMED and v not in (None, "")}
    words = " ".join(f"{name}={value}" for name, value in facts.items())
    turn = f"{event['turn']}. " if "turn" in event else ""
    at = event.get("at")
    when = _clock(at) if isinstance(at, int) else "?"
    line = f"{when} {turn}{event.get('event')} {words}"
    return _line(line, full=full)


def _call(call: ToolCall, *, full: bool) -> str:
    line = f"{_OUTCOME[call.ok]}: {call.tool} {call.command or ''}"
    return _line(line, full=full)


def _line(text: str, *, full: bool) -> str:
    """One entry of a list, cut to a line; if `full`, with its further lines below.

    Those are indented once more, so that none can pose as the next entry.
    """
    if not full:
        return indented(one_line(text, _FACT_CHARS))
    first, *others = text.rstrip().splitlines() or [""]
    return "\n".join([indented(first), *(indented(indented(o)) for o in others)])


def _kept(evidence: dict[str, Any], *, full: bool) -> str:
    why = _line(f"{evidence.get('source')}: {evidence.get('reason')}", full=full)
    words = _words(str(evidence.get("rawOutput") or ""), full=full)
    return "\n".join([why, *([indented(words)] if words else [])])


def _words(text: str, *, full: bool) -> str:
    """Words from outside, indented; the first few lines unless `full`."""
    if full:
        return indented(text)
    short = "\n".join(text[:_CHARS].splitlines()[:_LINES])
    cut = len(text.rstrip()) - len(short.rstrip())
    more = f"\n    … {counted(cut, 'more character')} (--full)" if cut > 0 else ""
    return indented(short) + more


def _clock(at_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return "?"
    return moment.strftime("%H:%M:%S.%f")[:-3]
