"""What a client writes down of the agents of a session."""

import json
from itertools import count
from pathlib import Path
from typing import Any

# Agents, and calls, of all worlds of a test.
numbers = count(1)


class Transcripts:
    """The transcripts of one session's agents, and the notes beside them."""

    def __init__(self, folder: Path) -> None:
        self.transcripts = folder
        self.session = "session-1"
        # By call: what its agent is asked, and how the call is described.
        self.prompts: dict[str, str] = {}
        self.descriptions: dict[str, str] = {}

    def start(self, call: str, *, below: str | None = None) -> str:
        """Have the client start the agent of a call; returns the agent's id.

        Its prompt is what the call was rewritten to, or what `prompts` says by now.
        """
        agent = f"agent{next(numbers)}"
        folder = self.transcripts / self.session / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        meta = {"description": self.descriptions.get(call, "d"), "toolUseId": call}
        if below is not None:
            meta["parentAgentId"] = below
        (folder / f"agent-{agent}.meta.json").write_text(json.dumps(meta))
        if call in self.prompts:
            message = {"role": "user", "content": self.prompts[call]}
            first = json.dumps({"type": "user", "message": message})
            (folder / f"agent-{agent}.jsonl").write_text(f"{first}\n")
        return agent

    def hears(self, agent: str, message: str) -> None:
        """Have the client write down a message to an agent that is asked again."""
        said = {"role": "user", "content": f"A message:\n{message}\n\nEnd."}
        with self.transcript(agent).open("a") as file:
            line = {"type": "user", "isMeta": True, "message": said}
            file.write(json.dumps(line) + "\n")

    def writes(self, agent: str, *content: dict[str, Any]) -> None:
        """Have the client write down what an agent's model says."""
        message = {"role": "assistant", "content": list(content)}
        with self.transcript(agent).open("a") as file:
            line = {"type": "assistant", "message": message}
            file.write(json.dumps(line) + "\n")

    def notify(self, agent: str, ended: str) -> None:
        """Have the client wake an agent with the end of one of its own."""
        words = f"<task-notification>\n<task-id>{ended}</task-id>\n</task-notification>"
        message = {"role": "user", "content": words}
        notice = {"type": "user", "message": message, "isMeta": True, "origin": {}}
        sent = {"type": "api-request-blob", "message": message}
        with self.transcript(agent).open("a") as file:
            for each in (notice, sent):
                file.write(json.dumps(each, separators=(",", ":")) + "\n")

    def says(
        self, agent: str, message: str, *calls: str, text: str = "", **fields: Any
    ) -> None:
        """Have the client write down a message of an agent that makes these calls."""
        content = [{"type": "tool_use", "id": call, "name": "Read"} for call in calls]
        content += [{"type": "text", "text": text}] if text else []
        said = {"role": "assistant", "id": message, "content": content, **fields}
        with self.transcript(agent).open("a") as file:
            line = {"type": "assistant", "message": said}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def finishes(self, agent: str) -> None:
        """Have the client note that an agent is not at work any more."""
        file = self.transcript(agent).with_suffix(".meta.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"finished": True}))

    def took(self, agent: str, message: str, tokens: int, **fields: Any) -> None:
        """Have the client write down a message of an agent, and what it took."""
        usage = {"input_tokens": tokens, "output_tokens": 1}
        self.says(agent, message, **{"model": "claude-m-1", "usage": usage, **fields})

    def transcript(self, agent: str) -> Path:
        """Where the client writes down what an agent says."""
        return self.transcripts / self.session / "subagents" / f"agent-{agent}.jsonl"
