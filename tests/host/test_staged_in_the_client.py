"""The real client: a validator runs a command in a checkout of what is staged."""

import json
import re

import pytest
from claudeworld import command
from gitworld import Repository
from hostworld import host_world
from validatorworld import APPROVED

from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

DEFINITION = """\
description: Looks at a file.
prompt: Look at it.
tools: [Bash, Read]
context: [change]
allow: ["Bash(cat a)"]
output_schema:
  type: object
  required: [verdict, summary, checks]
  properties:
    verdict: {enum: [APPROVED, REJECTED, NEEDS_REVIEW]}
    summary: {type: string}
    checks: {type: array, items: {type: object}}
"""


def test_its_command_sees_what_is_staged(tmp_path):
    """By the grants that it has in the project, in the folder where it begins."""
    seen = []

    def model(request):
        folder = re.search(r"Work in the folder (\S+), a worktree", request.prompt)
        if folder is None or "StructuredOutput" not in request.tools:
            return reply("ok")
        calls = [
            ("Bash", {"command": "cat a", "description": "d"}),
            ("Read", {"file_path": f"{folder[1]}/a"}),
            ("StructuredOutput", {k: v for k, v in APPROVED.items() if k != "issues"}),
        ]
        said = sum(item.get("role") == "assistant" for item in request.messages)
        seen[:] = [each.text for each in request.tool_results] or seen
        return reply(tool_use(*calls[said]) if said < len(calls) else "done")

    with host_world(tmp_path, model) as world:
        repository = Repository(world.stage.project)
        repository.write("a", "staged\n")
        repository.git("add", "a")
        repository.write("a", "not staged\n")
        world.define("looks", DEFINITION)
        words = ("validate", "--staged", "--with", "looks", "--route", "claude")
        ran = command(world, *words, "--json")
        entries = list((world.stage.project / ".git/worktrees").iterdir())

    said = json.loads(ran.stdout)
    assert (ran.returncode, said["verdict"]) == (0, "APPROVED"), (ran, seen)
    assert seen, ran
    assert all("staged" in each and "not staged" not in each for each in seen), seen
    assert entries == []
