"""What is written down of tool calls: those of our subagents, and a session's own.

    agents/<agent_id>.calls     the tool calls seen in it, one JSON line each
    agents/<agent_id>.noted     there while each of them could be written down
    agents/<tool_use_id>.bash   a Bash call of it that is running right now
    agents/<tool_use_id>.background   one whose command goes on in the background, or
                                stands in a skill's text: nobody tells of its end

    sessions/<id>.callers.json    who called our MCP server's tools
    sessions/<id>.handovers.json  calls that rules have handed to agents

`bridge.bound.call_notes` writes the notes on subagents' calls, and loads nothing of
this.

The MCP server is told the id of a call, and nothing else that holds: its process
outlives `/clear` with the old session's id, and one server serves a session with all
its agents. A hook sees each call first and writes down whose it is; without that the
server cannot tell.

A call that was handed over meets the same request when it is made again while that is
open. The key stands for the rule, who made the call, and what it says. Only whoever
made the call may start the agent: the agent's id is beside the request, empty for the
main thread.

Source: the client starts its shell by `bash -c "… && eval 'COMMAND' && …"`, measured on
2.1.330; `_meta` of tools/call there.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.claim import HostProcess, SessionId
from bridge.protocol.plain_types import field
from bridge.protocol.record import Record, json_lines, json_object
from bridge.protocol.value import Value
from bridge.store.book import Book
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import identify
from bridge.store.store import Store

CALLS, NOTED = ".calls", ".noted"
BASH = ".bash"
BACKGROUND = ".background"
_OPEN = (BASH, BACKGROUND)
# Characters that a command may hold in another form once its shell quotes it.
_MARKS = str.maketrans("", "", "'\"\\ \t\r\n")

# Begins the key of handed-over work that no call waits for.
BESIDE = "beside "
# Of work that a process of its own does: the session starts no agent for it. The key
# goes once somebody has been told the answer.
HEADLESS = "headless "
# Callers and handovers of one session; the oldest go first. A call may wait for a
# person's yes before the server hears of it.
_MAX_KEPT = 200
_MAX_ID = 1000
_MAX_BYTES = 1024 * 1024

# By key: the request, and the agent that made the call.
Handovers = dict[str, tuple[str, str]]

if TYPE_CHECKING:
    from bridge.protocol.claimed_commands import ToolCall


class RunningCall(NamedTuple):
    """A Bash call that is running: the request of its agent, its depth, the agent.

    `is_sure` is false where others run beside it, and it may be one of those.
    """

    request_id: str
    depth: int
    agent_id: str
    is_sure: bool


def running_bash(store: Store, pid: int, shell: str = "") -> RunningCall | None:
    """The Bash call of an agent of a host process that is running.

    `shell` is the command line of the shell that the client started for the call, if
    known: it contains the command. Otherwise the deepest counts; one in the background
    counts only by its command, since others run beside it.
    """
    client = identify(pid)
    notes = _open_calls(store, BASH, pid, client)
    beside = _open_calls(store, BACKGROUND, pid, client) if shell else []
    words = _plain(shell)
    named = {
        command: note
        for note in (*beside, *notes)
        if (command := _plain(str(note.get("command") or "")))
        and f"eval{command}" in words
    }
    # The longest match is the whole command, not just its beginning.
    chosen = [named[max(named, key=len)]] if named else notes
    found = [
        RunningCall(
            str(note.get("requestId")),
            int(note["depth"]),
            str(note.get("agentId")),
            is_sure=bool(named) or not shell,
        )
        for note in chosen
    ]
    return max(found, key=lambda call: call.depth, default=None)


def _open_calls(
    store: Store, suffix: str, pid: int, client: HostProcess | None
) -> list[dict[str, Any]]:
    """The notes of this client's calls."""
    found = []
    with store.state() as state:
        for name in state["agents"].names(suffix):
            with suppress(NotAPlainFile):
                note = json_object(state["agents"].read(f"{name}{suffix}"))
                depth = note.get("depth")
                if not isinstance(depth, int) or depth < 0:
                    continue
                if _names(note.get("host"), pid, client):
                    found.append(note)
    return found


def _plain(command: str) -> str:
    """A command without the marks that a shell's quotes add to it."""
    return command.translate(_MARKS)


def forget(folder: Folder, agent_id: str) -> None:
    """Remove what is beside the notes of a subagent's calls."""
    folder.remove(agent_id + NOTED)
    files = [name + suffix for suffix in _OPEN for name in folder.names(suffix)]
    for file in files:
        with suppress(NotAPlainFile):
            if json_object(folder.read(file)).get("agentId") == agent_id:
                folder.remove(file)


def seen_calls(store: Store, agent_id: str) -> list[ToolCall]:
    """The tool calls that hooks saw in a subagent, oldest first."""
    # Most hooks judge nothing, and the import is slow.
    from bridge.protocol.claimed_commands import ToolCall

    calls: dict[str, ToolCall] = {}
    notes = _notes(store, agent_id)
    begun = Counter(str(note.get("id")) for note in notes if "at" in note)
    for note in notes:
        with suppress(KeyError, TypeError):
            if note.get("refused") is True:
                calls.pop(note["id"], None)
                continue
            known = calls.get(note["id"])
            command, folder = note.get("command"), note.get("cwd")
            if not isinstance(command, str):
                command = known.command if known else None
            if not isinstance(folder, str):
                folder = known.folder if known else None
            calls[note["id"]] = ToolCall(
                tool=note["tool"],
                tool_use_id=note["id"],
                command=command,
                # A model may give two calls one id: nobody knows whose end that was.
                ok=note.get("ok") if begun[note["id"]] == 1 else None,
                folder=folder,
            )
    return list(calls.values())


def begin_notes(store: Store, agent_id: str) -> None:
    """Make the file for notes of an agent that no gate watches."""
    with store.state() as state:
        state["agents"].touch(agent_id + CALLS)


def starts_of(store: Store, agent_id: str) -> dict[str, str]:
    """The folder in which each command of an agent started, by the call's id.

    Of an id that two calls have, nobody knows.
    """
    notes = _notes(store, agent_id)
    begun = Counter(str(note.get("id")) for note in notes)
    return {
        call: folder
        for note in notes
        if begun[call := str(note.get("id"))] == 1
        and isinstance(folder := note.get("cwd"), str)
    }


def notes_on(store: Store, agent_id: str) -> list[dict[str, Any]]:
    """What was written down of a subagent's calls that ran, oldest first.

    Of calls that share an id nobody knows which was refused: they count as run.
    """
    notes = _notes(store, agent_id)
    begun = Counter(str(note.get("id")) for note in notes if "at" in note)
    refused = {
        call
        for note in notes
        if note.get("refused") is True and begun[call := str(note.get("id"))] == 1
    }
    return [note for note in notes if str(note.get("id")) not in refused]


def are_all_noted(store: Store, agent_id: str) -> bool:
    """Whether each of an agent's calls that a hook saw was written down, readably."""
    with store.state() as state:
        folder = state["agents"]
        lines = (folder.read(agent_id + CALLS) or b"").splitlines()
        return folder.has(agent_id + NOTED) and all(map(json_object, lines))


def noted_ids(store: Store, agent_id: str) -> frozenset[str]:
    """The ids of all calls that a hook has noted, those that were refused too."""
    return frozenset(str(note.get("id")) for note in _notes(store, agent_id))


def background_commands(store: Store, agent_id: str) -> frozenset[str]:
    """The client's ids of the commands that a subagent has in the background."""
    tasks = (note.get("task") for note in _notes(store, agent_id))
    return frozenset(task for task in tasks if isinstance(task, str))


def _names(note: object, pid: int, client: HostProcess | None) -> bool:
    """Whether a note is of this client.

    In a restarted container, another client commonly gets the pid of the one before. A
    command in a sandbox cannot see its client: it knows only the pid.
    """
    if client is None:
        return isinstance(note, dict) and note.get("pid") == pid
    return bool(note == client.to_data())


def _notes(store: Store, agent_id: str) -> list[dict[str, Any]]:
    """What the gate wrote down about a subagent, line by line."""
    if not agent_id:
        return []
    with store.state() as state:
        return json_lines(state["agents"].read(f"{agent_id}.calls") or b"")


class Agent(Value):
    """The agent that makes a call, and the client's name for its kind.

    Without an id it is the main thread.
    """

    agent_id: str = ""
    agent_type: str = ""


class SessionAgent(NamedTuple):
    """A session, and who in it."""

    session_id: str
    agent: Agent


class Callers(Record):
    """The latest calls of one session, by the call's id."""

    session_id: SessionId
    calls: dict[str, Agent] = field(default_factory=dict)


_CALLERS = Book.of("sessions", Callers, ".callers.json")


def caller_of(store: Store, tool_use_id: str) -> SessionAgent | None:
    """Who made a call, by its `claudecode/toolUseId`; None if no hook saw it."""
    if not store.exists():
        return None
    for known in _CALLERS.all(store):
        if tool_use_id in known.calls:
            return SessionAgent(known.session_id, known.calls[tool_use_id])
    return None


def note_caller(store: Store, caller: SessionAgent, tool_use_id: str) -> None:
    """Write down who makes a call."""
    if not 0 < len(tool_use_id) <= _MAX_ID:
        return

    def noted(known: Callers | None) -> Callers:
        calls = {**(known.calls if known else {}), tool_use_id: caller.agent}
        kept = dict(list(calls.items())[-_MAX_KEPT:])
        return Callers(session_id=caller.session_id, calls=kept)

    _CALLERS.change(store, caller.session_id, noted)


def find_handover(store: Store, session_id: str, key: str) -> str | None:
    """The request that a call was handed to; None if it never was."""
    found = _known(store, session_id).get(key)
    return found[0] if found else None


def handed_over(store: Store, session_id: str) -> set[str]:
    """The requests that rules have made there, of whatever kind."""
    return {request for request, _agent in _known(store, session_id).values()}


def callers(store: Store, session_id: str) -> dict[str, str]:
    """By request, the agent whose call was handed over."""
    return {
        request: agent
        for key, (request, agent) in _known(store, session_id).items()
        if not key.startswith((BESIDE, HEADLESS))
    }


def untold(store: Store, session_id: str) -> dict[str, str]:
    """The requests that processes of their own work on, or have answered, by key."""
    return {
        key: request
        for key, (request, _agent) in _known(store, session_id).items()
        if key.startswith(HEADLESS)
    }


def note_handover(
    store: Store, session_id: str, key: str, request: str | None, agent_id: str = ""
) -> None:
    """Write down the request of a call; None forgets it."""

    def noted(before: Handovers | None) -> Handovers:
        known = {name: each for name, each in (before or {}).items() if name != key}
        if request is not None:
            known[key] = request, agent_id
        return dict(list(known.items())[-_MAX_KEPT:])

    _HANDOVERS.change(store, session_id, noted)


def forget_answer(store: Store, session_id: str, request_id: str) -> None:
    """Forget the work of a process of its own: nobody is to be told of it."""
    for key, known in untold(store, session_id).items():
        if known == request_id:
            note_handover(store, session_id, key, None)


def forget_handovers(store: Store, session_id: str) -> None:
    """Forget all that was given away: nobody waits for it any more."""
    _HANDOVERS.forget(store, session_id)


def _known(store: Store, session_id: str) -> Handovers:
    return _HANDOVERS.get(store, session_id) or {}


def _read_handovers(data: bytes) -> Handovers:
    return {
        key: (str(value[0]), str(value[1]))
        for key, value in json_object(data).items()
        if isinstance(value, list) and len(value) == 2  # noqa: PLR2004 - a pair
    }


_HANDOVERS = Book(
    "sessions", ".handovers.json", _read_handovers, plain_json.dumps, limit=_MAX_BYTES
)
