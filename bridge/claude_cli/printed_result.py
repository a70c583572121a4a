"""Read what `claude -p` printed: the agent's words, or which failure it was. Pure.

With `--verbose` the client prints one JSON array of everything that happened, with the
result at its end; older ones print only the result, or one line for each event.

Source: measured on Claude Code 2.1.330.
"""

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bridge.bound.call_notes import is_unclear
from bridge.freshness.looks import Look, look_of
from bridge.policy.seen_commands import as_claimed
from bridge.process.ending import how_it_ended
from bridge.protocol.claimed_commands import ToolCall
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.ids import is_id
from bridge.protocol.outcome import Outcome
from bridge.protocol.usage import Usage, count_in

_MAX_DETAIL = 500
_QUOTA = re.compile(
    r"usage limit|rate limit|credit balance|quota|hit your .*limit", re.I
)
_NO_AGENT = re.compile(r"--agent '.*' not found")
_NO_SESSION = "No conversation found with session ID"
_TOO_MANY_REQUESTS = 429
# The types of the client's events, without the result.
_EVENTS = frozenset({"system", "assistant", "user", "stream_event"})
_BY_SUBTYPE: dict[str, FailureCode] = {
    "error_max_turns": "turn_limit",
    "error_max_budget_usd": "turn_limit",
    "error_max_structured_output_retries": "schema_mismatch",
}

# What the client calls each part of `modelUsage`, and of `usage`.
_COUNTED = {
    "input_tokens": "inputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
    "output_tokens": "outputTokens",
}
_OF_TURN = {
    "input_tokens": "input_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
    "output_tokens": "output_tokens",
}

Json = dict[str, Any]


def read_output(
    stdout: bytes,
    stderr: str,
    exit_code: int,
    *,
    is_structured: bool,
    is_fork: bool = False,
    folder: str = "",
    began_ms: int = 0,
    starts: Mapping[str, str] = {},
) -> Outcome:
    """The outcome of a client that ended by itself.

    `is_structured` is whether it was given the schema: then the answer is what passed
    its own check. If nothing passed, the agent's words are judged as they are: they may
    be the very JSON that was asked for. `is_fork`: it has gone on with a conversation,
    and its sums have what that took, too. `folder` is where it worked, from `began_ms`
    on, in milliseconds since 1970. `starts` has the folder in which a hook saw each
    command start, by the call's id.
    """
    events = _events(stdout)
    results = [event for event in events if event.get("type") == "result"]
    if not results:
        if exit_code == 0 and _is_bare_answer(stdout, events):
            return Outcome(stdout.decode("utf-8", "replace"))
        return _without_result(stdout, stderr, exit_code)
    # Agents in the background make several; any of them may hold the answer.
    answers = [result for result in results if "structured_output" in result]
    result = (answers or results)[-1]
    outcome = partial(
        Outcome,
        model=_model(events, result),
        calls=tuple(_calls(events, starts)) if len(events) > len(results) else None,
        told_usage=_usage(events, results, is_fork=is_fork),
        looks=_looked(events, results, folder, began_ms),
    )
    words = _text(result.get("result"))
    if result.get("is_error") or exit_code:
        return outcome(words, *_failure(result, exit_code))
    if not is_structured or (not answers and words.strip()):
        return outcome(words)
    if not answers:
        detail = "the client ended without structured output"
        return outcome(words, "empty_answer", detail)
    answer = json.dumps(
        result["structured_output"], ensure_ascii=False, separators=(",", ":")
    )
    return outcome(answer)


def session_in(stdout: bytes) -> str:
    """The id of the session that the client ran; empty if it does not tell."""
    for event in reversed(_events(stdout)):
        session = event.get("session_id")
        if isinstance(session, str) and is_id(session):
            return session
    return ""


def _events(stdout: bytes) -> list[Json]:
    """The objects that were printed, as one document or one per line.

    Where a line is something else, none counts: a program that the agent runs can write
    there, too.
    """
    whole = _decoded(stdout)
    found = whole if isinstance(whole, list) else [whole]
    if whole is None:
        found = [_decoded(line) for line in stdout.splitlines() if line.strip()]
    are_all = all(isinstance(event, dict) for event in found)
    return found if are_all else []


def _decoded(data: bytes) -> Any:
    """JSON, or None."""
    # Not with orjson, which rejects half a character in a tool's output.
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_bare_answer(stdout: bytes, events: list[Json]) -> bool:
    """Whether the output is just one JSON value of the agent."""
    has_events = any(event.get("type") in _EVENTS for event in events)
    return not has_events and _decoded(stdout) is not None


def _without_result(stdout: bytes, stderr: str, exit_code: int) -> Outcome:
    said = stdout.decode("utf-8", "replace")
    code: FailureCode = "agent_error"
    if _NO_AGENT.search(stderr):
        code = "agent_missing"
    elif _NO_SESSION in stderr:
        code = "bad_request"
    elif exit_code == 0:
        code = "no_json" if said.strip() else "empty_answer"
    detail = f"claude -p printed no result; {how_it_ended(exit_code)}"
    why = stderr or said.strip()
    return Outcome(said, code, _short(f"{detail}: {why}" if why else detail))


def _failure(result: Json, exit_code: int) -> tuple[FailureCode, str]:
    """The failure that a result reports."""
    errors = result.get("errors")
    details = errors if isinstance(errors, list) else [result.get("result")]
    detail = "; ".join(str(each) for each in details if each)
    code = _BY_SUBTYPE.get(str(result.get("subtype")))
    if code is None:
        limited = result.get("api_error_status") == _TOO_MANY_REQUESTS
        code = "quota" if limited or _QUOTA.search(detail) else "agent_error"
    return code, _short(detail or f"claude -p: {how_it_ended(exit_code)}")


def _model(events: list[Json], result: Json) -> str | None:
    """The model that answered: the session's first, or the one that was billed."""
    for event in events:
        if event.get("subtype") == "init" and isinstance(event.get("model"), str):
            return str(event["model"])
    used = result.get("modelUsage")
    return next(iter(used)) if isinstance(used, dict) and len(used) == 1 else None


def _usage(events: list[Json], results: list[Json], *, is_fork: bool) -> Usage | None:
    """What all models together took, as the last result sums it up.

    Of a fork, what its own turns took, as each result says.
    """
    used, names = results[-1].get("modelUsage"), _COUNTED
    parts = list(used.values()) if isinstance(used, dict) else []
    if is_fork:
        parts, names = [result.get("usage") for result in results], _OF_TURN
    told = [
        {name: number for name, key in names.items() if (number := count_in(each, key))}
        for each in parts
    ]
    if not any(told):
        return None
    requests = _requests(events) or count_in(results[-1], "num_turns")
    return sum((Usage(**each) for each in told), Usage(requests=requests))


def _requests(events: list[Json]) -> int:
    """How many messages of models were printed; a block each has the message's id."""
    messages = [e.get("message") for e in events if e.get("type") == "assistant"]
    return len({str(m.get("id")) for m in messages if isinstance(m, dict)})


def _calls(events: list[Json], starts: Mapping[str, str]) -> Iterator[ToolCall]:
    """The tool calls made, oldest first, each with how it ended.

    The shell stays where a command has changed to. One that started elsewhere has not
    run where the agent works; where nobody saw it start, nobody saw it pass. The client
    names real folders.
    """
    ends, folder = _ends(events), posixpath.normpath(_folder(events))
    for block in _blocks(events, "assistant"):
        if block.get("type") != "tool_use":
            continue
        said = block.get("input")
        arguments: Json = said if isinstance(said, dict) else {}
        call_id, tool = str(block.get("id")), str(block.get("name"))
        command = _text(arguments.get("command")) if tool == "Bash" else ""
        start = starts.get(call_id)
        is_seen = not command or start is not None
        # Of a call in the background only the start was seen.
        is_seen = is_seen and not arguments.get("run_in_background")
        ok = ends.get(call_id)
        call = ToolCall(tool, call_id, command or None, ok if is_seen else ok and None)
        yield as_claimed(call._replace(folder=start), folder)


def _folder(events: list[Json]) -> str:
    """Where the client has begun, as it says; `.` if it does not."""
    for event in events:
        if event.get("subtype") == "init" and isinstance(event.get("cwd"), str):
            return str(event["cwd"])
    return "."


def _looked(
    events: list[Json], results: list[Json], folder: str, began_ms: int
) -> tuple[Look, ...] | None:
    """What the agent looked at; where no calls were printed, nobody knows."""
    if not folder:
        return None
    if len(events) > len(results):
        return tuple(_looks(events, folder, began_ms))
    return (Look("outside", "calls that were not printed"),)


def _looks(events: list[Json], folder: str, began_ms: int) -> Iterator[Look]:
    """What the calls looked at, at any time since the client began."""
    ends = _ends(events)
    for block in _blocks(events, "assistant"):
        if block.get("type") != "tool_use":
            continue
        said = block.get("input")
        tool, arguments = str(block.get("name")), said if isinstance(said, dict) else {}
        look = look_of(tool, arguments, folder, began_ms)
        if look is not None:
            ended = ends.get(str(block.get("id")), False)
            yield look._replace(was_there=ended is not False)


def _ends(events: list[Json]) -> dict[str, bool | None]:
    """How each call ended, by its id; None if nobody can tell.

    Of what an agent of the agent's did, the client does not say it. A model may give
    two calls one id.
    """
    begun = Counter(
        str(block.get("id"))
        for block in _blocks(events, "assistant")
        if block.get("type") == "tool_use"
    )
    ends: dict[str, bool | None] = {}
    for event in events:
        told = event.get("tool_use_result")
        well = None if not isinstance(told, dict) or is_unclear(told) else True
        for block in _blocks([event], "user"):
            if block.get("type") == "tool_result":
                ended = str(block.get("tool_use_id"))
                is_known = begun[ended] == 1 and ended not in ends
                ok = False if block.get("is_error") else well
                ends[ended] = ok if is_known else None
    return ends


def _blocks(events: list[Json], role: str) -> Iterator[Json]:
    for event in events:
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if event.get("type") == role and isinstance(content, list):
            yield from (block for block in content if isinstance(block, dict))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text if len(text) <= _MAX_DETAIL else text[:_MAX_DETAIL] + "…"
