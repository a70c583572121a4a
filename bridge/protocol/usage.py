"""What an answer took on a route of our own, as the record keeps it."""

from __future__ import annotations

from bridge.protocol.agent_output import Evidence
from bridge.protocol.record import Milliseconds
from bridge.protocol.value import Value

# How the call is named in which a definition's own script looked at the answer. What
# ran in it is proof for the record, not for the answer, which was there before it.
CHECK = "submit-"


class RunSummary(Value):
    """What a run took, for the record. Times are milliseconds.

    `tools` counts the calls of each tool; `evidence` is what the runner itself saw
    run, whatever the shape of the answer.
    """

    model: str
    turns: int
    tools: dict[str, int]
    prompt_tokens: int
    cached_tokens: int
    tokens: int
    duration: Milliseconds
    evidence: tuple[Evidence, ...] = ()
