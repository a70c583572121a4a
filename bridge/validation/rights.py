"""What a validator can look at, by its definition. Pure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.change.change import Change
from bridge.policy.tool_lists import permits
from bridge.policy.tool_names import on_host

if TYPE_CHECKING:
    from bridge.agents.definition import Definition


def can_read(definition: "Definition") -> bool:
    """Whether it can read the files itself, and so what a diff leaves out."""
    return _has(definition, "Read")


def runs_commands(definition: "Definition") -> bool:
    """Whether it runs commands, on the files of the project.

    What those are not, it would approve unseen.
    """
    return _has(definition, "Bash")


def why_not_run(change: Change, why: str = "") -> str:
    """Why commands say nothing of a change that the files of the project have not.

    `why` is why it was not checked out for them, if that was to be.
    """
    failed = f", and it could not be checked out: {why}" if why else ""
    return (
        "it runs commands on the files of the project, and what it was to judge is not "
        f"in them ({change.scope}){failed}; check it out, or choose others"
    )


def _has(definition: "Definition", tool: str) -> bool:
    def named(rules: Sequence[str]) -> bool:
        return any(rule.partition("(")[0] == tool for rule in rules)

    tools = definition.tools
    blocked = on_host(definition.blocked_tools)
    return (tools is None or named(tools)) and permits(None, blocked, tool)
