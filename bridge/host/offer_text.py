"""The text that reaches the host's model: short, and without any of a request.

It contains only checked ids: the contents of a request (prompt, requester, task) may
come from anywhere, and the host's model reads this as its user's wish.
"""

from collections.abc import Sequence

from bridge.host.request_tokens import PREFIX

INTRODUCTION = (
    "The user has installed hostbridge, which lets programs on this machine ask agents "
    "of this session. When a hostbridge notice names Agent calls, make each once, "
    "exactly as written, in one message, then go on with what you were doing; hooks "
    "fill in the prompt and deliver the answer."
)


def instruction(ids: Sequence[str]) -> str:
    """Tell the model which Agent calls to make."""
    calls = "\n".join(f'{{"description":"b","prompt":"{PREFIX}{i}"}}' for i in ids)
    many = "these, all in one message" if len(ids) > 1 else "this"
    return f"hostbridge: call Agent once with {many}:\n{calls}"
