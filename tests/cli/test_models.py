"""`hostbridge models`: what is found, which is in use, what is wrong with a file."""

import json
import os
import struct
from pathlib import Path

import needs
import pytest
from ggufs import gguf

from bridge.cli.main import run
from bridge.cli.setup import models
from bridge.extras import how_to_add


@pytest.fixture(autouse=True)
def default():
    return needs.local_model()


@pytest.fixture
def folder(project):
    made = project.bridge.settings.home / "models"
    made.mkdir(parents=True)
    return made


def test_the_default_model_is_listed(project, default):
    """A fresh install has one, and it says what it is worth."""
    ran = project.run("models")

    home = project.bridge.settings.home
    ran.prints(
        0,
        "* SmolLM2-135M-Instruct.Q4_1\n"
        "    135 million parameters, Q4_1, 98 MB, context 8,192, apache-2.0\n"
        "    small (below 3 billion parameters): its answers are marked degraded\n"
        f"    {default} (comes with the extra)\n"
        f"\nin use (*): the largest that can be loaded, also from {home}/models\n"
        "larger models answer better: hostbridge models pull\n",
    )


def test_a_better_model_is_in_use(project, folder):
    """It is found where `pull` puts it; what cannot be loaded is not chosen."""
    rows = 5_000_000
    # Only the beginning of each is written: the rest is a hole.
    good = gguf(tensors={"weight": (64, 4)}).replace(
        struct.pack("<QQI", 64, 4, 3), struct.pack("<QQI", 32, rows, 3)
    )
    for name, data in (
        ("good", good),
        ("odd", good.replace(b"llama", b"lxama")),
        ("big-00001-of-00002", good),
    ):
        (folder / f"{name}.gguf").write_bytes(data)
        os.truncate(folder / f"{name}.gguf", len(data) + rows * 20)

    ran = project.run("models")

    lines = ran.out.splitlines()
    assert ran.code == 0
    assert [line for line in lines if line[:1] == "*" or line[:4] != "    "] == [
        "* good",
        "  big-00001-of-00002",
        "  odd",
        "  SmolLM2-135M-Instruct.Q4_1",
        "",
        f"in use (*): the largest that can be loaded, also from {folder}",
        "larger models answer better: hostbridge models pull",
    ]
    unnamed = "    does not answer unless it is named: "
    assert f"{unnamed}one part of a model in several files" in lines
    assert f"{unnamed}the installed llama.cpp does not know 'lxama' models" in lines


def test_without_the_extra_files_are_still_listed(project, folder, tmp_path):
    """The exit code is the help's: no model can answer."""
    (folder / "own.gguf").write_bytes(gguf())
    hidden = tmp_path / "without"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n.startswith('llama_cpp') else find(n, *a)"
    )

    project.run("models", env={"PYTHONPATH": str(hidden)}).tells(
        1, f"llama-cpp-python is not installed; run: {how_to_add('local')}", "  own\n"
    )


def test_json(project, tmp_path):
    """A base model of the user's own, in front of the others."""
    model = tmp_path / "own.gguf"
    model.write_bytes(gguf({"general.architecture": "llama"}))

    ran = project.run("models", "--json", env={"BRIDGE_LOCAL_MODEL": str(model)})

    own, default = json.loads(ran.out)["models"]
    assert ran.code == 0
    file = {"path": str(model), "name": "own", "bytes": model.stat().st_size}
    kind = {"format": "GGUF 3", "quantization": "Q4_1", "architecture": "llama"}
    size = {"parameters": 128, "contextLength": 0, "degraded": True}
    origin = {"found": "BRIDGE_LOCAL_MODEL", "source": None, "licence": ""}
    why_not = "a base model, which continues text"
    use = {"inUse": True, "problem": None, "whyNot": why_not, "chatTemplate": False}
    assert own == file | kind | size | origin | use
    assert (default["inUse"], default["chatTemplate"]) == (False, True)


def test_error_the_one_in_use_is_broken(project):
    """The others are still listed; the exit code says that nothing would work."""
    ran = project.run("models", env={"BRIDGE_LOCAL_MODEL": "/etc/passwd"})

    assert ran.code == 1
    assert ran.out.startswith(
        "* passwd\n"
        "    cannot be used: not a GGUF file but something that starts with b'root'\n"
        "    /etc/passwd (BRIDGE_LOCAL_MODEL)\n  SmolLM2-135M-Instruct.Q4_1\n"
    )
    assert ran.out.endswith("\ncorrect BRIDGE_LOCAL_MODEL, or unset it\n")


def test_error_none_is_in_use(project, folder, capsys, monkeypatch):
    """The way out is one command."""
    (folder / "own.gguf").write_bytes(gguf({"general.architecture": "llama"}))
    monkeypatch.setenv("HOME", project.env["HOME"])
    monkeypatch.setattr(models, "require_extra", lambda: None)
    monkeypatch.setattr("bridge.llama.model_files.find_spec", lambda _name: None)

    assert run(["models"]) == 1

    said = capsys.readouterr().out
    assert "\n    does not answer unless it is named: a base model, which" in said
    assert said.endswith(
        f"\nno model is in use (none in {folder}); fetch one: hostbridge models pull "
        "smollm2-1.7b; or name a file of yours: BRIDGE_LOCAL_MODEL=path.gguf\n"
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
