"""Whose step workflow it is: a session's main thread, or an agent of ours.

And what its steps do outside of it: texts filled in, tools, agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.policy.step_change import Busy
from bridge.protocol.plain_json import dumps
from bridge.store.lock import LockBusy

if TYPE_CHECKING:
    from bridge.policy.condition import Shell
    from bridge.policy.rule_set import Whose
    from bridge.policy.step_record import Action
    from bridge.store.variables import Holder, Kept

    Json = dict[str, Any]
    # An action, what it is given, and the key that it is known by -> its result.
    Act = Callable[[Action, Json, str], Any]
    from bridge.policy.step_record import Action


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


# Of the events that wait for deeds; beyond it those fail by name.
_MAX_LATE = 1024 * 1024


class Deeds:
    """What the steps of one conversation do, about these events.

    If a deed has to wait, the events are kept in the workflow's record. `theirs` are
    the variables of persons and rules, and whose each is.
    """

    def __init__(
        self,
        conversation: Conversation,
        events: list[Json],
        theirs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.conversation = conversation
        self.events = events
        self.theirs = theirs

    def render(self, text: str, scope: Mapping[str, Any]) -> str:
        """Fill in a text for the model; raises `ValueError`."""
        if "{" not in text:
            return text
        from bridge.agents.filled_text import filled_in

        return filled_in(text, scope)

    def act(self, action: Action, given: Json, key: str) -> Any:
        """Do a `call_tool` or `spawn_agent`.

        Raises:
            Busy: it cannot be done just now.
            ValueError: it cannot be done.
        """
        try:
            return self.conversation.act(action, given, key)
        except LockBusy as error:
            if len(dumps(self.events)) > _MAX_LATE:
                raise ValueError(f"too much waits already: {error}") from None
            raise Busy(str(error)) from None
        except BridgeError as error:
            raise ValueError(str(error)) from None
