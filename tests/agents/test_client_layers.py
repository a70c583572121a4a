"""Agents in Claude Code's own folders: ours win, and a project's need trust."""

import os
from contextlib import nullcontext

import pytest

from bridge.agents.agent_names import LAYERS
from bridge.agents.layers import MAX_DEPTH
from bridge.errors import NotTrusted


def agent(name: str, says: str = "You joke.") -> str:
    return f"---\nname: {name}\ndescription: of {name}\n---\n{says}\n"


def test_the_users_agents_need_no_trust(world):
    file = world.write("joker.md", agent("joker"), "claude-user")

    found = world.registry.find("joker")

    assert (found.system_prompt, found.source.is_clients) == ("You joke.", True)
    assert world.registry.find("joker", LAYERS) is None
    assert world.registry.client_agents() == {"joker": file}


def test_a_projects_agents_need_trust(world):
    """An open session reads the file itself; everything else waits for trust."""
    world.write("joker.md", agent("joker"), "claude-project")

    with pytest.raises(NotTrusted):
        world.registry.find("joker")
    world.trust()
    found = world.registry.find("joker")
    assert found is not None
    world.write("joker.md", agent("joker", "You sing."), "claude-project")
    with pytest.raises(NotTrusted):
        world.registry.find("joker")


def test_deeply_nested_folders_are_skipped(world):
    """An archive can nest a thousand folders."""
    deep = [f"{'d/' * depth}n{depth}.md" for depth in (0, MAX_DEPTH, MAX_DEPTH + 1)]
    for name in deep:
        world.write(name, agent(name.rpartition("/")[2][:-3]), "claude-project")

    names = [entry.loaded.name for entry in world.registry.entries()]

    assert f"n{MAX_DEPTH}" in names
    assert f"n{MAX_DEPTH + 1}" not in names


@pytest.mark.parametrize("layer", ["claude-user", "claude-project"])
def test_sub_folders_are_searched(world, layer):
    world.write("team/deep/joker.md", agent("joker"), layer)
    world.trust()

    found = world.registry.find("joker")

    assert found.source.file.parent.name == "deep"
    assert "joker" in world.registry.names()


def test_our_agents_win_over_the_clients(world):
    """A clone must not replace a built-in agent by a file in its `.claude`."""
    ours = world.write("a.yaml", "name: a\nprompt: 'ours {{ task }}'\n", "built-in")
    world.write("a.md", agent("a"), "claude-project")
    world.write("a.md", agent("a"), "claude-user")

    found = world.registry.find("a")

    assert found.source.file == ours
    hidden = [(e.loaded.layer, e.hidden_by) for e in world.registry.entries()]
    expected = [("built-in", None), ("claude-project", ours), ("claude-user", ours)]
    assert hidden == expected


def test_a_projects_agent_wins_over_the_users(world):
    """As in the client."""
    world.write("a.md", agent("a", "user"), "claude-user")
    file = world.write("a.md", agent("a", "project"), "claude-project")
    world.trust()

    found = world.registry.find("a")

    assert (found.system_prompt, found.source.file) == ("project", file)
    assert world.registry.client_agents() == {"a": file}


def test_other_files_are_skipped(world):
    """The client takes a Markdown file without a name for documentation."""
    world.write("README.md", "# Our agents\n\nname: not one\n", "claude-user")
    world.write("notes.md", "---\ntitle: x\n---\nHi\n", "claude-user")
    world.write("a.yaml", "name: a\n", "claude-user")

    assert (world.registry.entries(), world.registry.names()) == ([], [])


def test_hidden_files_and_linked_folders_are_read(world, tmp_path):
    """As the client does; a circle of links ends."""
    world.write(".hidden/b.md", agent("b"), "claude-user")
    world.write(".c.md", agent("c"), "claude-user")
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "d.md").write_text(agent("d"))
    (elsewhere / "again").symlink_to(world.folders["claude-user"])
    (world.folders["claude-user"] / "mine").symlink_to(elsewhere)

    assert world.registry.names() == ["b", "c", "d"]
    assert world.registry.find("d") is not None


def test_a_projects_linked_folder_is_not_followed(world, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "d.md").write_text(agent("d"))
    world.write("a.md", agent("a"), "claude-project")
    (world.folders["claude-project"] / "mine").symlink_to(elsewhere)

    assert world.registry.names() == ["a"]


@pytest.mark.parametrize("part", [".claude", "agents", "file"])
def test_a_link_out_of_a_project_is_not_followed(world, tmp_path, part):
    folder = world.folders["claude-project"]
    file = world.write("a.md", agent("a"), "claude-project")
    moved = {".claude": folder.parent, "agents": folder, "file": file}[part]
    away = tmp_path / "away"
    moved.rename(away)
    os.symlink(away, moved)
    world.trust()

    with pytest.raises(NotTrusted) if part == "file" else nullcontext():
        assert world.registry.find("a") is None
