"""The real client: what only reads searches; which Markdown agents it offers."""

import json
from typing import Any

import pytest
from hostworld import host_world

from bridge.agents.load import load
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

FOUND = {"answer": "In shop.py.", "findings": [], "confidence": "high"}
DONE = {"status": "success", "summary": "ok", "evidence": []}


def tools_of(request: ApiRequest) -> set[str]:
    return {tool["name"] for tool in request.body.get("tools", ())}


def searcher(prompt: str, request: ApiRequest) -> Answer:
    """Grep, then Glob, then the answer."""
    said = sum(item.get("role") == "assistant" for item in request.messages)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Grep", {"pattern": "price", "output_mode": "content"}),
        ("Glob", {"pattern": "**/*.py"}),
    ]
    if "Grep" not in tools_of(request):
        command = "grep -rn price ."
        calls = [("Bash", {"command": command, "description": "search"})]
    if said < len(calls):
        return reply(tool_use(*calls[said]))
    return reply(json.dumps(FOUND if "confidence" in prompt else DONE))


def test_who_looks_for_something_finds_it(tmp_path):
    """On general-purpose the built-in researcher was told "No such tool available".

    One with Bash searches by that: the client runs what only looks without asking.
    """
    with host_world(tmp_path, obedient_model(searcher)) as world:
        (world.stage.project / "shop.py").write_text("price = 1\n")
        world.add_reader()
        world.define("looker", "prompt: '{{ task }}'\ntools: [Read, Grep, Bash]\n")
        with world.stream():
            questions = {"researcher": "Where is the price?", "looker": "Look."}
            responses = {
                agent: world.ended(world.submit(words, agent=agent, mode="terminal"))
                for agent, words in questions.items()
            }

    assert all(each.success for each in responses.values()), responses
    turns = {
        agent: [t for t in world.api.turns("subagent") if t.agent_id == each.agent_id]
        for agent, each in responses.items()
    }
    results = {
        agent: [result.text for turn in own for result in turn.tool_results]
        for agent, own in turns.items()
    }
    assert {"Read", "Grep", "Glob"} <= tools_of(turns["researcher"][0])
    assert "Bash" not in tools_of(turns["researcher"][0])
    assert "price = 1" in results["researcher"][0]
    assert "shop.py" in results["researcher"][1]

    assert "search with `grep` and `find` in Bash" in turns["looker"][0].prompt
    assert "Grep" not in tools_of(turns["looker"][0])
    [result] = results["looker"]
    assert "price = 1" in result


# Of each class of what the client passes over, one.
FRONTMATTER = {
    "fields": "name: fields\ndescription: d\ncategory: quality\ntags: [a]",
    "tools": "name: tools\ndescription: d\ntools: Read, LS, WriteFile",
    "agents": "name: agents\ndescription: d\ntools: Agent(fields, tools), Read",
    "colon": "name: colon\ndescription: Use it when: a test fails",
    "marks": "name: marks\ndescription: @you, `look`",
    "doubled": "name: doubled\ndescription: d\nmodel: opus\nmodel: haiku",
    "tabs": "name: tabs\ndescription: d\ntools:\n\t- Read\n\t- Grep",
    "model": "name: model\ndescription: d\nmodel: gpt-5",
    "turns": "name: turns\ndescription: d\nmaxTurns: 0",
    "part": "name: part\ndescription: d\ntools: Bash(git diff *), Read",
    "script": "name: 代码审查\ndescription: d",
    "spaces": "name: Code Reviewer\ndescription: d",
    "empty": "name: empty\ndescription: d",
    "number": "name: number\ndescription: 7",
    "yes": "name: yes-no\ndescription: d\nenabled: yes",
    "late": "description: d\nmodel: opus\nname: late",
    "bare": "name: bare",
    "nameless": "description: d",
    "slash": "name: a/b\ndescription: d",
}


def test_what_the_client_offers_is_what_loads_here(tmp_path):
    """The names that its model may choose from, and what the loader makes of them."""
    with host_world(tmp_path, obedient_model()) as world:
        folder = world.stage.project / ".claude" / "agents"
        (folder / "deep").mkdir(parents=True)
        for stem, head in FRONTMATTER.items():
            words = "" if stem == "empty" else "Do what you are told.\n"
            mark = "\ufeff" if stem == "marks" else ""
            file = folder / ("deep" if stem == "colon" else "") / f"{stem}.md"
            file.write_text(f"{mark}---\n{head}\n---\n{words}")
        with world.stream() as session:
            session.ask("hello")
        sent = json.dumps(world.api.turns("main")[0].body, ensure_ascii=False)

    loaded = {}
    for file in sorted(folder.rglob("*.md")):
        found = load(file, "claude-project")
        loaded[file.stem] = found.definition and found.definition.name
    offered = {
        stem: name
        for stem, head in FRONTMATTER.items()
        if (name := head.partition("name: ")[2].partition("\n")[0])
        and f"- {name}: " in sent
    }
    assert {stem: name for stem, name in loaded.items() if name} == offered
    assert sorted(set(FRONTMATTER) - set(offered)) == ["bare", "nameless", "number"]
