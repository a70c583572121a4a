"""What a build came to, as it is kept. Pure."""

from typing import Literal

from bridge.protocol.value import Value
from bridge.validation.report import Validation, Words


class BuildOutcome(Value):
    """What a build came to.

    Attributes:
        is_approved: every validator approved at last, or a person did.
        approved_by: who did; None if nobody.
        rounds: what the validators said to each round, the first one first.
        said: what a person said at last, if one was asked.
        task: the task that what is left was handed over as, such as `#42`.
    """

    is_approved: bool
    approved_by: Literal["validators", "person"] | None = None
    rounds: tuple[Validation, ...] = ()
    said: Words | None = None
    task: str | None = None
