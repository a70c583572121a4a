"""Finding a definition by its name in three layers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bridge
from bridge.agents.agent_names import ALL_LAYERS, LAYERS
from bridge.agents.registry import Registry
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import BadDefinition, NotTrusted


def agent(name: str, says: str = "{{ task }}") -> str:
    return f"name: {name}\nprompt: '{says}'\ndescription: of {says}\n"


def test_the_highest_layer_wins(world):
    """Nothing is merged: the timeout of the lower layer does not count."""
    lower = agent("a", "built-in {{ task }}") + "timeout: 5\n"
    world.write("a.yaml", lower, "built-in")
    world.write("a.yaml", agent("a", "user {{ task }}"), "user")

    found = world.registry.find("a")

    assert (found.prompt, found.timeout_s) == ("user {{ task }}", None)
    world.write("a.yaml", agent("a", "project {{ task }}"), "project")
    world.trust()
    found = world.registry.find("a")
    assert found.prompt == "project {{ task }}"


def test_which_definition_is_hidden(world):
    files = {layer: world.write("a.yaml", agent("a"), layer) for layer in LAYERS}
    world.write("b.md", "---\nname: b\ndescription: d\n---\nHi\n", "built-in")

    found = [
        (e.loaded.name, e.loaded.layer, e.is_trusted, e.hidden_by)
        for e in world.registry.entries()
    ]

    assert found == [
        ("a", "project", False, None),
        ("a", "user", True, files["project"]),
        ("a", "built-in", True, files["project"]),
        ("b", "built-in", True, None),
    ]


def test_a_name_is_found_whatever_the_file_is_called(world):
    world.write("other.yaml", "description: d\nname: my agent # it is\n")
    world.write("flow.yml", '{"prompt": "{{ task }}", "name": "json"}')
    world.write("x.md", "---\nname: marked\ndescription: d\n---\nHi\n")

    found = [world.registry.find(name) for name in ("my agent", "json", "marked")]

    names = [each.source.file.name for each in found]
    assert names == ["other.yaml", "flow.yml", "x.md"]


@pytest.mark.parametrize("name", ["nobody", "../a", "plugin:x", "", "a\nb", ".a"])
def test_unknown_and_invalid_names(world, name):
    world.write("a.yaml", agent("a"))

    assert world.registry.find(name) is None


def test_error_a_broken_definition_hides_lower_ones(world):
    """Another agent than the one asked for would be worse than none."""
    world.write("a.yaml", agent("a"), "built-in")
    file = world.write("a.yaml", "name: a\npromt: x\nmodel: haikuu\n")

    with pytest.raises(BadDefinition) as failed:
        world.registry.find("a")

    assert str(failed.value).splitlines()[:2] == [
        "agent 'a' cannot be used:",
        f"  {file}:2: promt: unknown field; did you mean 'prompt' or 'priority'?",
    ]
    assert (failed.value.code, len(failed.value.problems)) == ("bad_definition", 2)


@pytest.mark.parametrize("text", ["", "name: [", "\0", "- 1"])
def test_error_an_unreadable_file_hides_by_its_file_name(world, text):
    world.write("a.yaml", agent("a"), "built-in")
    world.write("a.yaml", text)

    with pytest.raises(BadDefinition):
        world.registry.find("a")


def test_error_a_broken_file_of_another_name_is_named(world):
    """It said: no agent is named 'b'; did you mean b?"""
    file = world.write("a.yaml", "name: b\nprompt: [\n")

    with pytest.raises(BadDefinition) as failed:
        world.registry.find("b")

    assert f"  {file}:3: not YAML: " in str(failed.value)


def test_other_definitions_still_load(world):
    world.write("a.yaml", "name: a\npromt: x\n")
    world.write("b.yaml", agent("b"))
    world.write("c.yaml", "!!python/object/apply:os._exit [7]")

    assert world.registry.find("b") is not None
    are_bad = [bool(e.loaded.errors) for e in world.registry.entries()]
    assert are_bad == [True, False, True]


def test_error_two_files_define_one_name(world):
    first = world.write("a.yaml", agent("a", "first {{ task }}"))
    second = world.write("b.yaml", agent("a", "second {{ task }}"))

    problems = [p for e in world.registry.entries() for p in e.loaded.problems]

    expected = [f"{second}:1: name: {first} also defines 'a', and wins"]
    assert [str(p) for p in problems if p.level == "error"] == expected
    assert world.registry.find("a").prompt == "first {{ task }}"


def test_a_linked_folder_of_the_project_is_not_followed(world, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    world.folders["project"].rename(elsewhere)
    (elsewhere / "a.yaml").write_text(agent("a"))
    world.folders["project"].symlink_to(elsewhere)

    assert (world.registry.entries(), world.registry.find("a")) == ([], None)


@pytest.mark.parametrize("nested", ["", "more"])
@pytest.mark.parametrize("layer", ["user", "claude-user"])
def test_what_a_link_leads_to_in_the_project_is_the_projects(world, layer, nested):
    """What the next `git pull` brings would be the user's own."""
    owner = "claude-project" if nested else "project"
    target = world.folders[owner] / nested / "a.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("---\nname: a\ndescription: d\n---\nmine\n")
    world.folders[layer].mkdir(parents=True, exist_ok=True)
    (world.folders[layer] / "a.md").symlink_to(target)

    for layers in ((layer,), ALL_LAYERS):
        with pytest.raises(NotTrusted, match=str(target)):
            world.registry.find("a", layers)
    entries = world.registry.entries()
    assert [(e.loaded.layer, e.is_trusted) for e in entries] == [(owner, False)] * 2


def test_error_a_linked_definition_of_the_project(world, tmp_path):
    target = tmp_path / "a.yaml"
    target.write_text(agent("a"))
    (world.folders["project"] / "a.yaml").symlink_to(target)

    [entry] = world.registry.entries()

    expected = ["is a link; a project must bring the file itself"]
    assert [p.message for p in entry.loaded.problems] == expected
    with pytest.raises(NotTrusted):
        world.registry.find("a")


def test_looking_up_an_undefined_agent_imports_no_yaml(tmp_path):
    """Every request for one of the client's agents does this."""
    home = tmp_path / "home"
    (home / "agents").mkdir(parents=True)
    (home / "agents" / "other.yaml").write_text(agent("other"))
    code = (
        "import sys; from pathlib import Path\n"
        "from bridge.config import Settings\n"
        "from bridge.agents.registry import Registry\n"
        f"found = Registry.open(Settings(home=Path({str(home)!r})), Path('/tmp'))\n"
        "assert found.find(sys.argv[1]) is None or sys.argv[1] == 'other'\n"
        "print(*sys.modules)"
    )

    def loaded(name: str) -> set[str]:
        words = [sys.executable, "-c", code, name]
        return {*subprocess.check_output(words, text=True).split()}

    heavy = {"yaml", "jinja2", "pydantic", "bridge.agents.definition"}
    assert not loaded("general-purpose") & heavy
    assert heavy <= loaded("other")


def test_a_project_without_definitions_has_the_built_in_agents(tmp_path):
    opened = Bridge(Settings(home=tmp_path / "home"), tmp_path)

    registry = Registry.open(opened.settings, opened.store.place.project)

    assert "researcher" in registry.names()
    assert registry.folders["built-in"] == Path(bridge.__file__).parents[1] / "agents"
    assert not os.path.exists(tmp_path / "home")


def read_bytes_of(act):
    """How many bytes this process reads while it does something."""

    def so_far() -> int:
        counters = Path("/proc/self/io").read_text()
        return int(counters.split("rchar: ")[1].split()[0])

    act()
    before = so_far()
    itself = so_far() - before
    before = so_far()
    act()
    return so_far() - before - itself


@pytest.mark.parametrize("name", ["agent-7", "Other 7"])
def test_finding_one_agent_does_not_read_the_others(world, name):
    """At most the head of each."""
    words = "It is said at length. " * 4_000
    for number in range(50):
        text = f"prompt: '{{{{ task }}}} {words}'\n"
        world.write(f"agent-{number}.yaml", f"name: agent-{number}\n{text}")
        world.write(f"b{number}.yaml", f"name: Other {number}\n{text}")

    read = read_bytes_of(lambda: world.registry.find(name))

    own = len(words)
    heads = 0 if name == "agent-7" else 100 * 1_024
    assert own < read < own + heads + 20_000


def test_error_a_name_too_far_down(world):
    """Only the head is searched; a file named like its agent is found anyway."""
    late = f"description: {'d' * 20_000}\nname: late\n"
    world.write("other.yaml", late)

    assert world.registry.find("late") is None
    [entry] = world.registry.entries()
    assert [p.message for p in entry.loaded.errors] == [
        "must be plain text on a line of its own, within the first 16 KiB: name: late"
    ]
    world.write("late.yaml", late)
    assert world.registry.find("late") is not None
