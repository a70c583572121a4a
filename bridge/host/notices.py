"""UserPromptSubmit: prompts, and the client's own notices that arrive the same way.

A notice that an agent of ours has ended is the last chance to see its end. If the host
does not need the answer, the notice is blocked: that saves a model request, and nothing
of the answer enters the host's context.

Source: measured on Claude Code 2.1.330.
"""

import re
from typing import NamedTuple

from bridge.bound.call_notes import name_of
from bridge.host import agent_usage, asking, runs
from bridge.host.capture import take_last_words
from bridge.host.client_errors import code_of
from bridge.host.context import HookContext
from bridge.host.missed_ends import end_without_words
from bridge.host.request_tokens import described_ids
from bridge.host.run_ends import fail, line_about
from bridge.host.waiting import look_soon
from bridge.protocol.hook_output import SILENT, HookOutput, swallow
from bridge.store import subagent_runs
from bridge.store.charges import note_tokens
from bridge.store.subagent_runs import AgentRun

_TASK = "<task-notification>"
_MESSAGE = re.compile(r"<agent-message\s+from=[\"']?([A-Za-z0-9_-]{1,128})[^>]*>")
_STOPPED = re.compile(
    r"(?:Background agent|\d+ background agents) .*stopped by the user", re.S
)
_TOKENS = re.compile(r"<subagent_tokens>([0-9]{1,15})</subagent_tokens>")
_QUOTED = re.compile(r'"[^"]*"')
# An agent with background commands of its own will speak again.
_INTERIM = "is waiting on its own background work"


class Notice(NamedTuple):
    """The client's notice about a subagent; `words` are the agent's, if any.

    `tokens` is what its last request to the model and the answer to it held: the sum of
    all is only in its transcript.
    """

    agent_id: str
    tool_use_id: str = ""
    status: str = ""
    summary: str = ""
    words: str = ""
    tokens: int | None = None

    @property
    def is_interim(self) -> bool:
        """Whether the agent goes on after this."""
        return _INTERIM in self.summary


def parse_notice(prompt: str) -> Notice | None:
    """Read a notice about an agent; None for a wake or for what a person typed.

    <task-notification> task-id tool-use-id? … status summary … result? …
    <agent-message from="ID"> … The report follows: words </agent-message>
    """
    text = prompt.lstrip()
    message = _MESSAGE.match(text)
    if message:
        framed = text[message.end() :].rpartition("</agent-message>")[0]
        lines = framed.partition("The report follows:\n")[2] or framed
        words = "\n".join(line.removeprefix("  ") for line in lines.splitlines())
        return Notice(message[1], status="message", words=words.strip())
    if not text.startswith(_TASK):
        return None
    # The agent's words may contain anything, even the end of this field.
    head, _, rest = text.partition("<result>")
    agent_id = _field(head, "task-id")
    if not agent_id:
        return None
    words, _, behind = rest.rpartition("</result>")
    tokens = _TOKENS.search(behind or head)
    return Notice(
        agent_id=agent_id,
        tool_use_id=name_of(_field(head, "tool-use-id")),
        status=_field(head, "status"),
        summary=_field(head, "summary"),
        words=words.strip(),
        tokens=int(tokens[1]) if tokens else None,
    )


def is_notice(prompt: str) -> bool:
    """Whether the client, not a person, wrote this."""
    return prompt.lstrip().startswith((_TASK, "<agent-message", "[SYSTEM NOTIFICATION"))


def _field(text: str, name: str) -> str:
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.S)
    return found[1].strip() if found else ""


def take_notice(hook: HookContext, notice: Notice) -> HookOutput | None:
    """Handle a notice about an agent of ours; None if it is about another."""
    run = subagent_runs.find_agent(hook.store, notice.agent_id)
    if run is None and notice.tool_use_id:
        run = subagent_runs.find_call(hook.store, notice.tool_use_id)
    if run is not None and _is_of_earlier(run, notice):
        host = hook.session.host
        note_tokens(hook.store, host, notice.tool_use_id, notice.tokens, is_rough=True)
        return swallow("hostbridge: the agent has answered before, and is at work")
    if run is None:
        call, host = notice.tool_use_id, hook.session.host
        note_tokens(hook.store, host, call, notice.tokens, is_rough=True)
        return None
    if run.state != "ended" and not run.nested:
        _settle(hook, run, notice)
    agent_usage.settle(hook, run, notice.tokens)
    if run.nested:
        # Its caller has ended; while the caller lives, the client tells only the
        # caller.
        subagent_runs.drop(hook.store, run)
        return swallow("hostbridge: an agent of an agent has ended")
    is_told = subagent_runs.is_told(hook.store, run)
    if notice.status == "message":
        subagent_runs.note_sign(hook.store, run, "heard")
    elif not notice.is_interim:
        subagent_runs.drop(hook.store, run)
        # It may be asked again from now on.
        look_soon(hook)
    is_for_host = run.answer_to_host and not asking.waits(hook, run.request_id)
    if not is_told and (is_for_host or hook.session.one_shot):
        return SILENT
    return swallow(line_about(hook, run.request_id))


def _is_of_earlier(run: AgentRun, notice: Notice) -> bool:
    """Whether a notice tells of an earlier answer of an agent that is asked again."""
    call = notice.tool_use_id
    return bool(run.continued_from and call) and call != run.tool_use_id


def _settle(hook: HookContext, run: AgentRun, notice: Notice) -> None:
    """The agent is over: the notice has its last words."""
    source = "task-notification"
    if notice.is_interim:
        return
    is_told = notice.status in ("completed", "message")
    if is_told and notice.words:
        take_last_words(hook, run, notice.words, source=source)
        return
    detail = _QUOTED.sub("", notice.summary, count=1)[:1000].strip()
    code = "agent_stopped" if notice.status == "killed" else code_of(detail)
    if notice.words:
        fail(hook, run, code, detail=detail, words=notice.words, source=source)
    else:
        end_without_words(hook, run, None if is_told else code, detail, source)


def take_stop_by_user(hook: HookContext, prompt: str) -> HookOutput | None:
    """A person stopped agents: the client names them by their descriptions.

    None if other agents than ours were stopped as well: the host should hear of those.
    """
    if not _STOPPED.match(prompt.lstrip()):
        return None
    ids = set(described_ids(prompt))
    others = [quoted.strip('"') for quoted in _QUOTED.findall(prompt)]
    lines = []
    for run in subagent_runs.all_runs(hook.store):
        if not ids & {run.request_id, run.continued_from}:
            continue
        if run.nested:
            # Its description is its caller's, which the client has written down.
            description = runs.client_notes(hook.event, run.agent_id).get("description")
            if description in others:
                others.remove(description)
                subagent_runs.drop(hook.store, run)
            continue
        end_without_words(hook, run, "agent_stopped", "by the user", "user")
        subagent_runs.drop(hook.store, run)
        lines.append(line_about(hook, run.request_id))
    others = [each for each in others if not described_ids(each)]
    return swallow("; ".join(lines)) if lines and not others else None
