"""What a run of `validate` or `build` is to do: who looks, who builds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridge.change.change import Change
from bridge.policy.tool_lists import permits
from bridge.policy.tool_names import on_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.agents.definition import Definition
    from bridge.flow.details import ValidatorPart
    from bridge.validation.escalation import EscalateTo


class Validator(NamedTuple):
    """A validator that may be asked.

    Attributes:
        agent: its name.
        timeout_s: how long it may take.
        must_verify: it must show evidence of a command that was seen to succeed.
        can_read: it can read the files of the project.
        runs_commands: it runs commands on them.
        part: what it is in one request for several, if it may be asked in one.
        alone: why it may not, where that was wanted.
        digests: those of its definition, by the route, when the run begins: what is
            written meanwhile does not replace it.
    """

    agent: str
    timeout_s: float
    must_verify: bool = False
    can_read: bool = False
    runs_commands: bool = False
    part: ValidatorPart | None = None
    alone: str = ""
    digests: Sequence[str] = ()


class Look(NamedTuple):
    """What validators are to look at.

    Attributes:
        validators: who may be asked.
        intent: what the change is meant to do; may be empty.
        named: all of them are asked, however complex the change is.
        complexity: how complex it counts; by default as it is found.
        accept_degraded: whether the word of a small model counts.
    """

    validators: Sequence[Validator]
    intent: str = ""
    named: bool = False
    complexity: str | None = None
    accept_degraded: bool = False


class Work(NamedTuple):
    """What is to be built, by whom, and what follows if it is not approved.

    `digests` are those of the builder's definition, as in `Validator`.
    """

    task: str
    agent: str
    rounds: int
    escalate_to: EscalateTo
    in_worktree: bool = False
    model: str | None = None
    digests: Sequence[str] = ()


def can_read(definition: Definition) -> bool:
    """Whether it can read the files itself, and so what a diff leaves out."""
    return _has(definition, "Read")


def runs_commands(definition: Definition) -> bool:
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


def _has(definition: Definition, tool: str) -> bool:
    def named(rules: Sequence[str]) -> bool:
        return any(rule.partition("(")[0] == tool for rule in rules)

    tools = definition.tools
    blocked = on_host(definition.blocked_tools)
    return (tools is None or named(tools)) and permits(None, blocked, tool)
