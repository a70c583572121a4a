"""Markdown agents: what Claude Code loads is loaded here, too, with a warning."""

# ruff: noqa: E501 - whole messages, one a line

import pytest
from agentworld import fields_of
from counted import at_most


def test_a_markdown_agent(world):
    """The prompt is not a template, as in Claude Code."""
    text = "name: reviewer\ndescription: Reads a change\ntools: Read, Grep\ncolor: red"
    more = "disallowedTools:\n  - Bash\nmodel: opus\nmaxTurns: 3"
    words = "You review. {{ not a template }}"

    found = world.load("reviewer.md", f"---\n{text}\n{more}\n---\n\n{words}\n")

    assert fields_of(found) == {
        "name": "reviewer",
        "description": "Reads a change",
        "system_prompt": words,
        "model": "opus",
        "tools": ("Read", "Grep"),
        "blocked_tools": ("Bash",),
        "max_turns": 3,
    }
    assert (found.problems, found.definition.source.spelling) == ((), "markdown")


HEAD = "---\nname: a\ndescription: d\n"
NOT_YAML = "3: description: not valid YAML, so read as plain text; put it in quotes"
NO_TOOL = "4: tools: lists no tool, so the agent has none"
# What the client loads: below the head, or the whole file; and what is read.
LOADS = {
    "unknown fields": ("category: a\nversion: 1.2\nauthor: {b: c}\nmodle: opus", {}),
    "a field of the client's": ("permissionMode: plan\ncolor: red", {}),
    "unknown tools": ("tools: LS, WriteFile", {"tools": ("LS", "WriteFile")}),
    "agents": ("tools: Agent(spec, developer), Read", {"tools": ("Agent", "Read")}),
    "a part of a tool": (
        "tools: Bash(git diff *), Read\ndisallowedTools: Bash(git push *)",
        {"tools": ("Bash", "Read"), "blocked_tools": ("Bash",)},
    ),
    "tools without commas": ("tools: Read Grep", {"tools": ("Read", "Grep")}),
    "every tool": ("tools: '*'", {}),
    "every tool withheld": ("tools: Read\ndisallowedTools: '*'", {"tools": ()}),
    "every tool withheld in a list": ("disallowedTools: [Bash, '*']", {"tools": ()}),
    "tools in an item of a list": (
        "tools:\n  - Read, Grep\n  - Bash",
        {"tools": ("Read", "Grep", "Bash")},
    ),
    "the field for tools left empty": ("tools:", {"tools": ()}),
    "a list of no tools": ("tools: []", {"tools": ()}),
    "tools that are no list": ("tools: {Read: true}\ndisallowedTools:", {"tools": ()}),
    "words behind the fence": (f"{HEAD}--- # x\nHi", {"system_prompt": "# x\nHi"}),
    "an indented fence": (f"{HEAD}  ---\nHi", {}),
    "a line within a field": (
        "---\nname: a\ndescription: >\n  d\n\n  ---\n\n  more\ntools: Read\n---\nHi",
        {"description": "d\n", "system_prompt": "more\ntools: Read\n---\nHi"},
    ),
    "an unquoted colon": (
        "---\nname: a\ndescription: Use it when: a test fails. Examples: <x>user: hi</x>\ntools: [Read]\n---\nHi",
        {"description": "Use it when: a test fails. Examples: <x>user: hi</x>"}
        | {"tools": ("Read",)},
    ),
    "a colon over two lines": (
        "---\nname: a\ndescription: First: this\n  then: that\n---\nHi",
        {"description": "First: this\n  then: that"},
    ),
    "a marked word": ("---\nname: a\ndescription: @x\n---\nHi", {"description": "@x"}),
    "doubled keys": ("model: opus\nmodel: haiku", {"model": "haiku"}),
    "doubled keys beside an unquoted colon": (
        "---\nname: a\ndescription: x: y\nmodel: opus\nmodel: haiku\n---\nHi",
        {"description": "x: y", "model": "haiku"},
    ),
    "tabs in a list": ("tools:\n\t- Read\n\t- Grep", {"tools": ("Read", "Grep")}),
    "no words": (f"{HEAD}---\n", {"system_prompt": None}),
    "a foreign model": ("model: gpt-5", {}),
    "a model in capitals": ("model: Sonnet", {"model": "sonnet"}),
    "no turns": ("maxTurns: 0", {}),
    "a word of YAML 1.1": ("enabled: yes", {}),
    "a byte order mark": (f"\ufeff{HEAD}---\nHi", {}),
    "lines of Windows": (f"{HEAD}---\nHi".replace("\n", "\r\n"), {}),
}
# What it warns of, by the same names.
WARNINGS = {
    "unknown fields": "4: category: unknown field, ignored\n5: version: unknown field, ignored\n6: author: unknown field, ignored\n7: modle: unknown field, ignored; did you mean 'model'?",
    "a field of the client's": "4: permissionMode: only Claude Code itself uses this field; ignored here",
    "unknown tools": "4: tools: unknown tool 'LS'\n4: tools: unknown tool 'WriteFile'",
    "a part of a tool": "4: tools: 'Bash(git diff *)' counts as the whole tool, Bash; only a YAML agent can grant part of a tool, with `allow`\n5: disallowedTools: 'Bash(git push *)' counts as the whole tool, Bash",
    "the field for tools left empty": NO_TOOL,
    "a list of no tools": NO_TOOL,
    "tools that are no list": f"4: tools: expected tools, got a mapping; ignored\n{NO_TOOL}",
    "an unquoted colon": NOT_YAML,
    "a colon over two lines": NOT_YAML,
    "a marked word": NOT_YAML,
    "doubled keys": "5: model: duplicate key; the first is on line 4",
    "doubled keys beside an unquoted colon": f"{NOT_YAML}\n5: model: duplicate key; the first is on line 4",
    "tabs in a list": "4: tools: YAML does not allow tabs as indentation; read as spaces",
    "no words": "2: there is no prompt below the frontmatter",
    "a foreign model": "4: model: unknown model 'gpt-5'; ignored",
    "no turns": "4: maxTurns: expected a number above 0, got an integer (0); ignored",
    "a word of YAML 1.1": "4: enabled: unknown field, ignored\n4: enabled: yes: quote it if it is text, or else write true or false",
}


@pytest.mark.parametrize("what", LOADS)
def test_what_the_client_loads_is_loaded(world, what):
    """Of 878 public agents, 360 have something that the client ignores."""
    text, read = LOADS[what]
    text = text if "---" in text else f"{HEAD}{text}\n---\nHi"

    found = world.load("a.md", text)

    expected = {"name": "a", "description": "d", "system_prompt": "Hi"} | read
    assert fields_of(found) == {k: v for k, v in expected.items() if v is not None}
    problems = [str(p).partition("a.md:")[2] for p in found.problems]
    warnings = WARNINGS.get(what, "").splitlines()
    warnings = [each.replace(": ", ": warning: ", 1) for each in warnings]
    assert sorted(problems) == sorted(warnings)


@pytest.mark.parametrize(
    "name", ["代码审查", "prüfer", "Code Reviewer", "a/b", "été-2", "C# pro"]
)
def test_a_name_in_any_script(world, name):
    world.write("x.md", f"---\nname: {name}\ndescription: d\n---\nHi\n")

    assert world.registry.find(name).name == name


def test_bytes_that_are_not_utf_8(world):
    """The client accepts them."""
    file = world.write("a.md", "")
    file.write_bytes(b"---\nname: a\ndescription: caf\xe9\n---\nHi")

    assert world.registry.find("a").description == "caf\ufffd"


ERRORS = {
    "no frontmatter": "1: expected frontmatter: --- on the first line, fields, ---",
    "---\njust words\n---": "2: expected a mapping of fields, got a string ('just words')",
    "---\nname: a\ndescription: 7\n---": "3: description: expected a string, got an integer (7)",
    "---\nname: a\n---": "2: description: is missing",
    "---\ndescription: d\n---": "2: name: is missing",
    "---\nname: a<b\ndescription: d\n---": "2: name: not a valid name: 'a<b'",
    '---\nname: "a\\u202eb"\ndescription: d\n---': "2: name: not a valid name: 'a\\u202eb'",
}


@pytest.mark.parametrize("many", ["," * 100_000, "Read(" * 40_000, "a)" * 50_000])
def test_a_long_list_of_tools_takes_little_work(world, many):
    """A list of agents reads files that nobody has trusted yet."""
    with at_most(lines=10_000_000):
        world.load("a.md", f"---\nname: a\ndescription: d\ntools: '{many}'\n---\nHi")


@pytest.mark.parametrize("text", ERRORS, ids=lambda t: t[:30])
def test_error_in_a_markdown_agent(world, text):
    assert world.problems("a.md", f"{text}\nHi") == [f"a.md:{ERRORS[text]}"]
