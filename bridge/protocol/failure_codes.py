"""How a request can fail: each code, what it means, and what to do about it."""

from __future__ import annotations

from typing import Literal, get_args

from bridge.protocol.status import Stage

FailureCode = Literal[
    "no_host", "host_gone", "declined", "agent_missing", "agent_error", "agent_stopped",
    "quota", "empty_answer", "prompt_echo", "no_json", "schema_mismatch", "unverified",
    "prompt_replaced", "agent_failed", "agent_blocked", "timeout", "cancelled", "depth",
    "budget", "AGENT_001", "AGENT_002", "AGENT_003", "AGENT_004", "AGENT_005",
    "AGENT_006",
]  # fmt: skip

MEANINGS: dict[FailureCode, str] = {
    "no_host": "no session or server could take the request",
    "host_gone": "the process that held the request died, and no tries were left",
    "declined": "the session's model ignored every offer",
    "agent_missing": "no agent has this name",
    "agent_error": "the Agent tool, or the model behind it, failed",
    "agent_stopped": "the agent was stopped before it answered",
    "quota": "the model refused because of usage limits",
    "empty_answer": "the agent ended without an answer",
    "prompt_echo": "the agent repeated the prompt instead of answering it",
    "no_json": "text instead of JSON",
    "schema_mismatch": "JSON that does not satisfy the schema",
    "unverified": "the answer rests on a command that was not seen to run",
    "prompt_replaced": "another hook replaced the prompt: the agent did not get ours",
    "agent_failed": "a valid answer that reports failure",
    "agent_blocked": "a valid answer that reports being blocked",
    "timeout": "the deadline passed",
    "cancelled": "the request was cancelled",
    "depth": "too many agents asked for one another",
    "budget": "the session may start no more agents in this hour",
    "AGENT_001": "the definition, or the schema of the answer, cannot be used",
    "AGENT_002": "the model cannot be loaded",
    "AGENT_003": "the answer does not satisfy the schema, or the agent's own check",
    "AGENT_004": "a limit of turns or tokens was reached",
    "AGENT_005": "the deadline passed while the model was working",
    "AGENT_006": "the model's process died",
}

# What to do. ID stands for the request's id.
CURES: dict[FailureCode, str] = {
    "no_host": "start `claude` in the project first, or the server that "
    "BRIDGE_OPENAI_BASE_URL names",
    "host_gone": "ask again, and keep the session open (or the process that serves it)",
    "declined": "hostbridge doctor --live; restart the session, perhaps with another "
    "model",
    "agent_missing": "see /agents in the session; restart it if the agent is new",
    "agent_error": "read the error: hostbridge show ID; /status in the session",
    "agent_stopped": "ask again",
    "quota": "wait, or ask with another --model",
    "empty_answer": "see rawOutput and evidence: hostbridge show ID",
    "prompt_echo": "ask more plainly, or with a stronger --model",
    "no_json": "see what it said: hostbridge show ID; ask with a stronger --model",
    "schema_mismatch": "see where it differs: hostbridge show ID; use a simpler "
    "schema, or a stronger --model",
    "unverified": "see its evidence: hostbridge show ID",
    "prompt_replaced": "find that hook in /hooks, and have it ignore prompts that "
    "begin with bridge:",
    "agent_failed": "read the answer: it says how",
    "agent_blocked": "read the answer: it says what",
    "timeout": "ask with a longer --timeout",
    "cancelled": "ask again, unless you cancelled it yourself",
    "depth": "raise BRIDGE_MAX_DEPTH, or let agents ask for fewer agents",
    "budget": "raise BRIDGE_AGENTS_PER_HOUR for the session, or wait",
    "AGENT_001": "see why: hostbridge show ID; to check the definition: hostbridge "
    "agents check",
    "AGENT_002": "see which models there are, and whether they work: hostbridge models",
    "AGENT_003": "see where it differs: hostbridge show ID; use a simpler schema, or a "
    "larger model",
    "AGENT_004": "raise max_turns in the definition, or ask for less in one request",
    "AGENT_005": "ask with a longer --timeout, or use a smaller model",
    "AGENT_006": "see whether the model works at all: hostbridge models --test",
}
# A deadline that passed before anybody was at work: a longer one alone does not help.
TOO_EARLY: dict[Stage, str] = {
    Stage.NO_HOST: "start `claude` in the project first",
    Stage.WAITING: "see `session` and `hooks run` in hostbridge doctor; for the routes "
    "claude, local and endpoint: hostbridge serve",
    Stage.OFFERED: "hostbridge doctor --live; look at the session",
}

assert set(MEANINGS) == set(CURES) == set(get_args(FailureCode))  # noqa: S101

# A valid answer that reports trouble: there is a typed answer to return.
ANSWERED: frozenset[FailureCode] = frozenset({"agent_failed", "agent_blocked"})


def explain(code: FailureCode, detail: str = "") -> str:
    """The message of a failure: what its code means, and the detail."""
    return MEANINGS[code] + (f": {detail}" if detail else "")


def cure_of(code: FailureCode, stage: Stage, request_id: str) -> str:
    """What to do about the failure of a request that ended at `stage`."""
    cure = TOO_EARLY.get(stage, CURES[code]) if code == "timeout" else CURES[code]
    return cure.replace("show ID", f"show {request_id}")
