"""A project's definition counts only as its user has trusted it, to the byte."""

import os
import threading
from hashlib import sha256

import pytest
from agentworld import is_found

from bridge.agents import load
from bridge.agents.registry import Registry
from bridge.errors import NotTrusted

GOOD = "name: a\nprompt: good {{ task }}\n"
EVIL = "name: a\nprompt: evil {{ task }}\nallow: [Bash]\n"
LINT = """\
name: lint
model: m.gguf
initial_context: {system_prompt: s, node_context: "{{ node_text }}"}
tools:
  - name: submit_result
    pym: run.pym
    description: d
    parameters: {type: object, additionalProperties: false}
    context_providers: [more.pym]
"""


def write_lint(world):
    for name in ("run.pym", "more.pym"):
        world.write(name, "1\n", "project")
    world.write("lint.yaml", LINT, "project")


def test_error_untrusted(world):
    file = world.write("a.yaml", GOOD, "project")

    with pytest.raises(NotTrusted) as failed:
        world.registry.find("a")

    assert str(failed.value) == (
        f"agent 'a' is defined by this project in {file}, which you have not trusted. "
        "What to do: hostbridge trust shows it, and asks you"
    )
    assert (failed.value.code, failed.value.file) == ("not_trusted", file)


def test_trust_ends_with_a_change_and_returns_with_the_old_bytes(world):
    file = world.write("a.yaml", GOOD, "project")

    world.trust()

    assert is_found(world)
    file.write_text(EVIL)
    assert not is_found(world)
    with pytest.raises(NotTrusted, match="which has changed since you trusted it"):
        world.registry.find("a")
    file.write_text(GOOD)
    assert is_found(world)


@pytest.mark.parametrize("name", ["run.pym", "more.pym", "m.gguf"])
def test_a_changed_script_or_model_ends_trust(world, name):
    world.write("m.gguf", "x", "project")
    write_lint(world)

    world.trust()

    assert is_found(world, "lint")
    world.write(name, "2\n", "project")
    assert not is_found(world, "lint")


def test_a_definition_has_the_digest_of_its_model(world):
    """The model must still have it when it is loaded."""
    world.write("m.gguf", "weights", "project")
    write_lint(world)

    world.trust()

    found = world.registry.find("lint")
    assert found.model_digest == sha256(b"weights").hexdigest()


def test_error_a_model_that_cannot_be_digested(world):
    """A pipe, or a file that is too large."""
    write_lint(world)
    model = world.folders["project"] / "m.gguf"
    os.mkfifo(model)
    [pipe] = [entry.loaded.problems for entry in world.registry.entries()]
    model.unlink()
    model.touch()
    os.truncate(model, (16 << 30) + 1)
    [large] = [entry.loaded.problems for entry in world.registry.entries()]

    assert pipe[0].message.endswith("m.gguf: not a plain file")
    assert "larger than 16 GiB; move it to your own models folder" in str(large[0])


def test_a_change_ends_trust_in_that_definition_only(world):
    world.write("a.yaml", GOOD, "project")
    world.write("b.yaml", "name: b\nprompt: '{{ task }}'\n", "project")
    world.trust()

    world.write("a.yaml", EVIL, "project")

    assert (is_found(world), is_found(world, "b")) == (False, True)


def test_only_a_projects_definition_needs_trust(world):
    of_project = world.load("a.yaml", GOOD, "project")
    of_user = world.load("b.yaml", GOOD)

    before = [world.registry.is_trusted(each) for each in (of_project, of_user)]
    world.trust()

    assert before == [False, True]
    assert world.registry.is_trusted(of_project)


def test_trust_is_for_one_project_and_one_file(world, tmp_path):
    """The same bytes elsewhere are not trusted."""
    world.write("a.yaml", GOOD, "project")
    world.trust()
    world.write("copy.yaml", GOOD, "project")
    (world.folders["project"] / "a.yaml").unlink()

    assert not is_found(world)
    other = tmp_path / "other"
    folder = other / ".bridge" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(GOOD)
    registry = Registry({**world.folders, "project": folder}, world.home, other)
    with pytest.raises(NotTrusted):
        registry.find("a")


def test_the_digested_bytes_are_used(world, monkeypatch):
    """The file is read only once, so that nobody can swap it between two reads."""
    file = world.write("a.yaml", GOOD, "project")
    world.trust()
    real = load.load

    def swap(path, *rest, **more):
        file.write_text(EVIL)
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(load, "load", swap)

    found = world.registry.find("a")

    assert found.prompt == "good {{ task }}"
    assert file.read_text() == EVIL


def test_a_file_swapped_at_any_moment(world):
    """Whatever the moment, the trusted definition is found or none."""
    file = world.write("a.yaml", GOOD, "project")
    world.trust()
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for text in (EVIL, GOOD):
                fresh = file.with_suffix(".new")
                fresh.write_text(text)
                fresh.replace(file)

    writer = threading.Thread(target=swap)
    writer.start()
    seen = {"good": 0, "refused": 0}
    try:
        for _ in range(1000):
            try:
                found = world.registry.find("a")
            except NotTrusted:
                seen["refused"] += 1
            else:
                assert found.prompt == "good {{ task }}"
                seen["good"] += 1
            if min(seen.values()) > 20:
                break
    finally:
        over.set()
        writer.join()
    assert min(seen.values()) > 0


@pytest.mark.parametrize("was_trusted", [False, True])
def test_an_untrusted_file_is_not_parsed(world, monkeypatch, *, was_trusted):
    """Trust is in bytes, not in a file name."""
    file = world.write("a.yaml", GOOD, "project")
    if was_trusted:
        world.trust()
    file.write_text(EVIL)

    def parse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(load, "load", parse)

    with pytest.raises(NotTrusted):
        world.registry.find("a")
