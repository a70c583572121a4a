"""A blocking rule that cannot be asked: how it is mended, and what it lets pass. Pure.

What could mend it must not be blocked by it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_PATHS = ("file_path", "notebook_path", "path")
_FOLDERS = frozenset({".bridge", ".hostbridge"})

NOT_BLOCKED = (
    "files under .bridge/ and ~/.hostbridge/, and the command hostbridge, are not "
    "blocked."
)
UNRULED = (
    "hostbridge could not ask the rules about this call, and one that blocks may be "
    f"about it. `hostbridge rules check` reads them again; {NOT_BLOCKED}"
)


def how_to_mend() -> str:
    """What the model is told beside the cause."""
    return (
        "Until it is fixed, it blocks this. `hostbridge rules check` shows the place; "
        f"{NOT_BLOCKED} `on_error: skip` would let such calls pass."
    )


def is_mending(scope: Json) -> bool:
    """Whether a call can mend a rule: it is hostbridge, or about a file of rules."""
    command = scope.get("command")
    if isinstance(command, str):
        from bridge.policy.shell_signs import shell_sign

        is_ours = command.split(None, 1)[:1] == ["hostbridge"]
        return is_ours and shell_sign(command) is None
    tool_input = scope.get("tool_input")
    if not isinstance(tool_input, dict):
        return False
    paths = [tool_input[key] for key in _PATHS if key in tool_input]
    return bool(paths) and all(
        isinstance(path, str)
        and ".." not in path.split("/")
        and not _FOLDERS.isdisjoint(path.split("/")[:-1])
        for path in paths
    )
