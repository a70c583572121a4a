"""Requests that ended lately without a good answer: which failure, why, what helps.

The table of common issues, as far as it concerns what has ended: an empty answer, an
agent that failed, a deadline.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, Verdict, ok
from bridge.protocol.failure_codes import MEANINGS, FailureCode
from bridge.protocol.status import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.doctor.subject import Subject
    from bridge.protocol.response import Response

_LOOKED_AT = 20
_DAY_MS = 24 * 3_600_000
# As often in a row as this, it is no accident.
_REPEATED = 3

# Cause and cure. What somebody wanted (cancelled, a valid failure) is no issue.
ISSUES: dict[FailureCode, tuple[str, str]] = {
    "no_host": (
        "no session was open, or no server was where BRIDGE_OPENAI_BASE_URL says",
        "start `claude` in the project first, or that server",
    ),
    "host_gone": (
        "the session, or the process that served it, ended while it worked",
        "keep that one open; ask again",
    ),
    "declined": (
        "the model did not make the call it was told to make",
        "hostbridge doctor --live; restart the session, perhaps with another model",
    ),
    "agent_missing": (
        "the client does not know the agent",
        "see /agents in the session; it notices a new one only for its next turn",
    ),
    "agent_error": (
        "the agent tool or its model failed",
        "read the error: hostbridge show ID; /status in the session",
    ),
    "agent_stopped": ("a person or the client stopped the agent", "ask again"),
    "quota": ("the account's usage limit", "wait, or ask with another --model"),
    "empty_answer": (
        "the agent ended without a word",
        "see rawOutput and evidence: hostbridge show ID",
    ),
    "prompt_echo": (
        "the agent repeated its prompt",
        "ask more plainly, or with a stronger --model",
    ),
    "no_json": (
        "the agent's last words were prose, corrections included",
        "see its words: hostbridge show ID; ask with a stronger --model",
    ),
    "schema_mismatch": (
        "the agent's last JSON did not satisfy the schema, corrections included",
        "see where: hostbridge show ID; a simpler schema, or a stronger --model",
    ),
    "unverified": (
        "the agent named a command that was not seen to run",
        "see its evidence: hostbridge show ID",
    ),
    "prompt_replaced": (
        "another hook rewrites Agent calls, too, and ended last",
        "look for it in /hooks, and let it pass prompts that begin with bridge:",
    ),
    "timeout": ("the work was long", "ask with a longer --timeout"),
    "depth": (
        "agents asked for agents too deeply",
        "raise BRIDGE_MAX_DEPTH, or ask less",
    ),
    "budget": (
        "the session had used up its agents of the hour",
        "raise BRIDGE_AGENTS_PER_HOUR for the session, or wait",
    ),
    "AGENT_001": (
        "the agent's definition, or the asker's schema, cannot be used as it is",
        "see why: hostbridge show ID; of a definition: hostbridge agents check",
    ),
    "AGENT_002": (
        "the local model could not be loaded",
        "see what is there and whether it works: hostbridge models",
    ),
    "AGENT_003": (
        "what the local model submitted does not satisfy the schema",
        "see where: hostbridge show ID; a simpler schema, or a larger model",
    ),
    "AGENT_004": (
        "the model reached its limit of turns or tokens",
        "raise max_turns in the definition, or ask for less in one request",
    ),
    "AGENT_005": (
        "the deadline passed while the local model was at work",
        "ask with a longer --timeout, or use a smaller model",
    ),
    "AGENT_006": (
        "the process of the local model died: memory, or a signal",
        "see whether the model works at all: hostbridge models",
    ),
}

# A deadline that passed before anybody was at work: asked for longer, it is as late.
TOO_EARLY: dict[Stage, tuple[str, str]] = {
    Stage.NO_HOST: (
        "no session was open that could take it",
        "start `claude` in the project first",
    ),
    Stage.WAITING: (
        "a session was open and did not take it: the error says why, where it is known",
        "see `session` and `hooks run`; for a route of ours: hostbridge serve",
    ),
    Stage.OFFERED: (
        "the model did not make the call in time",
        "hostbridge doctor --live; look at the session",
    ),
}


def recent(subject: Subject) -> Iterator[Finding]:
    """How the last requests ended."""
    store = subject.store()
    if store is None or not store.place.state.is_dir():
        return
    ended = list(islice(store.newest_responses(2 * _LOOKED_AT), _LOOKED_AT))
    yield from judge(ended, store.now_ms())


def judge(ended: Sequence[Response], now_ms: int) -> Iterator[Finding]:
    """One finding for each kind of failure of the last day; `ended` is newest first."""
    fresh = [r for r in ended if now_ms - r.completed_at < _DAY_MS]
    codes = [r.error.code if r.error else None for r in fresh]
    counted = Counter(code for code in codes if code in ISSUES)
    for code, count in counted.most_common():
        newest = next(r for r in fresh if r.error and r.error.code == code)
        repeated = codes[:_REPEATED] == [code] * _REPEATED
        cause, cure = _why(newest)
        found = (
            f"{count} of the last {len(fresh)} ended with {code} "
            f"({MEANINGS[code]}){', the newest all in a row' if repeated else ''}: "
            f"{newest.request_id}: {newest.error.message if newest.error else ''}"
        )
        verdict = Verdict.PROBLEM if repeated else Verdict.WARNING
        yield Finding("answers", verdict, found, cause, naming(cure, newest.request_id))
    if not counted:
        told = f"no failure among the last {len(fresh)}" if fresh else "none in a day"
        yield ok("answers", told)


def naming(cure: str, request_id: str) -> str:
    """A cure, for this request."""
    return cure.replace("show ID", f"show {request_id}")


def _why(response: Response) -> tuple[str, str]:
    """Cause and cure of a failure."""
    error = response.error
    assert error is not None  # noqa: S101 - the caller has looked
    issue = ISSUES[error.code]
    return TOO_EARLY.get(error.stage, issue) if error.code == "timeout" else issue
