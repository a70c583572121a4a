"""One try at a request that failed, as its record keeps it."""

from bridge.protocol.record import Count, Milliseconds
from bridge.protocol.value import Value

# A limit of a plan may be met often: the last ones are kept.
MAX_KEPT = 16
MAX_MESSAGE = 300


class FailedTry(Value):
    """When a try ended, in milliseconds since 1970, and why.

    `attempt` counts the tries from 1. A limit of the plan spends none: then the next
    try has the same number.
    """

    at: Milliseconds
    code: str
    message: str = ""
    attempt: Count = 1
