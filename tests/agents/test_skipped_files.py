"""Agents in the client's folders that it skips, or does not start: said at once."""

import json
import re

import needs
import pytest

from bridge.agents.known_agents import check_agent
from bridge.errors import BadDefinition
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print

UNREAD = (
    "3: description: is not YAML, and Claude Code skips the file: put the text in "
    "quotes"
)
NO_TOOL = (
    "4: tools: Claude Code gives an agent none of these tools, and does not start it"
)
SKIPPED = {
    "description: Do.\n<example>\nuser: x\n</example>": UNREAD,
    "description: first\nsecond": UNREAD,
    "description: - x": UNREAD,
    "description: 'it's fine'": UNREAD,
    'description: "a \\d b"': UNREAD,
    "description: when x: y\r": UNREAD,
    'description: ""': "3: description: is empty: Claude Code skips such a file",
    "description: d\nhooks: x": "4: hooks: expected a mapping, got a string ('x'): "
    "Claude Code skips such a file",
}
NOT_STARTED = {
    "description: d\ntools: LS, WriteFile": NO_TOOL,
    "description: d\ntools: [read_file, MultiEdit]": NO_TOOL,
    "description: d\ntools: [Read": NO_TOOL,
}
MENDED = [
    "description: when x: y",
    'description: "a" and: b',
    "description: *x* {y} `z` @ %",
    "description: <example>user: x</example>",
    "description: d\ntools:\n\t- Read",
    "description: d\ntools: LS, Read",
    "description: d\ntools: []",
    "description: d\ntools: mcp__x__y",
    "description: |\n  a: b\n  <example>",
]


def text_of(fields: str, name: str = "a") -> str:
    end = "\r\n" if fields.endswith("\r") else "\n"
    lines = fields.rstrip("\r").split("\n")
    return end.join(["---", f"name: {name}", *lines, "---", "Do."])


@pytest.mark.parametrize(("fields", "why"), {**SKIPPED, **NOT_STARTED}.items())
def test_what_the_client_does_not_have_is_an_error(world, fields, why):
    """Where a session would have to have it; our own folders are read by us."""
    file = world.write("a.md", text_of(fields), "claude-user")

    with pytest.raises(BadDefinition) as caught:
        check_agent("a", world.registry)

    assert f"{file}:{why}" in [str(each) for each in caught.value.problems]


@pytest.mark.parametrize("fields", MENDED)
def test_what_the_client_mends_is_an_agent(world, fields):
    world.write("a.md", text_of(fields), "claude-user")

    check_agent("a", world.registry)


def test_another_file_may_define_it_all_the_same(world):
    """The client skips the one, and has the other."""
    world.write("a.md", text_of("description: - x"), "claude-project")
    world.write("b.md", text_of("description: d"), "claude-user")

    check_agent("a", world.registry)


@pytest.mark.host
def test_the_client_skips_these_and_no_others(tmp_path):
    files = {f"n{at}": fields for at, fields in enumerate([*MENDED, *SKIPPED])}
    with ScriptedApi(obedient_model()) as api:
        stage = Stage(tmp_path, api, program=needs.client())
        folder = stage.project / ".claude" / "agents"
        folder.mkdir(parents=True)
        for name, fields in files.items():
            (folder / f"{name}.md").write_bytes(text_of(fields, name).encode())
        run_print(stage, "hello")
        words = json.dumps(api.turns("main")[0].body)

    offered = {name for name in files if re.search(rf"- {name}: ", words)}
    assert offered == set(list(files)[: len(MENDED)])
