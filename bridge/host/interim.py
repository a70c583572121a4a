"""Whether an agent that stops will speak again: then its words are not the answer.

An agent may start agents and commands of its own in the background. When it stops
before they end, the client wakes it at each end, and what it says then counts.

    agents/<agent_id>.held   what it said last while agents of its own were at work

An agent of its own counts as unfinished until the agent has been told of its end. That
is in the transcript of the one who is told; whether the other still runs is not enough:
one that ends while its caller speaks is told of only afterwards.

Source: measured on Claude Code 2.1.330. SubagentStop comes with each stop of an agent;
the notice that it has finished comes once, when nothing that it started is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bridge.host import runs, toolcalls, transcript

if TYPE_CHECKING:
    from bridge.host.runs import AgentRun
    from bridge.host.scene import Scene

# What will wake an agent that stops now.
Expects = Literal["nothing", "command", "agents"]


def note_waits(scene: Scene, run: AgentRun) -> tuple[AgentRun, Expects]:
    """Write down what of its own will wake a stopping agent again.

    The client lists what runs in the whole session; an agent in the foreground is not
    listed, and not waited for: its call ends now. Of what SubagentHandback interrupts
    no list is told.
    """
    listed = scene.event.background_ids
    if scene.session.one_shot or (listed is not None and run.agent_id not in listed):
        agents, commands = frozenset[str](), frozenset[str]()
    else:
        agents = _agents_it_will_hear_of(scene, run)
        commands = toolcalls.background_commands(scene.store, run)
        commands &= listed or frozenset()
    waits_for = tuple(sorted(agents | commands))
    if waits_for != run.waits_for:
        run = runs.change(scene.store, run, lambda r: r.with_(waits_for=waits_for))
    return run, "agents" if agents else "command" if commands else "nothing"


def _agents_it_will_hear_of(scene: Scene, run: AgentRun) -> frozenset[str]:
    """The agents of its own whose end it has not been told."""
    listed = scene.event.background_ids or frozenset()
    runs.bind_listed(scene.store, scene.event)
    started = runs.started_by(scene.store, run)
    # Continued, an agent ends once more.
    ends = {
        each.agent_id: each.ends + (each.state != "ended" or each.agent_id in listed)
        for each in started
    }
    # Where one surely runs there is nothing to wait for in the transcript.
    patience_s = 0 if listed & ends.keys() else transcript.WRITTEN_S
    return transcript.untold(scene.event, run.agent_id, ends, patience_s=patience_s)


def note_message(scene: Scene, caller: AgentRun) -> None:
    """PreToolUse(SendMessage): one that has ended is continued, and ends again."""
    to = scene.event.table("tool_input").get("to")
    run = runs.find_agent(scene.store, to) if isinstance(to, str) else None
    if run is not None and run.nested and run.request_id == caller.request_id:
        runs.change(scene.store, run, lambda r: r.with_(state="running", ended_at=None))


def is_awaited(run: AgentRun, known: list[AgentRun], running: frozenset[str]) -> bool:
    """Whether anything that will wake a sleeping agent runs.

    An agent of its own may sleep as well: then only what that one waits for is listed.
    """
    if not running.isdisjoint(run.waits_for):
        return True
    return any(
        is_awaited(each, known, running)
        for each in known
        if each.nested and each.parent == run.agent_id and each.agent_id
    )
