"""How a request can fail: the one table of codes, what each means, and what helps.

`ask`, `wait`, `show`, `doctor`, the exceptions and state/FAILURES.md all read it.
"""

import re
from typing import Literal, get_args

from bridge.errors import BridgeError
from bridge.protocol.status import Stage

FailureCode = Literal[
    "no_host", "no_route", "no_server", "no_queue", "host_gone", "declined",
    "agent_denied", "agent_missing", "agent_error", "agent_stopped", "quota",
    "empty_answer", "prompt_echo", "no_json", "schema_mismatch", "check_failed",
    "steps_left", "unverified", "prompt_replaced", "agent_failed", "agent_blocked",
    "timeout", "cancelled", "depth", "budget", "bad_request", "bad_definition",
    "not_trusted", "extra_missing", "model_unavailable", "model_died", "turn_limit",
    "too_long", "cannot_continue", "not_shared", "no_fork",
]  # fmt: skip
# The names of the local route's failures in the first description of hostbridge.
SeedCode = Literal[
    "AGENT_001", "AGENT_002", "AGENT_003", "AGENT_004", "AGENT_005", "AGENT_006",
]  # fmt: skip

# What happened, in one plain sentence; what to do. ID stands for the request's id.
_TABLE: dict[FailureCode, tuple[str, str]] = {
    "no_host": ("no Claude Code session could take the request",
        "start `claude` in the project first"),
    "no_route": ("this machine lacks what the route needs",
        "install what is missing, or choose another route (--route)"),
    "no_server": ("no server answers at the address of the endpoint",
        "start the server, or correct BRIDGE_OPENAI_BASE_URL"),
    "no_queue": ("the queue cannot be reached, or refuses",
        "start Redis, or correct BRIDGE_QUEUE; see: hostbridge doctor"),
    "host_gone": ("the process that held the request died, and no tries were left",
        "ask again, and keep the session open (or the process that serves it)"),
    "declined": ("the session's model ignored every offer",
        "hostbridge doctor --live; restart the session, perhaps with another model"),
    "agent_denied": ("the session may not start this agent, or none at all",
        "take out the rule or option that the message names; restart the session"),
    "agent_missing": (
        "no agent has this name",
        "see which there are: hostbridge agents list; restart the session if it is new",
    ),
    "agent_error": ("the agent, or the model behind it, failed",
        "read the error: hostbridge show ID"),
    "agent_stopped": ("the agent was stopped before it answered", "ask again"),
    "quota": ("the model refused because of usage limits",
        "ask with a longer deadline (--timeout), or another model (--model)"),
    "empty_answer": ("the agent ended without an answer",
        "ask again; see what it did: hostbridge show ID"),
    "prompt_echo": ("the agent repeated the prompt instead of answering it",
        "ask more plainly, or a stronger model (--model)"),
    "no_json": ("the agent answered with text, where JSON was due",
        "ask again, or ask a stronger model (--model)"),
    "schema_mismatch": ("the agent's JSON does not satisfy the schema",
        "ask again with a simpler schema, or ask a stronger model (--model)"),
    "check_failed": ("the check in the agent's definition refused the answer",
        "see what it said: hostbridge show ID; use a larger model, or mend the check"),
    "steps_left": ("the agent ended before its workflow did",
        "see what it did: hostbridge show ID; ask a stronger model (--model)"),
    "unverified": ("the answer rests on a command that was not seen to run",
        "see its evidence: hostbridge show ID"),
    "prompt_replaced": ("another hook replaced the prompt: the agent did not get ours",
        "find that hook in /hooks, and have it ignore prompts that begin with bridge:"),
    "agent_failed": ("the agent reports that it failed",
        "read the answer: it says how"),
    "agent_blocked": ("the agent reports that it is blocked",
        "read the answer, and what was refused: hostbridge show ID"),
    "timeout": ("the deadline passed", "ask with a longer deadline (--timeout)"),
    "cancelled": ("the request was cancelled", "ask again, unless you cancelled it"),
    "depth": ("too many agents asked for one another",
        "hostbridge config set max_depth 3, or let agents ask for fewer agents"),
    "budget": ("a budget of the session is used up",
        "raise the limit as the message says, and ask again"),
    "bad_request": ("the request cannot be served as it is",
        "correct what the message names, and ask again"),
    "bad_definition": ("the agent's definition cannot be used",
        "see what is wrong in it: hostbridge agents check"),
    "not_trusted": (
        "this project defines the agent, and you have not trusted its definition",
        "look at it, and trust it: hostbridge trust",
    ),
    "extra_missing": ("an optional part of hostbridge is not installed",
        "install it with the command in the message, and ask again"),
    "model_unavailable": ("the model cannot be loaded, or the server does not have it",
        "see which models there are, and whether they work: hostbridge models"),
    "model_died": ("the model's process died",
        "see whether the model works at all: hostbridge models --test"),
    "turn_limit": ("the agent used up its turns or tokens without an answer",
        "raise max_turns in the definition, or ask for less in one request"),
    "cannot_continue": ("the agent of that request cannot be asked again",
        "ask anew, without --continue"),
    "not_shared": (
        "you have not said that programs may see a session's conversation",
        "say so: hostbridge config set --project share_conversation true",
    ),
    "no_fork": ("the session's client cannot fork its conversation",
        "update Claude Code; or ask without --context session"),
    "too_long": ("the conversation or the reply is longer than the model can take",
        "ask for less in one request, or use a model with a larger context"),
}  # fmt: skip
assert set(_TABLE) == set(get_args(FailureCode))  # noqa: S101

MEANINGS: dict[FailureCode, str] = {code: entry[0] for code, entry in _TABLE.items()}
CURES: dict[FailureCode, str] = {code: entry[1] for code, entry in _TABLE.items()}

# What helps besides, where the agent ran on this route.
_ALSO: dict[tuple[FailureCode, str], str] = {
    ("agent_error", "host"): "/status in the session",
    ("agent_error", "claude"): "`claude` in a terminal, and /status there",
    ("agent_error", "endpoint"): "look at the server's own log",
}

# A deadline that passed while nobody was at work: a longer one alone does not help.
TOO_EARLY: dict[Stage, str] = {
    Stage.NO_HOST: "start `claude` in the project first",
    Stage.WAITING: "see why: hostbridge doctor; for the routes "
    "claude, local and endpoint: hostbridge serve",
    Stage.PAUSED: "ask with a longer deadline (--timeout)",
    Stage.OFFERED: "hostbridge doctor --live; look at the session",
    Stage.ASKING: "ask again, and reply in time: hostbridge questions",
}

# A record keeps the name of the first description as `error.alias`.
ALIASES: dict[FailureCode, SeedCode] = {
    "bad_definition": "AGENT_001",
    "bad_request": "AGENT_001",
    "extra_missing": "AGENT_001",
    "model_unavailable": "AGENT_002",
    "schema_mismatch": "AGENT_003",
    "check_failed": "AGENT_003",
    "turn_limit": "AGENT_004",
    "too_long": "AGENT_004",
    "timeout": "AGENT_005",
    "model_died": "AGENT_006",
}
# Records of earlier versions have it as their code; of several, the first is meant.
NOW: dict[str, FailureCode] = {old: new for new, old in reversed(ALIASES.items())}

# A valid answer that reports trouble: there is a typed answer to return.
ANSWERED: frozenset[FailureCode] = frozenset({"agent_failed", "agent_blocked"})


def code_of(error: BridgeError) -> FailureCode:
    """The code of a request that ends because this error kept it from being served."""
    return error.code if error.code in _TABLE else "bad_definition"


def explain(code: FailureCode, detail: str = "") -> str:
    """The message of a failure: what its code means, and the detail."""
    return MEANINGS[code] + (f": {detail}" if detail else "")


def cure_of(code: FailureCode, stage: Stage, request_id: str, route: str) -> str:
    """What to do about the failure of a request that ended at `stage`."""
    cure = TOO_EARLY.get(stage, CURES[code]) if code == "timeout" else CURES[code]
    if also := _ALSO.get((code, route)):
        cure = f"{cure}; {also}"
    return re.sub(r"\bID\b", request_id, cure)


def ways_out(
    code: FailureCode, stage: Stage, request_id: str, route: str
) -> tuple[str, ...]:
    """What to do about it, and the command that shows the whole record."""
    cure = cure_of(code, stage, request_id, route)
    show = f"hostbridge show {request_id}"
    return (cure,) if show in cure else (cure, f"see all of it: {show}")
