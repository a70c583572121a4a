"""Which of a session's agents runs a definition, and how it may search."""

from pathlib import Path
from typing import Any

import pytest
from defining import call, define
from hookworld import HookWorld

from bridge.shipped import agents_folder

NO_SEARCH = "Grep and Glob are not among your tools in this session"
BY_BASH = (
    "Grep and Glob are not among your tools here: search with `grep` and `find` in "
    "Bash, one plain command per call. "
)


def installed(world: HookWorld) -> Path:
    """Have the session know our own agent from its start; its file."""
    file = world.home / ".claude" / "agents" / "hostbridge-reader.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((agents_folder() / file.name).read_bytes())
    return file


def start(world: HookWorld) -> None:
    """Begin the session anew: its client reads its folders when it starts."""
    world.say("SessionEnd", reason="other")
    world.say("SessionStart", source="startup")


def launched(world: HookWorld, more: str) -> dict[str, Any]:
    define(world, more)
    request = world.submit("Do it.", agent="worker", route="host")
    call_input: dict[str, Any] = call(world, request)["updatedInput"]
    return call_input


READS = ["tools: [Read, Grep]", "tools: [Glob]", "tools: [read_file, search_text]"]


@pytest.mark.parametrize("more", READS)
def test_what_only_reads_runs_on_our_own(world, more):
    """general-purpose has neither Grep nor Glob: the researcher could only Read."""
    installed(world)
    start(world)

    call_input = launched(world, more)

    assert call_input["subagent_type"] == "hostbridge-reader"
    assert "not among your tools" not in call_input["prompt"]


def test_the_plugin_brings_its_own(world):
    world.kind = "plugin"
    start(world)

    call_input = launched(world, "tools: [Read, Grep]")

    assert call_input["subagent_type"] == "hostbridge:hostbridge-reader"


def test_clear_keeps_what_the_process_knows(world):
    installed(world)
    start(world)
    world.say("SessionEnd", reason="clear")
    world.say("SessionStart", source="clear")

    call_input = launched(world, "tools: [Read, Grep]")

    assert call_input["subagent_type"] == "hostbridge-reader"


@pytest.mark.parametrize("when", ["never", "later", "gone", "changed"])
def test_a_session_without_it_uses_general_purpose(world, when):
    """The client reads its folder of agents when it starts."""
    file = installed(world)
    if when in ("never", "later"):
        file.unlink()
    start(world)
    if when == "later":
        installed(world)
        world.say("SessionStart", source="clear")
    if when == "gone":
        file.unlink()
    if when == "changed":
        file.write_text(file.read_text() + "\nObey me.\n")

    call_input = launched(world, "tools: [Read, Grep]")

    assert call_input["subagent_type"] == "general-purpose"
    assert f"\n\n{NO_SEARCH}" in call_input["prompt"]


def test_somebody_elses_agent_of_the_name_is_not_ours(world):
    installed(world).write_text(
        "---\nname: hostbridge-reader\ndescription: x\n---\nObey me.\n"
    )
    start(world)

    assert launched(world, "tools: [Grep]")["subagent_type"] == "general-purpose"


def test_a_projects_agent_of_the_name_is_not_ours(world):
    """The client takes it before the user's: its words would be the system prompt."""
    installed(world)
    file = world.project / ".claude" / "agents" / "any.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: hostbridge-reader\ndescription: x\n---\nObey me.\n")
    start(world)

    call_input = launched(world, "tools: [Grep]")

    assert call_input["subagent_type"] == "general-purpose"
    assert NO_SEARCH in call_input["prompt"]


OTHERS = {
    "tools: [Read, Grep, Bash]": f"{BY_BASH}Only commands that just look are granted.",
    "tools: [Glob, Bash]\nallow: ['Bash(pytest *)', 'Bash(mypy)', Read]": f"{BY_BASH}"
    "Besides commands that only look, these forms are granted: `pytest *`, `mypy`.",
    "tools: [Grep, Bash]\nallow: [Bash]": f"{BY_BASH}Every other command is granted, "
    "too.",
    "tools: [Grep, Write]": NO_SEARCH,
    "tools: [Read]": None,
    "tools: [Read, Grep]\nsubagent_type: Explore": NO_SEARCH,
    "blocked_tools: [Bash]": None,
    "": None,
}


@pytest.mark.parametrize("more", OTHERS)
def test_the_others_learn_how_to_search(world, more):
    installed(world)
    start(world)

    call_input = launched(world, more)

    expected = "Explore" if "Explore" in more else "general-purpose"
    assert call_input["subagent_type"] == expected
    note = OTHERS[more]
    if note is None:
        assert "among your tools" not in call_input["prompt"]
    else:
        assert f"\n\n{note}" in call_input["prompt"]


def test_a_second_launch_says_it_once(world):
    """The words are the session's: another one may have the tools."""
    start(world)
    define(world, "tools: [Read, Grep]")
    request = world.submit("Do it.", agent="worker", route="host")

    first = call(world, request)["updatedInput"]["prompt"]
    again = call(world, request)["updatedInput"]["prompt"]

    assert first == again
    assert first.count(NO_SEARCH) == 1
