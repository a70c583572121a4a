"""Which failure an error of the client means: by its kind, or else by its words.

Source: Claude Code 2.1.330: the kinds are those of StopFailure, and of the message that
stands for the model's in a transcript.
"""

import re

from bridge.protocol.failure_codes import FailureCode

# Kinds of API errors. Elsewhere there are only words.
_LIMITS = ("rate_limit", "billing_error")
_UNNAMED = ("", "unknown")
_QUOTA = re.compile(
    r"rate_limit|billing_error|usage limit|limit reached|hit your [\w ]{0,40}limit"
    r"|\(429\)",
    re.I,
)
_NO_AGENT = re.compile(r"agent type '?[^']*'? not found", re.I)
# A rule such as `Agent(researcher)` of `permissions.deny`, or an option; which one is
# said. Measured on 2.1.332: PermissionDenied is about auto mode's own refusals alone.
_DENIED = re.compile(r"agent type '?[^']*'? has been denied by permission rule", re.I)
_STOPPED = re.compile(r"\bstopped\b|\bkilled\b|interrupt|aborted|cancel", re.I)


def code_of_kind(kind: str, details: str) -> FailureCode:
    """The failure that a kind of API error means; for an unknown one, its details."""
    is_limit = kind in _LIMITS or (kind in _UNNAMED and _QUOTA.search(details))
    return "quota" if is_limit else "agent_error"


def code_of(error: str) -> FailureCode:
    """The failure that the client's own words mean."""
    if _NO_AGENT.search(error):
        return "agent_missing"
    if _DENIED.search(error):
        return "agent_denied"
    if _QUOTA.search(error):
        return "quota"
    if _STOPPED.search(error):
        return "agent_stopped"
    return "agent_error"
