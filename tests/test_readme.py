"""README and docs/: what they list is what there is, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from bridge.agents.definition import Example, ExampleCall, ToolDefinition
from bridge.agents.subagent_definition import InitialContext, SubagentDefinition
from bridge.agents.yaml_agent import AgentFile
from bridge.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "state").glob("*.md"))


def section(page: str, title: str) -> str:
    """The text below a heading, up to the next of its kind."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> dict[str, str]:
    """What the tables of a text say of each `name` in their first column."""
    found = re.findall(r"^\| (`[a-z_`, ]+`) \| (.*) \|$", text, re.M)
    return {name: said for names, said in found for name in re.findall(r"\w+", names)}


def test_every_command_is_listed():
    listed = re.findall(r"^### (.+)$", section("commands", "Every command"), re.M)

    assert listed == list(COMMANDS), "run python scripts/make_commands.py"


def test_every_field_of_a_yaml_agent_is_listed():
    listed = rows(section("agents", "A YAML agent"))

    # Its steps are a workflow, which the reader of workflows checks.
    assert set(listed) == {*AgentFile.model_fields, "steps"}
    parts = set(Example.model_fields) | set(ExampleCall.model_fields)
    assert {name for name in parts if f"`{name}`" not in listed["examples"]} == set()


def test_every_field_of_a_subagent_definition_is_listed():
    listed = rows(section("agents", "A small model with tools of its own"))

    assert set(listed) == set(SubagentDefinition.model_fields)
    for field, model in ("initial_context", InitialContext), ("tools", ToolDefinition):
        absent = [
            name for name in model.model_fields if f"`{name}`" not in listed[field]
        ]
        assert absent == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https:)([^)\s]+)\)", page.read_text()):
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text(), re.M)
            assert heading in map(anchor, titles), target


def anchor(title: str) -> str:
    """The part of an address that leads to a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
