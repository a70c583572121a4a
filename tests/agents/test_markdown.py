"""Markdown agents: their frontmatter, read as strictly as YAML."""

# ruff: noqa: E501 - whole messages, one a line

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentworld import World


def test_a_markdown_agent(world: World) -> None:
    """The words below the frontmatter are no template: Claude Code reads none."""
    found = world.load(
        "reviewer.md",
        """\
        ---
        name: reviewer
        description: Reads a change
        tools: Read, Grep
        disallowedTools:
          - Bash
        model: opus
        maxTurns: 3
        color: red
        ---

        You review. {{ not a template }}
        """,
    )

    definition = found.definition
    assert definition is not None, found.problems
    assert definition.model_dump(exclude_defaults=True, exclude={"source"}) == {
        "name": "reviewer",
        "description": "Reads a change",
        "system_prompt": "You review. {{ not a template }}",
        "model": "opus",
        "tools": ("Read", "Grep"),
        "blocked_tools": ("Bash",),
        "max_turns": 3,
    }
    assert (found.problems, definition.source.spelling) == ((), "markdown")


MARKDOWN = {
    "---\nname: a\ndescription: d\ntools: Agent(b, c), Read\n---\nHi": [
        "a.md:4: tools: 'Agent(b, c)': name the whole tool, Agent"
    ],
    "---\nname: a\ndescription: d\ndisallowedTools: Bash(git push *)\n---\nHi": [
        "a.md:4: disallowedTools: 'Bash(git push *)': name the whole tool, Bash"
    ],
    "---\nname: a\ndescription: d\ntools: Read, Bash(git diff *)\n---\nHi": [
        (
            "a.md:4: tools: 'Bash(git diff *)': name the whole tool, Bash; rules are for "
            "`allow` of a YAML agent"
        )
    ],
    "no frontmatter": [
        "a.md:1: expected frontmatter: --- on the first line, fields, ---"
    ],
    "---\nname: a\ndescription: d\n---\n": [
        "a.md:4: no prompt stands below the frontmatter"
    ],
    "---\nname: a\nmodle: opus\ntools: Read, Grap\npermissionMode: plan\n---\nHi": [
        "a.md:1: description: is missing",
        "a.md:3: modle: unknown field; did you mean 'model'?",
        "a.md:4: tools: no tool is named 'Grap'; did you mean 'Grep'?",
        (
            "a.md:5: warning: permissionMode: only the client itself acts on this; it is "
            "not used here"
        ),
    ],
}


@pytest.mark.parametrize("many", ["," * 100_000, "Read(" * 40_000, "a)" * 50_000])
def test_a_long_list_of_tools_is_read_at_once(world: World, many: str) -> None:
    """Anybody's file is read before it is trusted."""
    began_s = time.monotonic()

    world.load("a.md", f"---\nname: a\ndescription: d\ntools: '{many}'\n---\nHi")

    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize("text", MARKDOWN, ids=lambda t: t[:30])
def test_error_in_a_markdown_agent(world: World, text: str) -> None:
    told = world.problems("a.md", text)

    assert [t.replace("a.md:2: desc", "a.md:1: desc") for t in told] == MARKDOWN[text]
