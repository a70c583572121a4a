"""How an agent with a definition searches files inside Claude Code."""

import pytest

from bridge.agents.search_tools import only_reads, search_note

IN_BASH = (
    "Grep and Glob are not among your tools here: search with `grep` and `find` in "
    "Bash, one plain command per call. "
)


RULES = "Besides commands that only look, these forms are granted: `rg *`, `ls`."


@pytest.mark.parametrize(
    ("fields", "reads"),
    [
        ("tools: [Read, Grep]", True),
        ("tools: [search_text]", True),
        ("tools: [Glob]\nsubagent_type: general-purpose", True),
        ("tools: [Grep, Bash]\nblocked_tools: [run_command]", True),
        ("tools: [Read]", False),
        ("tools: [Read, Grep, Edit]", False),
        ("tools: [Grep]\nsubagent_type: Explore", False),
        ("tools: [Read, Grep]\nblocked_tools: [Grep]", False),
        ("description: d", False),
    ],
)
def test_which_definitions_only_read(world, fields, *, reads):
    assert only_reads(world.defined(fields)) is reads


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ("tools: [Read]", None),
        ("tools: [Grep, Bash]", "Only commands that just look are granted."),
        ("tools: [Grep, Bash]\nallow: [Bash]", "Every other command is granted, too."),
        ("tools: [Grep, Bash]\nallow: ['Bash(rg *)', 'Bash(ls)']", RULES),
    ],
)
@pytest.mark.parametrize("has_search", [True, False])
def test_the_note_about_searching(world, fields, note, *, has_search):
    expected = note and IN_BASH + note
    assert search_note(world.defined(fields), has_search=has_search) == expected


def test_the_note_for_an_agent_that_cannot_search(world):
    """Without Bash, it depends on the agent that runs the definition."""
    definition = world.defined("tools: [Read, Grep]")

    note = search_note(definition, has_search=False)

    assert search_note(definition, has_search=True) is None
    assert note.startswith("Grep and Glob are not among your tools in this session")
