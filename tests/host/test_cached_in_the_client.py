"""An earlier answer is reused, in the real client: its model's requests are counted."""

import json
import re
import time
from pathlib import Path

import pytest
from hostworld import HostWorld, host_world
from polling import wait_until

from bridge.api.result import Result
from bridge.freshness import kept_reads
from bridge.freshness.reads import path_in
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply, tool_use
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
        result = self.world.bridge.ask(prompt, agent, cached=True, timeout_s=300)
        return result, self.asked - before


def test_the_model_is_asked_again_exactly_when_something_has_changed(tmp_path):
    """Read, Glob, Grep and Bash by the client's own tools; and what reaches outside."""
    counted = Counted()
    with host_world(tmp_path, obedient_model(counted.agent)) as world:
        counted.world = world
        world.define("looker", LOOKER)
        world.add_reader()
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


def test_a_model_that_was_switched_in_the_session_is_asked_anew(tmp_path):
    """By `/model`, which starts no turn: the answer of the other one does not count."""
    models: list[str] = []

    def agent(_prompt, request):
        models.append(request.body["model"])
        return reply(GOOD)

    with (
        host_world(tmp_path, obedient_model(agent)) as world,
        world.terminal() as terminal,
    ):
        asked = [world.bridge.ask("Look.", cached=True, timeout_s=300)]
        world.wait_until_forgotten()
        asked.append(world.bridge.ask("Look.", cached=True))
        terminal.submit("/model haiku")
        terminal.wait_for_text("Yes, switch to Haiku")
        terminal.key("Enter")
        terminal.wait_for_text("Set model to Haiku")
        wait_until(lambda: "haiku" in world.live()[0].model, what="the model on record")
        asked.append(world.bridge.ask("Look.", cached=True, timeout_s=300))

    assert [result.cached for result in asked] == [False, True, False]
    assert ["haiku" in model for model in models] == [False, True]


def plant(world: HostWorld) -> dict[str, Path]:
    """Put a word of its own into each file that the client may show to an agent."""
    project, home = world.stage.project, world.stage.home
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    files = {
        "project": (
            project / "CLAUDE.md",
            "@docs/one.md\n@docs/part.md#b\n@docs/a\\ b.md\n",
        ),
        "part": (project / "docs/part.md", ""),
        "spaced": (project / "docs/a b.md", ""),
        "behind": (project / "common/c.md", ""),
        "imported": (project / "docs/one.md", "@two.md\n"),
        "deeper": (project / "docs/two.md", ""),
        "local": (project / "CLAUDE.local.md", ""),
        "inner": (project / ".claude/CLAUDE.md", ""),
        "rule": (project / ".claude/rules/x/r.md", ""),
        "above": (project.parent / "CLAUDE.md", ""),
        "beside": (project / "src/CLAUDE.md", "@near.md\n"),
        "near": (project / "src/near.md", ""),
        "skill": (project / ".claude/skills/s/SKILL.md", ""),
        "user": (home / ".claude/CLAUDE.md", ""),
        "users-rule": (home / ".claude/rules/u.md", ""),
        "memory": (home / f".claude/projects/{slug}/memory/MEMORY.md", ""),
    }
    for name, (file, more) in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        head = f"---\nname: s\ndescription: planted-{name}-word\n---\n"
        is_skill = name == "skill"
        file.write_text(f"{head if is_skill else ''}planted-{name}-word\n{more}")
    return {name: file for name, (file, _) in files.items()}


def test_all_that_the_client_shows_an_agent_is_what_its_answer_rests_on(tmp_path):
    """No call of the agent's reads it, and it may be what the answer is about."""

    def agent(_prompt, request):
        path = str(tmp_path / "project/src/a.py")
        if request.own_calls:
            return reply(GOOD)
        return reply(tool_use("Read", {"file_path": path}))

    with host_world(tmp_path, obedient_model(agent)) as world:
        files = plant(world)
        link = world.stage.project / ".claude/rules/shared"
        link.symlink_to("../../common")
        files["behind"] = link / "c.md"
        (world.stage.project / "src/a.py").write_text("one\n")
        time.sleep(0.1)
        with world.stream():
            assert not world.bridge.ask("Look.", cached=True, timeout_s=300).cached
        with world.store.state() as state:
            (reads,) = kept_reads.all_kept(state, world.stage.project)
        shown = {n for n in files if f"planted-{n}-word" in world.subagent_words()}

    assert reads.doubt == ""
    rests_on = set(reads.files) | {
        path_in(tree.root, name) for tree in reads.trees for name in tree.entries
    }
    shown_at_least = {"project", "imported", "deeper", "rule", "user", "beside"}
    assert shown >= shown_at_least | {"part", "spaced", "behind"}
    assert {name for name in shown if str(files[name]) not in rests_on} == set()
