"""By what a claim may name a command that was seen to run. Pure but for `resolve`."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from bridge.policy.shell_signs import after_cd
from bridge.protocol.wording import in_shell

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.protocol.claimed_commands import ToolCall


def as_claimed(call: ToolCall, here: str, resolve: Callable[[str], str]) -> ToolCall:
    """A call with its command as it reads from the folder in which its agent works.

    One that started elsewhere has not run here: the same words start another program
    there. `resolve` makes a path real.
    """
    if call.command is None:
        return call
    start = here if call.folder is None else resolve(call.folder)
    moved, within = after_cd(call.command) or ("", None)
    if within is not None and resolve(posixpath.join(start, moved)) == here:
        return call._replace(within=within)
    if start == here:
        return call
    return call._replace(command=f"{in_shell('cd', start)} && {call.command}")
