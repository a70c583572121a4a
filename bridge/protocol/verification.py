"""Whether an answer rests on what was seen to run. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.protocol.agent_output import AgentOutput, Evidence
from bridge.protocol.usage import CHECK

if TYPE_CHECKING:
    from bridge.protocol.response import Response
    from bridge.protocol.usage import RunSummary


def rests_on_evidence(response: Response) -> bool:
    """Whether commands or scripts were seen to run, and each passed in the end.

    Of one that ran several times the last run counts. What an answer of the caller's
    own form says of itself is the agent's word: there only the record of the run does.
    """
    seen = _ran(response.run) if response.run else _claimed(response)
    last = {
        (item.type, item.command or item.content): item.passed
        for item in seen
        if item.verified
    }
    return bool(last) and all(passed is True for passed in last.values())


def _ran(run: RunSummary) -> list[Evidence]:
    """What ran before the answer was given."""
    return [
        item for item in run.evidence if not (item.tool_use_id or "").startswith(CHECK)
    ]


def _claimed(response: Response) -> list[Evidence]:
    """The evidence in an answer of our own form, marked by whoever saw the calls."""
    parsed = response.parsed_output
    if response.own_form or not isinstance(parsed, dict) or "status" not in parsed:
        return []
    return list(AgentOutput.model_validate(parsed).evidence)
