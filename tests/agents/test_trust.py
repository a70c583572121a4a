"""What a project brings counts only as its user has seen it, to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from bridge.agents import load, trust
from bridge.agents.registry import Registry
from bridge.config import Settings
from bridge.errors import NewerSchema, NotTrusted, StateRefused

if TYPE_CHECKING:
    from pathlib import Path

    from agentworld import World

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


def is_found(world: World, name: str = "a") -> bool:
    try:
        return world.registry.find(name) is not None
    except NotTrusted:
        return False


def test_error_untrusted(world: World) -> None:
    file = world.write("a.yaml", GOOD, "project")

    with pytest.raises(NotTrusted) as failed:
        world.registry.find("a")

    assert str(failed.value) == (
        f"agent 'a' is defined by this project ({file}), and you have not trusted it, "
        "or not as it is now; look at it with: hostbridge trust; see what is wrong in "
        "it, if anything is, with: hostbridge agents check"
    )
    assert (failed.value.code, failed.value.file) == ("AGENT_001", file)


def test_trusted_until_it_changes_and_again_when_it_is_back(world: World) -> None:
    file = world.write("a.yaml", GOOD, "project")

    world.trust()

    assert is_found(world)
    file.write_text(EVIL)
    assert not is_found(world)
    file.write_text(GOOD)
    assert is_found(world)


@pytest.mark.parametrize("name", ["run.pym", "more.pym", "m.gguf"])
def test_a_script_or_model_that_changes_ends_it(world: World, name: str) -> None:
    world.write("m.gguf", "x", "project")
    for each in ("run.pym", "more.pym"):
        world.write(each, "1\n", "project")
    world.write("lint.yaml", LINT, "project")

    world.trust()

    assert is_found(world, "lint")
    world.write(name, "2\n", "project")
    assert not is_found(world, "lint")


def test_a_definition_says_which_bytes_its_model_has(world: World) -> None:
    """Whoever loads it holds it to that: the file may be another one by then."""
    for each in ("run.pym", "more.pym"):
        world.write(each, "1\n", "project")
    world.write("m.gguf", "weights", "project")
    world.write("lint.yaml", LINT, "project")

    world.trust()

    found = world.registry.find("lint")
    assert found is not None
    assert found.model_digest == sha256(b"weights").hexdigest()


def test_error_a_model_that_cannot_be_digested(world: World) -> None:
    """A pipe would never end, and a file of terabytes not for long."""
    for each in ("run.pym", "more.pym"):
        world.write(each, "1\n", "project")
    world.write("lint.yaml", LINT, "project")
    os.mkfifo(world.folders["project"] / "m.gguf")
    [pipe] = [entry.loaded.problems for entry in world.registry.entries()]
    (world.folders["project"] / "m.gguf").unlink()
    with (world.folders["project"] / "m.gguf").open("wb") as file:
        file.truncate((16 << 30) + 1)
    [large] = [entry.loaded.problems for entry in world.registry.entries()]

    assert pipe[0].message.endswith("m.gguf: not a plain file")
    assert "larger than 16 GiB; move it to your own models folder" in str(large[0])


def test_only_what_has_changed_asks_again(world: World) -> None:
    world.write("a.yaml", GOOD, "project")
    world.write("b.yaml", "name: b\nprompt: '{{ task }}'\n", "project")
    world.trust()

    world.write("a.yaml", EVIL, "project")

    assert (is_found(world), is_found(world, "b")) == (False, True)


def test_whether_a_loaded_definition_is_trusted(world: World) -> None:
    """As `agents check` asks of a file; only a project's needs it."""
    of_project = world.load("a.yaml", GOOD, "project")
    of_user = world.load("b.yaml", GOOD)

    before = [world.registry.is_trusted(each) for each in (of_project, of_user)]
    world.trust()

    assert before == [False, True]
    assert world.registry.is_trusted(of_project)


def test_trust_is_for_one_project_and_one_file(world: World, tmp_path: Path) -> None:
    """The same bytes elsewhere are somebody else's."""
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


def test_what_is_used_is_what_was_digested(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped at any moment between two looks, a file is read only once."""
    file = world.write("a.yaml", GOOD, "project")
    world.trust()
    real = load.load

    def swap(path: Path, *rest: object, **more: object) -> object:
        file.write_text(EVIL)
        return real(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(load, "load", swap)

    found = world.registry.find("a")

    assert found is not None
    assert found.prompt == "good {{ task }}"
    assert file.read_text() == EVIL


def test_a_swap_at_any_moment_gives_the_good_one_or_none(world: World) -> None:
    """A writer that changes the file as fast as it can, and a thousand looks."""
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
                assert found is not None
                assert found.prompt == "good {{ task }}"
                seen["good"] += 1
            if min(seen.values()) > 20:
                break
    finally:
        over.set()
        writer.join()
    assert min(seen.values()) > 0


@pytest.mark.parametrize("was_trusted", [False, True])
def test_an_untrusted_file_is_not_even_parsed(
    world: World, monkeypatch: pytest.MonkeyPatch, *, was_trusted: bool
) -> None:
    """Trust is in certain bytes, whatever the file is called."""
    file = world.write("a.yaml", GOOD, "project")
    if was_trusted:
        world.trust()
    file.write_text(EVIL)

    def parse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(load, "load", parse)

    with pytest.raises(NotTrusted):
        world.registry.find("a")


def test_the_record_on_disk(world: World) -> None:
    world.write("a.yaml", GOOD, "project")

    world.trust()

    file = world.home / "trust.json"
    told = json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    [digests] = told["projects"][str(world.project)]["agents"].values()
    assert told == {
        "schemaVersion": 1,
        "projects": {
            str(world.project): {"agents": {".bridge/agents/a.yaml": digests}}
        },
    }
    assert list(digests) == [".bridge/agents/a.yaml"]
    assert digests[".bridge/agents/a.yaml"] == sha256(GOOD.encode()).hexdigest()


def test_revoke(world: World) -> None:
    world.write("a.yaml", GOOD, "project")
    world.trust()

    assert trust.revoke(world.home, world.project)

    assert not is_found(world)
    assert not trust.revoke(world.home, world.project)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"projects": []}',
        b'{"projects": {"P": 3}}',
        b'{"projects": {"P": {"agents": {".bridge/agents/a.yaml": true}}}}',
        b'{"projects": {"P": {"agents": {".bridge/agents/a.yaml": {}}}}}',
        b'{"projects": {"P": {"agents": [1]}}}',
        b'{"schemaVersion": 2}',
    ],
)
def test_a_record_that_cannot_be_read_trusts_nothing(world: World, data: bytes) -> None:
    world.write("a.yaml", GOOD, "project")
    data = data.replace(b"P", str(world.project).encode())
    (world.home / "trust.json").write_bytes(data)

    assert not is_found(world)


@pytest.mark.parametrize("data", [b"{", b"[]"])
def test_error_a_broken_record_is_not_written_over(world: World, data: bytes) -> None:
    """It may hold what its user has decided elsewhere."""
    file = world.home / "trust.json"
    file.write_bytes(data)

    with pytest.raises(StateRefused, match="move it away and trust again"):
        trust.revoke(world.home, world.project)

    assert file.read_bytes() == data


def test_error_a_newer_record(world: World) -> None:
    (world.home / "trust.json").write_text('{"schemaVersion": 2}')

    with pytest.raises(NewerSchema):
        trust.revoke(world.home, world.project)


def test_a_record_that_is_a_link_or_open_to_others_trusts_nothing(
    world: World, tmp_path: Path
) -> None:
    """Whoever could write it could trust his own."""
    world.write("a.yaml", GOOD, "project")
    world.trust()
    assert is_found(world)

    world.home.chmod(0o777)
    assert not is_found(world)
    world.home.chmod(0o700)
    elsewhere = tmp_path / "elsewhere.json"
    os.rename(world.home / "trust.json", elsewhere)
    (world.home / "trust.json").symlink_to(elsewhere)
    assert not is_found(world)


@pytest.mark.parametrize(
    ("told", "clients"),
    [
        ({"CLAUDE_PID": "4711"}, []),
        ({"CLAUDECODE": "1"}, []),
        ({}, [os.getppid()]),
    ],
    ids=["CLAUDE_PID", "CLAUDECODE", "by its parents"],
)
def test_error_a_program_inside_a_session_trusts_nothing(
    world: World, told: dict[str, str], clients: list[int]
) -> None:
    """Nor does one that asks the library, and not the command."""
    world.write("a.yaml", GOOD, "project")
    settings = Settings.from_environment({**told, "BRIDGE_HOME": str(world.home)})
    found = [each.loaded for each in world.registry.entries()]

    with pytest.raises(trust.InsideSession) as refused:
        trust.record(settings, world.project, found, clients=clients)

    assert str(refused.value) == (
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge trust` in a terminal of your own"
    )
    assert not is_found(world)


def test_two_at_once_lose_nothing(world: World) -> None:
    """Each project's decision is kept, whoever writes at the same time."""
    code = (
        "import sys; from pathlib import Path\n"
        "from bridge.agents import trust\n"
        "from bridge.config import Settings\n"
        "for n in range(10):\n"
        "    project = Path(f'/w/{sys.argv[2]}-{n}')\n"
        "    trust.record(Settings(Path(sys.argv[1])), project, [], clients=())\n"
    )
    words = [sys.executable, "-c", code, str(world.home)]
    running = [subprocess.Popen([*words, str(n)]) for n in range(4)]
    assert [process.wait() for process in running] == [0] * 4

    told = trust.trusted_projects(world.home)

    assert set(told) == {f"/w/{p}-{n}" for p in range(4) for n in range(10)}


def test_changes_names_every_file_that_is_not_what_it_was(world: World) -> None:
    folder = world.project / "sub"
    folder.mkdir()
    (folder / "a.pym").write_text("1")
    (folder / "b.pym").write_text("2")
    digest = sha256(b"1").hexdigest()
    digests = {"sub/a.pym": digest, "sub/b.pym": digest, "sub/c.pym": digest}

    assert trust.changes(world.project, digests) == {
        "sub/b.pym": "changed",
        "sub/c.pym": "gone",
    }
