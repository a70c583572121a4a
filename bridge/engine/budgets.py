"""What the runs that share their budgets may use. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.engine.kinds import DONE_HERE

if TYPE_CHECKING:
    from bridge.engine.run import Run

# How many steps of a pipeline may be done, whatever its loops say.
MAX_DONE = 10_000


class Used(NamedTuple):
    """What the runs that share their budgets with a run have used.

    `agents` are those that the others have asked, `tokens` those of all.
    """

    agents: int = 0
    tokens: int = 0


def spent(run: Run, kind: str, used: Used) -> str:
    """Which budget is used up that a node of this kind needs; empty if none is."""
    if kind in DONE_HERE and run.get("done", 0) >= MAX_DONE:
        return f"{MAX_DONE:,} of its steps were done; resume it for as many again"
    if kind != "agent":
        return ""
    asked, tokens = run["asked"] + used.agents, used.tokens
    if run["agents"] is not None and asked >= run["agents"]:
        return f"as many agents were asked as it may ask (--max-agents): {asked}"
    if run["tokens"] is not None and tokens >= run["tokens"]:
        return f"as many tokens were used as it may use (--max-tokens): {tokens}"
    return ""
