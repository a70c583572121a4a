"""Agents of `validate` and `build`, as an open session would have them answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordinatorworld import make_repository

from bridge.protocol.response import Response

if TYPE_CHECKING:
    from cli.conftest import Project

    from bridge.protocol.request import Request

CHECK = {"name": "intent", "passed": True}
APPROVED = {"verdict": "APPROVED", "summary": "fine", "checks": [CHECK], "issues": []}
ISSUE = {"severity": "error", "file": "shop.py", "line": 1, "message": "a price of 1"}
REJECTED = APPROVED | {"verdict": "REJECTED", "summary": "wrong", "issues": [ISSUE]}
UNDECIDED = APPROVED | {"verdict": "NEEDS_REVIEW", "summary": "cannot tell"}


def response(parsed: Any, **facts: Any) -> Response:
    """What a validator's request came to; its answer is of its own form."""
    fields = {
        "request_id": "r1",
        "success": True,
        "status": "completed",
        "parsed_output": parsed,
        "own_form": True,
        "completed_at": 5,
        "duration": 1500,
        "route": "host",
    }
    return Response(**{**fields, **facts})


class Validators:
    """What each agent says, in turn, the last for ever; `prompts` has what was asked.

    A developer also writes what it is to write next.
    """

    def __init__(self, project: Project, **said: list[dict[str, Any]]) -> None:
        self.project = project
        self.said = {name.replace("_", "-"): [*each] for name, each in said.items()}
        self.asked: list[str] = []
        self.prompts: list[str] = []
        self.changes: list[str] = []
        self.texts = ["def price(): return 2\n"]

    def __call__(self, request: Request) -> str:
        name = request.agent_type
        self.asked.append(name)
        self.prompts.append(request.prompt)
        self.changes.append(request.context.get("change", ""))
        if name == "developer":
            folder = Path(request.folder or self.project.folder)
            (folder / "shop.py").write_text(next_of(self.texts))
            files = {"files": ["shop.py"], "evidence": []}
            return json.dumps({"status": "success", "summary": "built"} | files)
        return json.dumps(next_of(self.said.get(name, [APPROVED])))

    def prompts_of(self, name: str) -> list[str]:
        """What an agent was asked, each time."""
        pairs = zip(self.asked, self.prompts, strict=True)
        return [prompt for asked, prompt in pairs if asked == name]


def next_of(left: list[Any]) -> Any:
    """The next of a list, whose last stays."""
    return left.pop(0) if len(left) > 1 else left[0]


def change(project: Project) -> None:
    """A repository with a change that is not committed."""
    make_repository(project.folder)
    (project.folder / "shop.py").write_text("def price(): return 2\n")
