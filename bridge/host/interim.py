"""Whether an agent that stops will speak again: then its words are not the answer.

An agent may start its own agents and commands in the background. If it stops before
they end, the client wakes it at each end, and its words then count.

    agents/<agent_id>.report   the last words of an agent that one of ours started

A nested agent counts as unfinished until its caller has been told of its end. The
caller's transcript shows that; that the nested agent no longer runs is not enough. If
it ends while its caller stops, the client sometimes tells the caller, and sometimes the
main thread instead: then we hand the report over, and the caller goes on.

Source: measured on Claude Code 2.1.330. At a terminal SubagentStop comes with each stop
of an agent, and the notice that it has finished once, when nothing that it started is
left. Without one the client wakes no agent when another ends: see
`bridge.host.agent_calls`.
"""

import time
from typing import NamedTuple

from bridge.host import runs, transcript
from bridge.host.context import HookContext
from bridge.protocol.hook_output import HookOutput, deny
from bridge.store import subagent_runs, tool_calls
from bridge.store.subagent_runs import AgentRun

# The hook of an agent that ends at the same moment has still to run; in seconds.
SETTLE_S = 0.2
MAX_REPORTS = 8_000
REPORT = (
    "hostbridge: agents that you started have ended meanwhile. Read what they report, "
    "then answer."
)


class Ahead(NamedTuple):
    """The ends that an agent which stops now has still to hear of.

    `agents` are at work, and the client wakes it when they end; `reports` tells it what
    others reported whose end it has not heard of; `commands` run in the background.
    """

    agents: bool = False
    commands: bool = False
    reports: str = ""

    @property
    def is_interim(self) -> bool:
        """Whether what the agent says now cannot be its answer."""
        return self.agents or self.reports != ""


def look_ahead(hook: HookContext, run: AgentRun) -> tuple[AgentRun, Ahead]:
    """Write down what will wake a stopping agent again.

    The client lists what runs in the whole session; an agent in the foreground is not
    listed, and not waited for: its call ends now. With SubagentHandback no list comes.
    """
    listed = hook.event.background_ids
    if hook.session.one_shot or (listed is not None and run.agent_id not in listed):
        return _wait_for(hook, run, frozenset()), Ahead()
    commands = tool_calls.background_commands(hook.store, run.agent_id) & (
        listed or frozenset()
    )
    left = unreported(hook, run)
    at_work = {each.agent_id for each in left if each.state != "ended"}
    if at_work:
        time.sleep(SETTLE_S)
        left = unreported(hook, run)
        at_work = {each.agent_id for each in left if each.state != "ended"}
    run = _wait_for(hook, run, commands | at_work)
    if at_work or not left:
        return run, Ahead(agents=bool(at_work), commands=bool(commands))
    heard = (*run.heard_of, *(_end_of(each) for each in left))
    run = subagent_runs.change(hook.store, run, lambda r: r.with_(heard_of=heard))
    return run, Ahead(commands=bool(commands), reports=_reports(hook, left))


def _wait_for(hook: HookContext, run: AgentRun, tasks: frozenset[str]) -> AgentRun:
    waits_for = tuple(sorted(tasks))
    if waits_for == run.waits_for:
        return run
    return subagent_runs.change(hook.store, run, lambda r: r.with_(waits_for=waits_for))


def unreported(hook: HookContext, run: AgentRun) -> list[AgentRun]:
    """The agents it started of whose end neither the client nor we have told it.

    An agent that is continued ends once more, and its caller hears of that end as well.
    """
    runs.bind_listed(hook.store, hook.event)
    started = {
        each.agent_id: each for each in subagent_runs.started_by(hook.store, run)
    }
    ends = {
        agent_id: each.ends + (each.state != "ended")
        for agent_id, each in started.items()
        if each.state != "ended" or _end_of(each) not in run.heard_of
    }
    # While one is at work, there is nothing to wait for in the transcript.
    at_work = any(started[agent_id].state != "ended" for agent_id in ends)
    found = transcript.unreported(
        hook.event,
        run.agent_id,
        ends,
        patience_s=0 if at_work else transcript.WRITTEN_S,
    )
    return [started[agent_id] for agent_id in sorted(found)]


def _end_of(run: AgentRun) -> str:
    return f"{run.agent_id}:{run.ends}"


def _reports(hook: HookContext, ended: list[AgentRun]) -> str:
    share = MAX_REPORTS // len(ended)
    said = []
    for each in ended:
        words = (
            subagent_runs.report_of(hook.store, each) or "It ended without a report."
        )
        cut = "…" if words[share:] else ""
        said.append(f"Agent {each.agent_id}:\n{words[:share]}{cut}")
    return "\n\n".join([REPORT, *said])


def refuse_message(hook: HookContext, caller: AgentRun) -> HookOutput | None:
    """PreToolUse(SendMessage): an agent that has ended is continued, and ends again.

    Nobody else hears of a request but by its answer: to the main thread, or to another
    session, an agent's words would be a prompt.
    """
    to = hook.event.table("tool_input").get("to")
    run = subagent_runs.find_agent(hook.store, to) if isinstance(to, str) else None
    if run is not None and run.nested and run.request_id == caller.request_id:
        subagent_runs.change(
            hook.store, run, lambda r: r.with_(state="running", ended_at=None)
        )
    elif "SendMessage" not in (caller.tools or ()):
        return deny(
            "hostbridge: an agent of a request may write to the agents that it has "
            "started, and to nobody else. What you have to say belongs in your answer."
        )
    return None


def may_be_woken(
    hook: HookContext,
    run: AgentRun,
    known: list[AgentRun],
    running: frozenset[str] | None = None,
) -> bool:
    """Whether an agent that has stopped unseen waits for anything that it has begun.

    `running` are the tasks that the client lists; without them nobody knows what of all
    that has ended.
    """
    if hook.session.one_shot:
        return False
    tasks = tool_calls.background_commands(hook.store, run.agent_id)
    begun = [e for e in known if e.nested and e.parent == run.agent_id and e.agent_id]
    if running is None:
        at_work = any(each.state != "ended" for each in begun)
        return bool(run.waits_for or tasks) or at_work
    tasks |= {each.agent_id for each in begun}
    return is_awaited(run.with_(waits_for=tuple(tasks)), known, running)


def is_awaited(run: AgentRun, known: list[AgentRun], running: frozenset[str]) -> bool:
    """Whether anything that will wake a sleeping agent runs.

    A nested agent may sleep as well: then only what it waits for is listed.
    """
    if not running.isdisjoint(run.waits_for):
        return True
    return any(
        is_awaited(each, known, running)
        for each in known
        if each.nested and each.parent == run.agent_id and each.agent_id
    )
