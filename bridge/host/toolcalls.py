"""The tool calls of our subagents, as the gate writes them down.

    agents/<agent_id>.calls     the tool calls seen in it, one JSON line each
    agents/<tool_use_id>.bash   a Bash call of it that is running right now

Source: `bridge.host.gate`, which loads nothing of this.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from bridge.protocol.answer import ToolCall
from bridge.store.folder import NotAPlainFile
from bridge.store.process import identify

if TYPE_CHECKING:
    from bridge.host.runs import AgentRun
    from bridge.protocol.request import HostProcess
    from bridge.store.files import FileStore
    from bridge.store.folder import Folder


def running_bash_depth(store: FileStore, pid: int) -> tuple[str, int] | None:
    """The deepest request of a host process with a Bash call running, and its depth."""
    client = identify(pid)
    deepest: tuple[str, int] | None = None
    with store.open_state() as state, state.folder("agents") as folder:
        for name in folder.names(".bash"):
            with suppress(NotAPlainFile):
                told = _told(folder.read(f"{name}.bash"))
                depth = told.get("depth")
                if not isinstance(depth, int) or depth < 0:
                    continue
                if not _names(told.get("host"), pid, client):
                    continue
                if deepest is None or depth > deepest[1]:
                    deepest = str(told.get("requestId")), depth
    return deepest


def forget(folder: Folder, agent_id: str) -> None:
    """Remove what was written down of a subagent's calls."""
    folder.remove(f"{agent_id}.calls")
    for name in folder.names(".bash"):
        with suppress(NotAPlainFile):
            if _told(folder.read(f"{name}.bash")).get("agentId") == agent_id:
                folder.remove(f"{name}.bash")


def seen_calls(store: FileStore, run: AgentRun) -> list[ToolCall]:
    """The tool calls that hooks saw in a subagent, oldest first."""
    calls: dict[str, ToolCall] = {}
    for told in _notes(store, run):
        with suppress(KeyError, TypeError):
            known = calls.get(told["id"])
            command = told.get("command")
            if not isinstance(command, str):
                command = known.command if known else None
            calls[told["id"]] = ToolCall(
                tool=told["tool"],
                tool_use_id=told["id"],
                command=command,
                ok=told.get("ok"),
            )
    return list(calls.values())


def background_commands(store: FileStore, run: AgentRun) -> frozenset[str]:
    """The client's ids of the commands that a subagent has in the background."""
    tasks = (told.get("task") for told in _notes(store, run))
    return frozenset(task for task in tasks if isinstance(task, str))


def _names(told: object, pid: int, client: HostProcess | None) -> bool:
    """Whether a note is of this client.

    In a container that is started again, another client commonly has the pid of the
    one before. A command in a sandbox cannot see its client: it knows the pid alone.
    """
    if client is None:
        return isinstance(told, dict) and told.get("pid") == pid
    return bool(told == client.model_dump(mode="json", by_alias=True))


def _notes(store: FileStore, run: AgentRun) -> list[dict[str, Any]]:
    """What the gate wrote down about a subagent, line by line."""
    if not run.agent_id:
        return []
    with store.open_state() as state, state.folder("agents") as folder:
        data = folder.read(f"{run.agent_id}.calls") or b""
    return [told for line in data.splitlines() if (told := _told(line))]


def _told(data: bytes | None) -> dict[str, Any]:
    """A note as an object; empty for anything else."""
    try:
        told = orjson.loads(data or b"null")
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}
