"""By what a claim may name a command that was seen to run. Pure.

Folders are compared by their names, as a shell goes by them: where a link leads may
have changed since the command started.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from bridge.policy.shell_signs import after_cd, climbs
from bridge.protocol.wording import in_shell

if TYPE_CHECKING:
    from bridge.protocol.claimed_commands import ToolCall

_ERREXIT = re.compile(r"""\b(?:set|setopt|shopt)\b[^;&|\n]*?(?:-[\w'"]*e|err_?exit)""")


def as_claimed(call: ToolCall, here: str) -> ToolCall:
    """A call with its command as it reads from the folder in which its agent works.

    One that started elsewhere has not run here: the same words start another program
    there. `here` is the real path of the folder, as the client names those of calls.
    """
    command = call.command
    if command is None:
        return call
    if _ERREXIT.search(command):
        # The client evaluates a text where that has no effect: a part may have failed.
        call = call._replace(ok=call.ok and None)
    start = here if call.folder is None else posixpath.normpath(call.folder)
    moved, within = after_cd(command) or ("", None)
    is_known = within is not None and not climbs(moved)
    if is_known and posixpath.normpath(posixpath.join(start, moved)) == here:
        return call._replace(within=within)
    if start == here:
        return call
    return call._replace(command=f"{in_shell('cd', start)} && {command}")
