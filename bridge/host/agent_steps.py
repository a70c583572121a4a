"""The step workflow of an agent that no session runs: by `claude -p`, or our own loop.

It begins before the agent does, whose prompt has the first step's words. The gate and
the moves are those of a session. A request that is served again, since the process was
killed, goes on in its step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.bound.conversations import begin_for, conversation
from bridge.bound.delegation import Delegator
from bridge.bound.step_gate import Bound, shell
from bridge.errors import BridgeError
from bridge.policy import step_workflow
from bridge.policy.step_change import introduction
from bridge.store import step_states
from bridge.store.variables import Holder
from bridge.workflows import progress

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.routes import RouteName
    from bridge.store.store import Store
    from bridge.workflows.conversation import Conversation

    Json = dict[str, Any]

_MOVES = frozenset({"PostToolUse", "PostToolUseFailure"})
_LOST = "hostbridge: this agent must follow a workflow that cannot be read: {why}"


class StepAnswer(NamedTuple):
    """What a step says about an event.

    `block` is why it is refused, `context` what the agent is told beside it; `told` is
    to be called once it has been.
    """

    block: str | None = None
    context: str = ""
    notes: tuple[str, ...] = ()
    told: Callable[[], None] | None = None


class AgentSteps(NamedTuple):
    """The workflow of the agent of one request; `run` is what rules know of it."""

    settings: Settings
    store: Store
    request_id: str
    run: Json
    route: RouteName | None = None

    def begin(self, request: Request) -> str:
        """Begin what the agent works through; what its prompt says of that.

        Raises:
            BridgeError: it cannot be begun.
        """
        if not request.works_through:
            return ""
        with self.store.open() as store:
            here = self._conversation(store, {})
            try:
                found = begin_for(store, self.settings, here, request)
            except step_states.WorkflowActive:
                record = step_states.find(store, here.holder)
                return introduction(record) if record else ""
            if found is None:
                return ""
            progress.told(store, here.holder, found.rev)
            return "\n\n".join(found.messages)

    def ask(self, event: str, raw: Json, *, inside: str) -> StepAnswer:
        """What the step says about an event, done.

        `inside` is the agent that this one has started, if it happens in that one.
        """
        bound = Bound(str(self.store.place.state), raw, self.run)
        try:
            record = step_states.find(self.store, Holder.agent(self.request_id))
        except (BridgeError, OSError) as error:
            why = _LOST.format(why=error)
            return StepAnswer(block=why) if event == "PreToolUse" else StepAnswer()
        if record is None:
            return StepAnswer()
        if event == "PreToolUse":
            refused = step_workflow.refusal(record, bound.fields, bound.whose, shell)
            said = step_workflow.warnings(record, bound.fields, bound.whose, shell)
            return StepAnswer(refused, "\n".join(said))
        if inside:
            return StepAnswer()
        if event == "SessionStart":
            return StepAnswer(context=introduction(record))
        try:
            with self.store.open() as store:
                return self._moved(store, event, raw)
        except (BridgeError, OSError) as error:
            return StepAnswer(notes=(f"the workflow does not go on: {error}",))

    def _moved(self, store: Store, event: str, raw: Json) -> StepAnswer:
        here = self._conversation(store, raw)
        is_end = event == "SubagentStop"
        if event not in _MOVES and not is_end:
            return StepAnswer()
        found = progress.advance(store, here, None if is_end else raw)
        if is_end and not (found and found.moved):
            return StepAnswer(block=progress.stop(store, here, raw))
        if found is None:
            return StepAnswer()

        def told() -> None:
            with suppress(BridgeError, OSError), self.store.open() as again:
                progress.told(again, here.holder, found.rev)

        words = "\n\n".join(found.messages)
        return StepAnswer(
            block=words if is_end else None,
            context="" if is_end else words,
            notes=found.problems,
            told=told if found.messages else None,
        )

    def _conversation(self, store: Store, raw: Json) -> Conversation:
        fields = {"agent_id": self.request_id, **raw}
        bound = Bound(str(store.place.state), fields, self.run)
        whose = bound.whose()
        delegator = Delegator(
            self.settings,
            store,
            self.request_id,
            parent=self.request_id,
            depth=whose.depth,
            variables=whose.variables,
            route=self.route,
        )
        return conversation(Holder.agent(self.request_id), delegator, bound)
