"""What the steps of a workflow do outside of it: texts filled in, tools, agents."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.policy.step_change import Busy
from bridge.protocol.plain_json import dumps
from bridge.store.lock import LockBusy

if TYPE_CHECKING:
    from bridge.policy.step_record import Action
    from bridge.workflows.conversation import Conversation

    Json = dict[str, Any]

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
