"""Markdown agents: what Claude Code loads is loaded here, too, with a warning."""

# ruff: noqa: E501 - whole messages, one a line

from __future__ import annotations

from typing import Any

import pytest
from agentworld import fields_of
from counted import at_most


def test_a_markdown_agent(world):
    """The prompt is not a template, as in Claude Code."""
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

    assert fields_of(found) == {
        "name": "reviewer",
        "description": "Reads a change",
        "system_prompt": "You review. {{ not a template }}",
        "model": "opus",
        "tools": ("Read", "Grep"),
        "blocked_tools": ("Bash",),
        "max_turns": 3,
    }
    assert (found.problems, found.definition.source.spelling) == ((), "markdown")


HEAD = "---\nname: a\ndescription: d\n"
# What the client loads: the file, the fields that are read, and the problems.
LOADS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "unknown fields": (
        f"{HEAD}category: quality\nversion: 1.2\nauthor: {{name: x}}\nmodle: opus\n---\nHi",
        {},
        [
            "a.md:4: warning: category: unknown field, ignored",
            "a.md:5: warning: version: unknown field, ignored",
            "a.md:6: warning: author: unknown field, ignored",
            "a.md:7: warning: modle: unknown field, ignored; did you mean 'model'?",
        ],
    ),
    "a field of the client's": (
        f"{HEAD}permissionMode: plan\ncolor: red\n---\nHi",
        {},
        [
            "a.md:4: warning: permissionMode: only Claude Code itself uses this field; ignored here"
        ],
    ),
    "unknown tools": (
        f"{HEAD}tools: Read, LS, WriteFile\n---\nHi",
        {"tools": ("Read", "LS", "WriteFile")},
        [
            "a.md:4: warning: tools: unknown tool 'LS'",
            "a.md:4: warning: tools: unknown tool 'WriteFile'",
        ],
    ),
    "agents among the tools": (
        f"{HEAD}tools: Agent(spec, developer), Read\n---\nHi",
        {"tools": ("Agent", "Read")},
        [],
    ),
    "a part of a tool": (
        f"{HEAD}tools: Bash(git diff *), Read\ndisallowedTools: Bash(git push *)\n---\nHi",
        {"tools": ("Bash", "Read"), "blocked_tools": ("Bash",)},
        [
            "a.md:4: warning: tools: 'Bash(git diff *)' counts as the whole tool, Bash; only a YAML agent can grant part of a tool, with `allow`",
            "a.md:5: warning: disallowedTools: 'Bash(git push *)' counts as the whole tool, Bash",
        ],
    ),
    "tools without commas": (
        f"{HEAD}tools: Read Grep\n---\nHi",
        {"tools": ("Read", "Grep")},
        [],
    ),
    "every tool": (f"{HEAD}tools: '*'\n---\nHi", {}, []),
    "tools in an item of a list": (
        f"{HEAD}tools:\n  - Read, Grep\n  - Bash\n---\nHi",
        {"tools": ("Read", "Grep", "Bash")},
        [],
    ),
    "the field for tools left empty": (
        f"{HEAD}tools:\n---\nHi",
        {"tools": ()},
        ["a.md:4: warning: tools: lists no tool, so the agent has none"],
    ),
    "a list of no tools": (
        f"{HEAD}tools: []\n---\nHi",
        {"tools": ()},
        ["a.md:4: warning: tools: lists no tool, so the agent has none"],
    ),
    "tools that are no list": (
        f"{HEAD}tools: {{Read: true}}\ndisallowedTools:\n---\nHi",
        {"tools": ()},
        [
            "a.md:4: warning: tools: expected tools, got a mapping; ignored",
            "a.md:4: warning: tools: lists no tool, so the agent has none",
        ],
    ),
    "words behind the second fence": (
        f"{HEAD}--- # end\nHi",
        {"system_prompt": "# end\nHi"},
        [],
    ),
    "an indented fence": (f"{HEAD}  ---\nHi", {}, []),
    "a line within a field": (
        "---\nname: a\ndescription: >\n  d\n\n  ---\n\n  more\ntools: Read\n---\nHi",
        {"description": "d\n", "system_prompt": "more\ntools: Read\n---\nHi"},
        [],
    ),
    "an unquoted colon": (
        "---\nname: a\ndescription: Use it when: a test fails. Examples: <x>user: hi</x>\ntools: [Read]\n---\nHi",
        {
            "description": "Use it when: a test fails. Examples: <x>user: hi</x>",
            "tools": ("Read",),
        },
        [
            "a.md:3: warning: description: not valid YAML, so read as plain text; put it in quotes"
        ],
    ),
    "a colon over two lines": (
        "---\nname: a\ndescription: First: this\n  then: that\n---\nHi",
        {"description": "First: this\n  then: that"},
        [
            "a.md:3: warning: description: not valid YAML, so read as plain text; put it in quotes"
        ],
    ),
    "a marked word": (
        "---\nname: a\ndescription: @you, `look`\n---\nHi",
        {"description": "@you, `look`"},
        [
            "a.md:3: warning: description: not valid YAML, so read as plain text; put it in quotes"
        ],
    ),
    "doubled keys": (
        f"{HEAD}model: opus\nmodel: haiku\n---\nHi",
        {"model": "haiku"},
        ["a.md:5: warning: model: duplicate key; the first is on line 4"],
    ),
    "doubled keys beside an unquoted colon": (
        "---\nname: a\ndescription: x: y\nmodel: opus\nmodel: haiku\n---\nHi",
        {"description": "x: y", "model": "haiku"},
        [
            "a.md:3: warning: description: not valid YAML, so read as plain text; put it in quotes",
            "a.md:5: warning: model: duplicate key; the first is on line 4",
        ],
    ),
    "tabs in a list": (
        f"{HEAD}tools:\n\t- Read\n\t- Grep\n---\nHi",
        {"tools": ("Read", "Grep")},
        [
            "a.md:4: warning: tools: YAML does not allow tabs as indentation; read as spaces"
        ],
    ),
    "no words": (
        f"{HEAD}---\n",
        {"system_prompt": None},
        ["a.md:2: warning: there is no prompt below the frontmatter"],
    ),
    "a foreign model": (
        f"{HEAD}model: gpt-5\n---\nHi",
        {},
        ["a.md:4: warning: model: unknown model 'gpt-5'; ignored"],
    ),
    "a model in capitals": (f"{HEAD}model: Sonnet\n---\nHi", {"model": "sonnet"}, []),
    "no turns": (
        f"{HEAD}maxTurns: 0\n---\nHi",
        {},
        [
            "a.md:4: warning: maxTurns: expected a number above 0, got an integer (0); ignored"
        ],
    ),
    "a word of YAML 1.1": (
        f"{HEAD}enabled: yes\n---\nHi",
        {},
        [
            "a.md:4: warning: enabled: unknown field, ignored",
            "a.md:4: warning: enabled: yes: quote it if it is text, or else write true or false",
        ],
    ),
    "a byte order mark": (f"\ufeff{HEAD}---\nHi", {}, []),
    "lines of Windows": (
        f"{HEAD}tools: Read\n---\nHi".replace("\n", "\r\n"),
        {"tools": ("Read",)},
        [],
    ),
}


@pytest.mark.parametrize("what", LOADS)
def test_what_the_client_loads_is_loaded(world, what):
    """Of 878 public agents, 360 have something that the client ignores."""
    text, read, problems = LOADS[what]

    found = world.load("a.md", text)

    assert found.definition is not None, found.problems
    fields = fields_of(found)
    expected = {"name": "a", "description": "d", "system_prompt": "Hi", **read}
    assert fields == {
        key: value for key, value in expected.items() if value is not None
    }
    folder = f"{found.file.parent}/"
    assert sorted(str(p).removeprefix(folder) for p in found.problems) == sorted(
        problems
    )


@pytest.mark.parametrize(
    "name", ["代码审查", "prüfer", "Code Reviewer", "a/b", "été-2", "C# pro"]
)
def test_a_name_in_any_script(world, name):
    world.write("x.md", f"---\nname: {name}\ndescription: d\n---\nHi\n")

    found = world.registry.find(name)

    assert found is not None
    assert found.name == name


def test_bytes_that_are_not_utf_8(world):
    """The client accepts them."""
    file = world.write("a.md", "")
    file.write_bytes(b"---\nname: a\ndescription: caf\xe9\n---\nHi")

    found = world.registry.find("a")

    assert found is not None
    assert found.description == "caf\ufffd"


ERRORS = {
    "no frontmatter": [
        "a.md:1: expected frontmatter: --- on the first line, fields, ---"
    ],
    "---\njust words\n---\nHi": [
        "a.md:2: expected a mapping of fields, got a string ('just words')"
    ],
    "---\nname: a\ndescription: 7\n---\nHi": [
        "a.md:3: description: expected a string, got an integer (7)"
    ],
    "---\nname: a\n---\nHi": ["a.md:2: description: is missing"],
    "---\ndescription: d\n---\nHi": ["a.md:2: name: is missing"],
    "---\nname: a<b\ndescription: d\n---\nHi": [
        "a.md:2: name: not a valid name: 'a<b'"
    ],
    '---\nname: "a\\u202eb"\ndescription: d\n---\nHi': [
        "a.md:2: name: not a valid name: 'a\\u202eb'"
    ],
}


@pytest.mark.parametrize("many", ["," * 100_000, "Read(" * 40_000, "a)" * 50_000])
def test_a_long_list_of_tools_takes_little_work(world, many):
    """A list of agents reads files that nobody has trusted yet."""
    with at_most(lines=10_000_000):
        world.load("a.md", f"---\nname: a\ndescription: d\ntools: '{many}'\n---\nHi")


@pytest.mark.parametrize("text", ERRORS, ids=lambda t: t[:30])
def test_error_in_a_markdown_agent(world, text):
    assert world.problems("a.md", text) == ERRORS[text]
