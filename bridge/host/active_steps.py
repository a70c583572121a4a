"""The step workflow of a conversation, in its hooks: the gate, its moves, its words.

An agent of ours begins its workflow at its first event, when the client has said which
agent it is. Before a call our own limits and tokens come first, then the step, then
rules; after a call and at a person's prompt rules come first. What the model is to be
told is said beside the event, and noted as told once it is printed: a hook that is
killed in between has it said again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.bound.first_look import Binding, begins
from bridge.errors import BridgeError, StateUnavailable
from bridge.host import limits, runs
from bridge.host.context import HookContext
from bridge.host.conversations import begin_agents, conversation_of
from bridge.host.offers import agents_run
from bridge.host.request_tokens import mentions
from bridge.host.told_later import tell_later
from bridge.policy.step_change import UNREAD, introduction
from bridge.policy.tool_classes import HANDBACK
from bridge.protocol.hook_output import (
    MAX_CONTEXT,
    HookOutput,
    block,
    context,
    deny,
    with_context,
    with_more,
)
from bridge.protocol.ids import RequestId
from bridge.store import step_states
from bridge.store.variables import Holder
from bridge.workflows import progress
from bridge.workflows.progress import WorkflowProgress

if TYPE_CHECKING:
    from bridge.policy.step_record import StepRecord
    from bridge.workflows.conversation import Conversation

    Json = dict[str, Any]
    Handler = Callable[[HookContext], HookOutput]

_MOVES = frozenset({"PostToolUse", "PostToolUseFailure", "UserPromptSubmit"})
# What works in the background, and will speak again: not a shell.
_SPEAKS = frozenset({"subagent", "MCP task"})
_CUT = "\n(cut: `hostbridge workflow status` shows the rest)"


def answer_with_steps(hook: HookContext, handler: Handler) -> HookOutput:
    """The answer of the event's handler, and of the step."""
    if limits.is_off(hook):
        return handler(hook)
    return _Event(hook, handler).answer()


class _Event:
    def __init__(self, hook: HookContext, handler: Handler) -> None:
        self.hook = hook
        self.handler = handler
        self.run = runs.find_run(hook.store, hook.event)
        data = self.run.to_data() if self.run else None
        self.bound = Binding(str(hook.store.place.state), _asked(hook.event.raw), data)

    def answer(self) -> HookOutput:
        name = self.hook.event.name
        try:
            self.begin()
            record = self.record()
        except step_states.BrokenState as error:
            return self.broken(error)
        except (BridgeError, ValueError, OSError) as error:
            return self.unread(str(error))
        if record is None:
            if name in ("UserPromptSubmit", "Stop"):
                _remove_stale_sign(self.hook)
            return self.handler(self.hook)
        if name == "PreToolUse":
            return self.before_call(record)
        if not self.bound.is_own:
            return self.handler(self.hook)
        if name in _MOVES:
            return self.move()
        if name == "Stop":
            return self.stop(record)
        if name == "SubagentStop":
            return self.held_back(record, block) or self.handler(self.hook)
        output = self.handler(self.hook)
        return self.said_again(output, record) if name == "SessionStart" else output

    def record(self) -> StepRecord | None:
        """The record of the workflow that binds the event, as hostbridge wrote it."""
        return step_states.find(self.hook.store, self.holder())

    def holder(self) -> Holder:
        run = self.bound.run
        if run is not None:
            return Holder.agent(str(run["agentId"]))
        return Holder.session(self.hook.session.session_id)

    def here(self) -> Conversation:
        """Its conversation, as a workflow sees it."""
        return conversation_of(self.hook, self.run)

    def begin(self) -> None:
        """Begin the workflow of an agent of ours, if it has not begun it."""
        run = self.run
        state = str(self.hook.store.place.state)
        if run is not None and begins(state, run.to_data()):
            with suppress(step_states.WorkflowActive):
                begin_agents(self.hook, run)

    # Before a call

    def before_call(self, record: StepRecord) -> HookOutput:
        event = self.hook.event
        if event.tool == HANDBACK:
            held = self.held_back(record, deny) if self.bound.is_own else None
            return held or self.handler(self.hook)
        if self.bound.is_own and record.get("entering"):
            record = self.entered(record)
        is_plain_agent = event.is_agent_call and not _names_token(event.raw)
        if is_plain_agent and (why := self.bound.refusal(record)) is not None:
            return self.refused(why, is_noted=False)
        output = self.handler(self.hook)
        if b'"permissionDecision"' in output.stdout:
            return output
        if (why := self.bound.refusal(record)) is not None:
            return self.refused(why, is_noted=True)
        said = self.bound.warnings(record)
        if said:
            output = with_context(output, event.name, "\n".join(said))
        if self.bound.is_own and record.get("untold"):
            return self.told(output, _standing(record))
        return output

    def entered(self, record: StepRecord) -> StepRecord:
        """The record once the first step is entered, which was left to a hook."""
        with suppress(BridgeError, OSError):
            found = progress.advance(self.hook.store, self.here(), self.bound.fields)
            return found.record if found else record
        return record

    def refused(self, why: str, *, is_noted: bool) -> HookOutput:
        """Refuse a call; `is_noted` if it counts as a turn already."""
        hook, run = self.hook, self.run
        if run is not None and is_noted:
            limits.take_back(hook, run, why)
        elif run is not None:
            limits.note_refusal(hook, run, why, is_turn=True)
        return deny(why)

    def broken(self, error: step_states.BrokenState) -> HookOutput:
        """A record that is not as it was written: a session's workflow is over.

        That of an agent of ours stays, and binds it: it would begin anew.
        """
        if self.bound.run is None and not self.hook.event.agent_id:
            line = _end_broken(self.hook, self.holder(), error)
            if line is not None:
                return self.said_to_user(line)
        return self.unread(str(error))

    def unread(self, why: str) -> HookOutput:
        """A workflow that cannot be read, or not begun: it binds our own agents."""
        hook, event = self.hook, self.hook.event
        if event.name == "PreToolUse" and self.run is not None:
            if event.tool == HANDBACK:
                return self.handler(hook)
            said = UNREAD.format(why=why)
            limits.note_refusal(hook, self.run, said, is_turn=True)
            return deny(f"{said}\nAnswer that you are blocked, and by this.")
        if event.agent_id:
            return self.handler(hook)
        return self.said_to_user(f"the session's workflow is not in force: {why}")

    def said_to_user(self, line: str) -> HookOutput:
        """The answer of the event's handler, with a line for the user."""
        output = self.handler(self.hook)
        if self.hook.event.name in ("UserPromptSubmit", "SessionStart", "Stop"):
            return with_more(output, f"hostbridge: {line}")
        tell_later(self.hook, [line])
        return output

    # After a call, at a prompt

    def move(self) -> HookOutput:
        hook = self.hook
        output = self.handler(hook)
        try:
            found = progress.advance(hook.store, self.here(), self.bound.fields)
        except (BridgeError, OSError) as error:
            return self.noted(output, [f"the workflow does not go on: {error}"])
        if found is None:
            return output
        if b'"decision"' in output.stdout:
            # The model does not see this event: it is told at the next.
            return self.noted(output, found.problems)
        return self.noted(self.told(output, found), found.problems)

    def told(self, output: HookOutput, found: WorkflowProgress) -> HookOutput:
        """Say what the model has not been told, and note that once it is printed."""
        if not found.messages:
            return output
        text = _bounded(_words(found))
        output = with_context(output, self.hook.event.name, text)
        return self.noted_as_told(output, found)

    def noted_as_told(self, output: HookOutput, found: WorkflowProgress) -> HookOutput:
        return output.once_printed(partial(_note_told, self.holder(), found.rev))

    def noted(self, output: HookOutput, problems: Any) -> HookOutput:
        """Tell the user what a workflow could not do."""
        if not problems:
            return output
        if self.hook.event.agent_id:
            tell_later(self.hook, problems)
            return output
        return with_more(output, f"hostbridge: {'; '.join(problems)}")

    # At an end

    def stop(self, record: StepRecord) -> HookOutput:
        """Stop: the turn goes on if the step says so, and nothing else works on."""
        output = self.handler(self.hook)
        if b'"hookSpecificOutput"' in output.stdout or b'"decision"' in output.stdout:
            return output
        if agents_run(self.hook) or _works_on(self.hook.event.raw):
            return output
        return self.held(record, partial(context, "Stop")) or output

    def held_back(
        self, record: StepRecord, refuse: Callable[[str], HookOutput]
    ) -> HookOutput | None:
        """The answer to an agent of ours that ends before its workflow does."""
        hook, run = self.hook, self.run
        if run is None or not self.bound.is_own or _works_on(hook.event.raw):
            return None
        if hook.store.clock.monotonic_s() * 1000 >= run.answer_at:
            return None
        if hook.store.find_unfinished(RequestId(run.request_id)) is None:
            return None
        return self.held(record, lambda said: refuse(f"hostbridge: {said}"))

    def held(
        self, record: StepRecord, refuse: Callable[[str], HookOutput]
    ) -> HookOutput | None:
        """The answer to an end that is none yet: what had to wait, or the step's."""
        found = self.overdue() if record.get("waits") else None
        if found is not None and found.moved:
            return self.noted_as_told(refuse(_bounded(_words(found))), found)
        # What cannot be counted would be said for ever.
        with suppress(BridgeError, OSError):
            said = progress.stop(self.hook.store, self.here(), self.bound.fields)
            return None if said is None else refuse(said)
        return None

    def overdue(self) -> WorkflowProgress | None:
        """Go on after the events whose deeds had to wait."""
        with suppress(BridgeError, OSError):
            return progress.advance(self.hook.store, self.here())
        return None

    # Anew

    def said_again(self, output: HookOutput, record: StepRecord) -> HookOutput:
        """SessionStart: the conversation is compacted, cleared or resumed."""
        found = _standing(record)
        if found.is_active:
            said = introduction(record)
            before = [text for text in found.messages if text != said]
            found = replace(found, messages=(*before, said))
        return self.told(output, found)


def _standing(record: StepRecord) -> WorkflowProgress:
    return WorkflowProgress(
        record, tuple(text for _rev, text in record.get("untold", ()))
    )


def _words(found: WorkflowProgress) -> str:
    return "\n\n".join(found.messages)


def _asked(raw: Json) -> Json:
    """The event; a notice of the client's is no prompt of a person's."""
    prompt = raw.get("prompt")
    if not isinstance(prompt, str):
        return raw
    from bridge.host.notices import is_notice

    return {**raw, "prompt": None} if is_notice(prompt) else raw


def _names_token(raw: Json) -> bool:
    tool_input = raw.get("tool_input")
    fields = tool_input if isinstance(tool_input, dict) else {}
    return any(mentions(str(fields.get(key))) for key in ("prompt", "description"))


def _works_on(raw: Json) -> bool:
    """Whether something works in the background that will speak again.

    Source: measured on Claude Code 2.1.330: an agent in the background is itself one of
    the tasks of its own SubagentStop, and running.
    """
    tasks, own = raw.get("background_tasks"), raw.get("agent_id")
    return isinstance(tasks, list) and any(
        isinstance(task, dict)
        and task.get("type") in _SPEAKS
        and (own is None or task.get("id") != own)
        for task in tasks
    )


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_CONTEXT else text[: MAX_CONTEXT - len(_CUT)] + _CUT


def _note_told(holder: Holder, rev: int, hook: HookContext) -> None:
    with suppress(BridgeError, OSError):
        progress.told(hook.store, holder, rev)


def _end_broken(
    hook: HookContext, holder: Holder, broken: step_states.BrokenState
) -> str | None:
    """Put a broken record aside; what its user is told, None if it stays."""
    try:
        with step_states.changing(hook.store) as state:
            step_states.put_aside(state, holder, broken.why)
    except (BridgeError, OSError):
        return None
    _remove_stale_sign(hook)
    return (
        f"the session's workflow has ended, and is not in force: {broken.path} "
        f"{broken.why}. It was put aside, see `hostbridge doctor`"
    )


def _remove_stale_sign(hook: HookContext) -> None:
    """Remove the sign of a session in which no workflow is left, under any id."""
    with suppress(StateUnavailable, OSError), step_states.changing(hook.store) as state:
        step_states.remove_sign(state, hook.session.session_id, hook.session.ids)
