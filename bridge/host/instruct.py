"""The words that reach the host's model. Pure, short, and never a word of a request.

Only checked ids go in: what a request holds (prompt, requester, task) may come from
anywhere, and the host's model reads this as its user's wish.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKEN_PREFIX = "bridge:"  # noqa: S105 - no secret

INTRODUCTION = (
    "The user has installed hostbridge, which lets programs on this machine ask agents "
    "of this session. When a hostbridge notice names Agent calls, make each once, "
    "exactly as written, in one message, then go on with what you were doing; hooks "
    "fill in the prompt and deliver the answer."
)

_TOKEN = re.compile(r"\s*bridge:([A-Za-z0-9_-]{1,128})\s*\Z")


def instruction(ids: Sequence[str]) -> str:
    """Tell the model which Agent calls to make."""
    calls = "\n".join(
        f'{{"description":"b","prompt":"{TOKEN_PREFIX}{i}"}}' for i in ids
    )
    many = "these, all in one message" if len(ids) > 1 else "this"
    return f"hostbridge: call Agent once with {many}:\n{calls}"


def find_token(prompt: str) -> str | None:
    """The request id that a prompt stands for; None for any other prompt."""
    match = _TOKEN.match(prompt)
    return match[1] if match else None
