"""What rules say about an event in an agent that no session runs."""

from typing import NamedTuple


class Ruling(NamedTuple):
    """What rules say about an event.

    `block` is why it is refused, None if it is not; `context` is what the model is
    told beside it.
    """

    block: str | None = None
    context: str = ""
