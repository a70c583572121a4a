"""Which subagent works on which request.

    agents/call-<tool_use_id>.json  an Agent call of ours; no subagent seen yet
    agents/<agent_id>.json          the subagent it became, or that it asks again; empty
                                    for one that somebody else has continued
    agents/<agent_id>.heard         its report has come to the host
    agents/<agent_id>.stopped       it has stopped
    agents/<agent_id>.report        its last words, of one that one of ours started
    agents/<agent_id>.vars          variables that were set in it
    agents/<agent_id>.steps         its workflow (`store.step_states`), if it has one
    agents/<tool_use_id>.wait       the turn waits for its answer (`host.answer_wait`)
    agents/<tool_use_id>.told       the turn has its answer

The gate's notes on an agent's tool calls are beside them: see `tool_calls`.
`bridge.host.runs` says which run an event belongs to.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from bridge.protocol.claim import HostProcess
from bridge.protocol.ids import is_id
from bridge.protocol.plain_types import field
from bridge.protocol.record import Count, Milliseconds, Record
from bridge.protocol.usage import Usage
from bridge.store import tool_calls
from bridge.store.book import OF_AN_AGENT, Book
from bridge.store.charges import note_end
from bridge.store.claim import host_is_gone
from bridge.store.directory import Folder
from bridge.store.state import State
from bridge.store.store import Store

_SIGNS = ("heard", "stopped")
_WAITS = (".wait", ".told")
_REPORT = ".report"


class AgentRun(Record):
    """One of our subagents, from its call on. Times are milliseconds since 1970.

    At `answer_by` it is told to answer now; `answer_at` is the same moment in
    milliseconds since this boot, since somebody may set the other clock.
    `nested` is a subagent that one of ours started: its answer is not ours, but it ends
    with the request and may not raise a dialog either. `warned_in` are the messages in
    which it was told to answer now. `waits_for` are its own background commands and
    agents that had not ended when it last stopped: the client wakes it when they end.
    `parent` is the agent that started a nested one, if it may be told of its end;
    `ends` counts how often it ended, since it may be continued. `heard_of` are the ends
    that we told it about. `folder` is where it works, if not in the project.

    From the definition of the agent: the `tools` it may call (None for all), those it
    may not, what is granted to it (`allow`), after how many calls it must answer
    (`max_turns`), how many were refused, whether success needs verified evidence. An
    agent that it starts has the same.

    For rules: the `variables` it began with, whether they stand alone or over those of
    the rules files (`replaces_variables`), the names of the agents `above`, itself
    first, and by layer the rule set that binds it (`rule_sets`). `workflow` is the name
    of what its conversation works through, if it does.

    An agent that had answered before is asked again by a message: its call is the one
    that sends that. `continued_from` is the request that began its conversation, by
    which the client's own notes describe it; `took_before` is what it had taken by
    then, and `took_below_before` what it and those below it had. One that `is_fork`
    began with the session's conversation. `model` is the one that the session had.
    """

    request_id: str
    tool_use_id: str
    session: str
    host: HostProcess
    agent_id: str = ""
    state: Literal["launched", "running", "ended"] = "launched"
    nested: bool = False
    parent: str = ""
    depth: Count = 0
    launched_at: Milliseconds
    answer_by: Milliseconds
    answer_at: Milliseconds = 0
    warned_in: tuple[str, ...] = ()
    prompt_sha256: str = ""
    answer_to_host: bool = False
    folder: str = ""
    ended_at: Milliseconds | None = None
    ends: Count = 0
    waits_for: tuple[str, ...] = ()
    heard_of: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    blocked_tools: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    max_turns: int | None = None
    refused: int = 0
    require_verified_evidence: bool = False
    variables: dict[str, Any] = field(default_factory=dict)
    replaces_variables: bool = False
    above: tuple[str, ...] = ()
    rule_sets: dict[str, Any] = field(default_factory=dict)
    workflow: str | None = None
    continued_from: str = ""
    is_fork: bool = False
    model: str = ""
    took_before: Usage | None = None
    took_below_before: Usage | None = None


_RUNS = Book.of("agents", AgentRun)
_REPORTS = Book(
    "agents",
    _REPORT,
    lambda data: data.decode("utf-8", "replace"),
    lambda words: words.encode("utf-8", "replace"),
)


def note_call(store: Store, run: AgentRun) -> None:
    """Write down a launched call; of an agent that is asked again, beside its id."""
    _RUNS.put(store, _name(run), run)


def find_call(store: State, tool_use_id: str) -> AgentRun | None:
    """The run that a call started, bound to a subagent or not yet."""
    with store.state() as state:
        run = _RUNS.get(state, _call(tool_use_id))
        if run is not None:
            return run
        return next((r for r in _RUNS.all(state) if r.tool_use_id == tool_use_id), None)


def bind(store: Store, run: AgentRun, agent_id: str) -> AgentRun:
    """Write down which subagent a call became."""
    if not is_id(agent_id) or run.agent_id == agent_id:
        return run
    with store.state() as state, state.hold_if_free():
        now = bound(run, agent_id)
        # Another hook may have been quicker, and the agent may have ended.
        known = _RUNS.get(state, agent_id)
        if known is not None and known.tool_use_id == run.tool_use_id:
            return known
        folder, call = state["agents"], f"{_call(run.tool_use_id)}.json"
        if not run.agent_id and not folder.has(call):
            return now
        _RUNS.put(state, agent_id, now)
        with suppress(OSError):
            folder.touch(f"{agent_id}{tool_calls.NOTED}")
        folder.remove(call)
        return now


def bound(run: AgentRun, agent_id: str) -> AgentRun:
    """The run once its subagent is known."""
    return run.with_(agent_id=agent_id, state="running")


def find_launched(store: Store, tool_use_id: str) -> AgentRun | None:
    """The run of a call for which no subagent has been seen yet."""
    return _RUNS.get(store, _call(tool_use_id))


def find_agent(store: Store, agent_id: str) -> AgentRun | None:
    """The bound run of a subagent."""
    return _RUNS.get(store, agent_id) if is_id(agent_id) else None


def change(
    store: Store, run: AgentRun, changed: Callable[[AgentRun], AgentRun]
) -> AgentRun:
    """Change a run as it stands now; returns the result.

    Hooks of several tool calls handle one agent at the same time, and another may see
    its end: each change must count, and a run that was forgotten meanwhile stays
    forgotten. Without the lock a conflict is rare, but everybody would wait for an end
    that was not noted.
    """
    with store.state() as state, state.hold_if_free():
        current = _RUNS.get(state, _name(run))
        if current is None and not run.agent_id:
            current = find_call(state, run.tool_use_id)
        if current is None:
            return changed(run)
        after = changed(current)
        _RUNS.put(state, _name(after), after)
        return after


def end(store: Store, run: AgentRun, *, tokens: int = 0) -> None:
    """Note that the subagent is over; a notice about it may still come.

    `tokens` is what it took by itself; 0 if that is not known.
    """
    now_ms = store.now_ms()

    def ended(current: AgentRun) -> AgentRun:
        if current.state == "ended":
            return current
        return current.with_(state="ended", ended_at=now_ms, ends=current.ends + 1)

    if run.state != "ended":
        change(store, run, ended)
        note_end(store, run.host, run.tool_use_id, again=True, tokens=tokens)


def note_sign(store: Store, run: AgentRun, sign: Literal["heard", "stopped"]) -> None:
    """Forget a subagent with a handback once both signs of its end are there.

    They come in any order, even at once: each is written before the other is looked
    for.
    """
    with store.folder("agents") as folder:
        folder.touch(f"{run.agent_id}.{sign}")
        complete = all(folder.has(f"{run.agent_id}.{each}") for each in _SIGNS)
    if complete:
        drop(store, run)


def drop(store: Store, run: AgentRun) -> None:
    """Forget a run, its call, and those calls of its agent that never ran.

    Another call for the same request may be the one that was launched: it stays.
    """
    with store.state() as state, state.hold_if_free():
        gone = {_name(run), _call(run.tool_use_id)}
        if not run.nested:
            gone |= {
                _call(each.tool_use_id)
                for each in _RUNS.all(state)
                if each.nested
                and each.request_id == run.request_id
                and not each.agent_id
            }
        for name in gone:
            _RUNS.forget(state, name)
        for sign in _WAITS:
            state["agents"].remove(run.tool_use_id + sign)
        if run.agent_id:
            _forget(state["agents"], run.agent_id)
    note_end(store, run.host, run.tool_use_id)


def forget_agent(store: Store, agent_id: str) -> None:
    """Forget a subagent by its id alone, whatever its record holds."""
    with store.state() as state, state.hold_if_free():
        _RUNS.forget(state, agent_id)
        _forget(state["agents"], agent_id)


def _forget(folder: Folder, agent_id: str) -> None:
    for sign in _SIGNS:
        folder.remove(f"{agent_id}.{sign}")
    for ending in (_REPORT, *OF_AN_AGENT):
        folder.remove(f"{agent_id}{ending}")
    tool_calls.forget(folder, agent_id)


def forget_gone(store: Store) -> None:
    """Forget the runs whose client is gone, by the same rule as sessions.

    A client that cannot be seen from here (it ran in a container) would otherwise stay
    until the next boot, and every tool call of every session would read its notes. Its
    hooks may be silent while one command runs: it counts as alive until it has to
    answer.
    """
    with store.state() as state:
        gone = [
            run
            for run in _RUNS.all(state)
            if host_is_gone(
                state,
                run.session,
                run.host,
                sign_ms=run.launched_at if run.state == "ended" else run.answer_by,
            )
        ]
    for run in gone:
        drop(store, run)


def keep_report(store: Store, run: AgentRun, words: str) -> None:
    """Keep the last words of an agent that one of ours started."""
    _REPORTS.put(store, run.agent_id, words)


def report_of(store: Store, run: AgentRun) -> str:
    """The last words of an agent that one of ours started; empty if there are none."""
    return _REPORTS.get(store, run.agent_id) or ""


def is_awaited(store: Store, run: AgentRun) -> bool:
    """Whether the turn that called the agent waits for its answer, or has it."""
    with store.folder("agents") as folder:
        return any(folder.has(run.tool_use_id + sign) for sign in _WAITS)


def is_told(store: Store, run: AgentRun) -> bool:
    """Whether the turn that called the agent has its answer."""
    with store.folder("agents") as folder:
        return folder.has(run.tool_use_id + _WAITS[1])


def started_by(store: Store, run: AgentRun) -> list[AgentRun]:
    """The agents that this one started, as far as they have been seen.

    An agent that it waited for in the foreground is forgotten when it ends. One that is
    asked again has heard of those that it started before.
    """
    return [
        each
        for each in all_runs(store)
        if each.nested
        and each.agent_id
        and each.parent == run.agent_id
        and each.request_id == run.request_id
    ]


def all_runs(store: Store) -> list[AgentRun]:
    """Every run on record."""
    return _RUNS.all(store)


def _name(run: AgentRun) -> str:
    return run.agent_id or _call(run.tool_use_id)


def _call(tool_use_id: str) -> str:
    return f"call-{tool_use_id}"
