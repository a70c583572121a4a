"""Whose step workflow it is: a session's main thread, or an agent of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.policy.condition import Shell
    from bridge.policy.rule_set import Whose
    from bridge.policy.step_record import Action
    from bridge.store.variables import Holder, Kept

    Json = dict[str, Any]
    # An action, what it is given, and the key that it is known by -> its result.
    Act = Callable[[Action, Json, str], Any]


def _no_act(action: Action, _given: Json, _key: str) -> Any:
    raise ValueError(f"{action['do']} cannot be done here")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whose workflow it is.

    Attributes:
        holder: where it is kept, as its variables are.
        session: the session it is in; empty if there is none.
        whose: its variables as conditions see them, and its agent.
        kept: variables that are somebody's already.
        given: variables that it began with: those that a workflow declares are its
            parameters.
        settings: what workflows can ask for as `settings.NAME`.
        act: does `call_tool` and `spawn_agent`; raises ValueError or BridgeError.
        shell: the functions of conditions that read commands.
    """

    holder: Holder
    session: str
    whose: Callable[[], Whose]
    kept: Mapping[str, Kept] = field(default_factory=lambda: MappingProxyType({}))
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    act: Act = _no_act
    shell: Shell = field(default_factory=lambda: MappingProxyType({}))
