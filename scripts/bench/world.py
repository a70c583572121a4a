"""A project with a session that our hooks have registered, as a client leaves it.

Hooks run by the same command lines that an install registers. Requests are dropped as
files, as any program may drop them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.timing import Ran, run
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.host.conversations import conversation_in
from bridge.host.hook_table import HOOKS, form_of
from bridge.store.sessions import live_sessions
from bridge.workflows import progress
from bridge.workflows.reader import find_workflow

FOLDER = Path(__file__).resolve().parents[2] / "hooks"
FORM = form_of("local", FOLDER, sys.executable)


class World:
    """One project under `root`, its session and its state."""

    def __init__(self, root: Path, name: str) -> None:
        """Make the project and let the hooks see the session start."""
        self.home = root / "home"
        self.project = root / name
        (self.project / ".git").mkdir(parents=True)
        self.session = f"session-{name}"
        self.transcript = self.home / "transcripts" / f"{self.session}.jsonl"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CLAUDECODE": "1",
            "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDE_PROJECT_DIR": str(self.project),
            "BRIDGE_AGENTS_PER_HOUR": "1000000",
        }
        self.state = Path(f"{self.home}/.hostbridge/state{self.project}/@")
        self.hook("always", "SessionStart", source="startup")
        self._session_file = self.state / "sessions" / f"{self.session}.json"
        self._registered = self._session_file.read_bytes()

    def hook(
        self, script: str, event: str, *, tools: str = "bash", **fields: Any
    ) -> Ran:
        """Run one hook as the client does; `tools` is the class of a called tool."""
        data = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        same = {h for h in HOOKS if (h.script, h.event) == (script, event)}
        (hook,) = {h for h in same if len(same) == 1 or h.tools == tools}
        command = ["/bin/sh", *FORM.arguments(hook)]
        ran = run(command, self.environment, json.dumps(data).encode())
        assert ran.exit_code == 0, (script, event, ran)
        return ran

    def folder(self, name: str) -> Path:
        """One folder of the state."""
        folder = self.state / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def drop_request(self, request_id: str, **fields: Any) -> Path:
        """Drop a request, which then waits."""
        request = {
            "requestId": request_id,
            "agentType": "general-purpose",
            "prompt": "Which modules lack tests?",
            "createdAt": int(time.time() * 1000),
            "timeout": 3_600_000,
            **fields,
        }
        file = self.folder("requests") / f"{request_id}.json"
        file.write_text(json.dumps(request) + "\n")
        return file

    def finish_requests(self, count: int) -> None:
        """Leave `count` answered requests that waited at the same time."""
        waiting = [self.drop_request(f"done-{number}") for number in range(count)]
        done, responses = self.folder("done"), self.folder("responses")
        for file in waiting:
            (responses / file.name).write_text('{"success": true}\n')
            file.rename(done / file.name)

    def start_agents(self, count: int) -> None:
        """Pretend that agents of ours run in this session."""
        for number in range(count):
            name = f"agent{number}"
            (self.folder("agents") / f"{name}.json").write_text(
                json.dumps({"agentId": name, "requestId": f"r{number}"}) + "\n"
            )
            (self.folder("agents") / f"{name}.calls").write_text("{}\n" * 20)

    def begin_workflow(self, text: str) -> None:
        """Begin a step workflow in the session, and have its model told the step."""
        folder = self.home / ".hostbridge" / "workflows"
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / "bench.yaml"
        file.write_text(text)
        settings = Settings(home=folder.parent, claude_dir=self.home / ".claude")
        bridge = Bridge(settings, self.project)
        (session,) = live_sessions(bridge.store)
        code = find_workflow(settings, self.project, "bench").compiled()
        with bridge.store.open() as store:
            here = conversation_in(settings, store, session)
            progress.begin(store, here, code, by="person")
        self.hook("turn", "UserPromptSubmit", prompt="go")

    def start_over(self) -> None:
        """Forget every request and agent; the session stays."""
        for name in ("requests", "processing", "responses", "done", "agents"):
            for file in self.folder(name).iterdir():
                file.unlink()
        for ending in ("offer", "looked"):
            self._session_file.with_suffix(f".{ending}").unlink(missing_ok=True)
        self._session_file.write_bytes(self._registered)
