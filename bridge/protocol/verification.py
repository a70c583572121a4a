"""Whether an answer rests on commands that were seen to run. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.protocol.agent_output import AgentOutput
from bridge.protocol.response import CHECK

if TYPE_CHECKING:
    from bridge.protocol.agent_output import Evidence
    from bridge.protocol.response import Response


def rests_on_evidence(response: Response) -> bool:
    """Whether commands or scripts were seen to run, and the last run of each passed.

    In an answer with its own schema, everything is the agent's claim: there only the
    record of the run counts.
    """
    last = {
        (item.type, item.command or item.content): item.passed
        for item in _evidence(response)
        if item.verified
    }
    return bool(last) and all(passed is True for passed in last.values())


def _evidence(response: Response) -> list[Evidence]:
    """What ran before the answer was given, in the order in which it ran."""
    if response.run:
        seen = response.run.evidence
        return [e for e in seen if not (e.tool_use_id or "").startswith(CHECK)]
    parsed = response.parsed_output
    if response.own_form or not isinstance(parsed, dict) or "status" not in parsed:
        return []
    return list(AgentOutput.model_validate(parsed).evidence)
