"""An earlier answer is reused, in the real client: its model's requests are counted."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hostworld import HostWorld, host_world

from bridge.shipped import agents_folder
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

if TYPE_CHECKING:
    from bridge.api.result import Result
    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

GOOD = '{"status": "success", "summary": "s"}'
# Questions that make the agent look in one way, each once.
LOOKS = {
    "Read it.": ("Read", {"file_path": "PROJECT/src/a.py"}),
    "Find them.": ("Glob", {"pattern": "src/**/*.py"}),
    "Search.": ("Grep", {"pattern": "one", "path": "PROJECT/src", "glob": "*.py"}),
    "Run it.": ("Bash", {"command": "cat src/a.py", "description": "Show"}),
    "Browse.": ("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "What?"}),
}
_SEARCHES = {"Read", "Glob", "Grep"}
LOOKER = "description: d\nprompt: '{{ task }}'\ntools: [Read, Grep, Glob]\n"


class Counted:
    """A session whose agents look, and how often they were asked anything."""

    world: HostWorld
    asked = 0

    def agent(self, prompt: str, request: ApiRequest) -> Answer:
        self.asked += 1
        wanted = next((look for text, look in LOOKS.items() if text in prompt), None)
        if wanted is None or request.own_calls:
            return reply(GOOD)
        tool, arguments = wanted
        given = json.dumps(arguments).replace("PROJECT", str(self.world.stage.project))
        return reply(tool_use(tool, json.loads(given)))

    def ask(self, prompt: str) -> tuple[Result[object], int]:
        """The answer, and how many requests its agent's model got for it."""
        before = self.asked
        # Only what cannot run commands has the client's tools for searching.
        agent = "looker" if LOOKS[prompt][0] in _SEARCHES else "Explore"
        result = self.world.bridge.ask(prompt, agent, cached=True, timeout_s=90)
        return result, self.asked - before


def test_the_model_is_asked_again_exactly_when_something_has_changed(tmp_path):
    """Read, Glob, Grep and Bash by the client's own tools; and what reaches outside."""
    counted = Counted()
    with host_world(tmp_path, obedient_model(counted.agent)) as world:
        counted.world = world
        world.define("looker", LOOKER)
        reader = world.stage.home / ".claude" / "agents" / "hostbridge-reader.md"
        reader.parent.mkdir(parents=True, exist_ok=True)
        reader.write_bytes((agents_folder() / reader.name).read_bytes())
        world.allow("Bash(cat *)", "WebFetch")
        source = world.stage.project / "src" / "a.py"
        source.parent.mkdir()
        source.write_text("one\n")
        time.sleep(0.1)
        with world.stream():
            first = {prompt: counted.ask(prompt) for prompt in LOOKS}
            world.wait_until_forgotten()
            same = {prompt: counted.ask(prompt) for prompt in LOOKS}
            world.wait_until_forgotten()
            (source.parent / "new.py").write_text("two\n")
            new = {prompt: counted.ask(prompt) for prompt in LOOKS}

    assert not any(result.cached for result, _ in first.values())
    assert all(count for _, count in first.values())
    never = {"Browse."}
    assert {prompt for prompt, (_, count) in same.items() if count} == never
    assert {p for p, (result, _) in same.items() if not result.cached} == never
    assert {prompt for prompt, (_, count) in new.items() if count} == {
        *never,
        "Find them.",
        "Search.",
        "Run it.",
    }
