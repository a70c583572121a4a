"""Hooks without a client: recorded events, answered in this process.

    with hook_world(tmp_path, monkeypatch) as world:
        request = world.submit("Say hello.")
        world.say("UserPromptSubmit", prompt="hello")
        agent = world.start(world.launch(request))
        world.stop(agent, "{}")

A process that sleeps stands for the client.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from clienttranscripts import Transcripts, numbers

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.host import after_hook, dispatch
from bridge.protocol.hook_output import HookOutput
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.response import Response
from bridge.store import Found
from bridge.store.clock import SystemClock
from bridge.store.sessions import Session, live_sessions
from bridge.store.subagent_runs import AgentRun, all_runs

GOOD = '{"status": "success", "summary": "s"}'


class HookWorld(Transcripts):
    """One project and one session, whose client is this process."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, client_pid: int
    ) -> None:
        super().__init__(root / "transcripts")
        self._patch = monkeypatch
        self.home = root / "home"
        self.project = root / "project"
        self.project.mkdir()
        # The install that registered the hooks; without one, none is asked for.
        self.kind = ""
        for name in list(os.environ):
            if name.startswith(("BRIDGE_", "CLAUDE")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(self.project))
        monkeypatch.setenv("CLAUDE_PID", str(client_pid))
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", self.session)
        monkeypatch.setenv("BRIDGE_REQUESTER", "a test")
        # Nothing watches for wake-ups here.
        monkeypatch.setattr(after_hook, "LOOKS_S", ())
        self.bridge = Bridge(Settings.from_environment(), self.project)
        self.store = self.bridge.store

    def set_clock(self, seconds: float) -> None:
        """Set the wall clock of hooks, from where it stands."""
        before = SystemClock.now_us

        def now_us(clock: SystemClock) -> int:
            return before(clock) + int(seconds * 1_000_000)

        self._patch.setattr(SystemClock, "now_us", now_us)

    def pass_time(self, seconds: float) -> None:
        """Have time go by, by the clock that nobody sets."""
        before = SystemClock.monotonic_s
        self._patch.setattr(
            SystemClock, "monotonic_s", lambda clock: before(clock) + seconds
        )

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event as the client writes it."""
        return {
            "hook_event_name": name,
            "session_id": self.session,
            "transcript_path": str(self.transcripts / f"{self.session}.jsonl"),
            "cwd": str(self.project),
            "permission_mode": "default",
            **fields,
        }

    def fire(self, name: str, **fields: Any) -> HookOutput:
        """Answer one event, and do what follows the answer."""
        output = self.answer(name, **fields)
        if output.printed is not None:
            output.printed()
        if output.later is not None:
            output.later()
        return output

    def answer(self, name: str, **fields: Any) -> HookOutput:
        """Answer one event, and leave what follows the answer undone."""
        data = orjson.dumps(self.event(name, **fields))
        return dispatch.answer(data, name, self.kind)

    def say(self, name: str, **fields: Any) -> dict[str, Any]:
        """Answer one event; the JSON on stdout, empty for none."""
        stdout = self.fire(name, **fields).stdout
        return json.loads(stdout) if stdout else {}

    def start_again(self) -> None:
        """Have the same client begin another session, as by `/clear`."""
        self.say("SessionEnd", reason="clear")
        self.session = f"session-{next(numbers)}-again"
        self._patch.setenv("CLAUDE_CODE_SESSION_ID", self.session)
        time.sleep(0.05)
        self.say("SessionStart", source="clear")

    def submit(self, prompt: str = "Say hello.", **fields: Any) -> RequestId:
        """Ask without waiting."""
        return self.bridge.submit(prompt, **fields)

    def drop(self, request_id: str, **fields: Any) -> None:
        """Ask by writing a file, as a program in any language may."""
        record = {"requestId": request_id, "agentType": "general-purpose", **fields}
        folder = self.store.place.state / "requests"
        folder.mkdir(exist_ok=True)
        (folder / f"{request_id}.json").write_text(json.dumps(record))

    def define(self, name: str, text: str = "") -> Path:
        """Define an agent of the user's own."""
        file = self.bridge.settings.home / "agents" / f"{name}.yaml"
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text(f"name: {name}\n{text}")
        return file

    def set_permissions(self, **rules: list[Any]) -> Path:
        """Have the user's settings in the project say this; the file."""
        settings = self.project / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"permissions": rules}))
        return settings

    def variables(self) -> dict[str, Any]:
        """What was set in the only session, by name."""
        (file,) = (self.store.place.state / "sessions").glob("*.vars.json")
        known = json.loads(file.read_bytes())["variables"]
        return {name: each["value"] for name, each in known.items()}

    def change(self, folder: str, name: str, **fields: object) -> None:
        """Change a record on disk."""
        file = self.store.place.state / folder / f"{name}.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | fields))

    def found(self, request: RequestId) -> Found:
        """The request as it stands."""
        return self.bridge.status(request)

    def code(self, request: RequestId) -> str | None:
        """How a request ended: a failure code, success, or None while it has not."""
        response = self.found(request).response
        if response is None:
            return None
        return response.error.code if response.error else "success"

    def response(self, request: str) -> Response:
        """The response to a request that has ended."""
        response = self.found(check_id(request)).response
        assert response is not None
        return response

    def launch(self, request: str, **fields: Any) -> str:
        """Have the model make the call; returns the call's id."""
        call = f"toolu_{next(numbers)}"
        output = self.call_agent(f"bridge:{request}", tool_use_id=call, **fields)
        assert output["permissionDecision"] == "allow", output
        self.prompts[call] = output["updatedInput"]["prompt"]
        self.descriptions[call] = output["updatedInput"]["description"]
        return call

    def call_agent(
        self, prompt: str, description: str = "b", **fields: Any
    ) -> dict[str, Any]:
        """Have the model call Agent; the decision, empty if the call is untouched."""
        call = {"description": description, "prompt": prompt}
        fields.setdefault("tool_use_id", f"toolu_{next(numbers)}")
        said = self.say("PreToolUse", tool_name="Agent", tool_input=call, **fields)
        output: dict[str, Any] = said.get("hookSpecificOutput", {})
        return output

    def use(self, agent: str, tool: str = "Read", **fields: Any) -> dict[str, Any]:
        """Have an agent call a tool; what the hook says."""
        fields.setdefault("tool_use_id", f"toolu_{next(numbers)}")
        return self.say("PreToolUse", agent_id=agent, tool_name=tool, **fields)

    def permission(
        self, agent: str, tool: str = "Bash", mode: str = "default", **arguments: Any
    ) -> dict[str, Any]:
        """Have an agent need a permission; what is decided."""
        fields = {"tool_name": tool, "tool_input": arguments, "permission_mode": mode}
        said = self.say("PermissionRequest", agent_id=agent, **fields)
        decision: dict[str, Any] = said["hookSpecificOutput"]["decision"]
        return decision

    def send(
        self, request: str, agent: str = "", **fields: Any
    ) -> tuple[str, dict[str, Any]]:
        """Have the model send a request to an agent that has answered.

        Returns the call's id, and the decision about it.
        """
        call = fields.setdefault("tool_use_id", f"toolu_{next(numbers)}")
        message = {"to": agent, "message": f"bridge:{request}", "summary": "s"}
        said = self.say(
            "PreToolUse", tool_name="SendMessage", tool_input=message, **fields
        )
        output: dict[str, Any] = said.get("hookSpecificOutput", {})
        return call, output

    def resume(self, call: str, agent: str, output: dict[str, Any], **said: Any) -> Any:
        """Have the client do what a call of SendMessage came to; what a hook says."""
        sent = output["updatedInput"]
        response = {"success": True, "resumedAgentId": agent} | said
        if response["success"]:
            self.hears(agent, sent["message"])
        return self.say(
            "PostToolUse",
            tool_name="SendMessage",
            tool_use_id=call,
            tool_input=sent,
            tool_response=response,
        )

    def answered(self, **fields: Any) -> tuple[RequestId, str]:
        """Ask, and have an agent answer; the client has told of its end."""
        request, call, agent = self.begin(**fields)
        self.stop(agent)
        self.notice(agent, **{"tool-use-id": call})
        return request, agent

    def begin(self, **fields: Any) -> tuple[RequestId, str, str]:
        """Ask, offer, launch and start; returns request, call and agent."""
        request = self.submit(**fields)
        self.say("UserPromptSubmit", prompt="hello")
        call = self.launch(request)
        return request, call, self.start(call)

    def working(self, **fields: Any) -> tuple[RequestId, str]:
        """Begin, and have the agent call its first tool; returns request and agent."""
        request, _, agent = self.begin(**fields)
        self.use(agent)
        return request, agent

    def note_command(self, file: str, request: str, depth: int = 0, **fields: Any):
        """Note a Bash call of an agent as one that runs right now."""
        host = self.runs()[0].host.to_data()
        note = {"agentId": "a", "requestId": request, "depth": depth, "host": host}
        path = self.store.place.state / "agents" / file
        path.write_text(json.dumps(note | fields))

    def nest(self, agent: str, **fields: Any) -> str:
        """Have an agent start one of its own in the background; returns its id."""
        call = f"toolu_{next(numbers)}"
        arguments = {"prompt": "inner", "description": "n"}
        fields |= {"agent_id": agent, "tool_name": "Agent", "tool_use_id": call}
        self.say("PreToolUse", tool_input=arguments, **fields)
        self.prompts[call] = "inner"
        nested = self.start(call)
        launched = {"isAsync": True, "status": "async_launched", "agentId": nested}
        self.say("PostToolUse", tool_input=arguments, tool_response=launched, **fields)
        return nested

    def stop(self, agent: str, words: str | None = GOOD, **fields: Any) -> Any:
        """Have an agent stop with some last words."""
        if words is not None:
            fields["last_assistant_message"] = words
        return self.say("SubagentStop", agent_id=agent, **fields)

    def notice(self, agent: str, status: str = "completed", **fields: str) -> Any:
        """Have the client tell that an agent has ended."""
        parts = {"task-id": agent, "status": status, "summary": 'Agent "d" f', **fields}
        lines = "\n".join(f"<{name}>{text}</{name}>" for name, text in parts.items())
        prompt = f"<task-notification>\n{lines}\n</task-notification>"
        return self.say("UserPromptSubmit", prompt=prompt)

    def live(self) -> list[Session]:
        """The sessions that are open."""
        return live_sessions(self.store)

    def runs(self) -> list[AgentRun]:
        """The agents that are known."""
        return all_runs(self.store)


def running(*agents: str) -> list[dict[str, str]]:
    """Background tasks as the client lists them."""
    return [{"id": each, "type": "subagent", "status": "running"} for each in agents]


@contextmanager
def hook_world(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    """A project with one session that has just begun."""
    client = subprocess.Popen(["sleep", "600"])
    try:
        world = HookWorld(root, monkeypatch, client.pid)
        world.fire("SessionStart", source="startup", model="claude-m-1")
        yield world
    finally:
        client.kill()
        client.wait()
