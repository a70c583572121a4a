"""Which model gave an answer, where the question names none, on routes of our own."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from cachedworld import READS
from ggufs import gguf

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.protocol.request import Request
from bridge.routes import OwnRoute
from bridge.store.location import Place
from bridge.worker.model_keys import key_now

pytestmark = pytest.mark.slow


def asked(**fields: Any) -> Request:
    made = {"request_id": "r", "agent_type": "general-purpose", "prompt": "Look."}
    return Request(**made, created_at=1, **fields)


def key(settings: Settings, project: Path, route: OwnRoute, **fields: Any) -> str:
    place = Place(project, project, project, "")
    return key_now(route, asked(**fields), None, settings, place)


OTHERS = {
    "model": {"openai_model": "another"},
    "server": {"openai_base_url": "http://127.0.0.1:9/v1/"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_answer_of_another_served_model_is_not_reused(world, name):
    world.write("src/a.py")
    world.answer(READS)
    assert not world.is_asked_again(READS)

    settings = world.bridge.settings.with_(**OTHERS[name])
    world.bridge = Bridge(settings, world.project)

    assert world.reasons() == ["model: another would answer on route endpoint now"]
    assert world.is_asked_again(READS)
    assert not world.is_asked_again(READS)


def test_a_server_that_does_not_say_which_model_it_has_is_a_doubt(world):
    """None is set, and the only one that it had may be another by now."""
    world.write("src/a.py")
    world.answer(READS)
    settings = world.bridge.settings.with_(
        openai_model=None, openai_base_url="http://127.0.0.1:9/v1/"
    )
    world.bridge = Bridge(settings, world.project)

    (reason,) = world.reasons()
    assert reason.startswith("model: ")
    assert world.is_asked_again(READS)


def test_a_server_that_says_nothing_holds_up_nobody(world, monkeypatch):
    """Half of the question's time is for the check, and the agent needs the rest."""
    monkeypatch.setattr("bridge.worker.model_keys._LOOK_S", 30)
    world.write("src/a.py")
    world.answer(READS)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = world.bridge.settings.with_(
            openai_model=None,
            openai_base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1/",
        )
        world.bridge = Bridge(settings, world.project)
        # Were it past its deadline by then, nobody would be asked.
        assert world.is_asked_again(READS, timeout_s=10)


def test_a_model_file_is_told_by_its_path_its_size_and_its_time(tmp_path):
    file, other = tmp_path / "m.gguf", tmp_path / "n.gguf"
    for each in (file, other):
        each.write_bytes(gguf())
    settings = Settings(home=tmp_path, claude_dir=tmp_path, local_model=file)
    first = key(settings, tmp_path, "local")
    assert key(settings, tmp_path, "local") == first
    assert key(settings.with_(local_model=other), tmp_path, "local") != first
    assert key(settings, tmp_path, "local", model=str(other)) != first

    os.utime(file, ns=(0, 0))

    assert key(settings, tmp_path, "local") != first


def write_json(file: Path, **fields: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(fields))


@pytest.mark.parametrize("where", ["user", "project", "variable"])
def test_what_chooses_the_model_of_a_client_is_its_key(tmp_path, monkeypatch, where):
    """As `/model` writes it down for sessions to come."""
    home, project = tmp_path / "claude", tmp_path / "project"
    settings = Settings(home=tmp_path, claude_dir=home)
    monkeypatch.delenv("ANTHROPIC_MODEL", raising=False)
    first = key(settings, project, "claude")
    write_json(home / "settings.json", theme="dark")
    assert key(settings, project, "claude") == first

    match where:
        case "user":
            write_json(home / "settings.json", model="haiku")
        case "project":
            write_json(project / ".claude/settings.json", env={"ANTHROPIC_MODEL": "x"})
        case "variable":
            monkeypatch.setenv("ANTHROPIC_MODEL", "claude-x")

    assert key(settings, project, "claude") != first


@pytest.mark.parametrize("text", ["[", "[]", '{"env": []}', "[" * 10_000, "\ud800"])
def test_settings_that_cannot_be_read_choose_nothing(tmp_path, text):
    """They may come with a stranger's archive."""
    settings = Settings(home=tmp_path, claude_dir=tmp_path)
    first = key(settings, tmp_path, "claude")
    file = tmp_path / ".claude/settings.json"
    file.parent.mkdir()
    file.write_bytes(text.encode("utf-8", "surrogatepass"))

    assert key(settings, tmp_path, "claude") == first
