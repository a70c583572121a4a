"""The codes by which a request can fail: one table, with what each means."""

from __future__ import annotations

from typing import Literal, get_args

FailureCode = Literal[
    "no_host",
    "host_gone",
    "declined",
    "agent_missing",
    "agent_error",
    "agent_stopped",
    "quota",
    "empty_answer",
    "prompt_echo",
    "no_json",
    "schema_mismatch",
    "unverified",
    "prompt_replaced",
    "agent_failed",
    "agent_blocked",
    "timeout",
    "cancelled",
    "depth",
    "budget",
    "AGENT_001",
    "AGENT_002",
    "AGENT_003",
    "AGENT_004",
    "AGENT_005",
    "AGENT_006",
]

MEANINGS: dict[FailureCode, str] = {
    "no_host": "nobody was there who could take the request",
    "host_gone": "whoever held the request died, and no tries were left",
    "declined": "the model ignored every offer",
    "agent_missing": "nobody knows an agent of this name",
    "agent_error": "the agent tool or the model behind it failed",
    "agent_stopped": "the agent was stopped before it answered",
    "quota": "the model refused because of usage limits",
    "empty_answer": "the agent ended without a word",
    "prompt_echo": "the agent repeated the prompt instead of answering it",
    "no_json": "prose where JSON was due",
    "schema_mismatch": "JSON that does not satisfy the schema",
    "unverified": "the answer rests on a command that was not seen to run",
    "prompt_replaced": "another hook's rewrite won: the agent did not get our prompt",
    "agent_failed": "a valid answer that reports failure",
    "agent_blocked": "a valid answer that reports being blocked",
    "timeout": "the deadline passed",
    "cancelled": "somebody cancelled the request",
    "depth": "agents asking for agents went deeper than the limit",
    "budget": "the session may start no more agents in this hour",
    "AGENT_001": "the definition, or the schema of the answer, cannot be used",
    "AGENT_002": "the model cannot be loaded",
    "AGENT_003": "what was submitted does not satisfy the schema, or the agent's own "
    "check",
    "AGENT_004": "a limit of turns or tokens was reached",
    "AGENT_005": "the deadline passed while the model was at work",
    "AGENT_006": "the process of the model died",
}

assert set(MEANINGS) == set(get_args(FailureCode))  # noqa: S101

# A valid answer that reports trouble: there is a typed answer to return.
ANSWERED: frozenset[FailureCode] = frozenset({"agent_failed", "agent_blocked"})
