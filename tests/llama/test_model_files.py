"""The file for each name of a model, and the error if there is none."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from ggufs import METADATA, gguf

from bridge.agent_loop.chat_model import ModelFailed
from bridge.config import Settings
from bridge.errors import ExtraMissing
from bridge.extras import how_to_add
from bridge.llama import choice, model_files
from bridge.llama.model_files import (
    SMALL_BELOW,
    find_model,
    known_models,
    require_extra,
)


@pytest.fixture
def settings(tmp_path):
    configured = tmp_path / "configured.gguf"
    configured.write_bytes(gguf())
    return Settings(home=tmp_path / "home", local_model=configured)


@pytest.mark.parametrize("alias", ["haiku", "sonnet", "opus", "fable", "inherit"])
def test_an_alias_is_the_configured_model_and_degraded(settings, alias):
    """A caller who asks for opus gets a local model; the answer must not hide that."""
    model = find_model(alias, settings)

    assert model.path == settings.local_model
    assert (model.stands_in_for, model.is_degraded) == (alias, True)


def test_a_path_is_looked_for_beside_the_definition_and_at_home(settings, tmp_path):
    """As a definition's scripts are."""
    beside = tmp_path / "agents"
    for folder in (beside, settings.home / "models"):
        folder.mkdir(parents=True)
        (folder / "both.gguf").write_bytes(gguf())
    (settings.home / "models" / "home.gguf").write_bytes(gguf())

    both = find_model("both.gguf", settings, beside=beside)
    home = find_model("home.gguf", settings, beside=beside)
    absolute = find_model(str(settings.local_model), settings)

    # In a definition that was read, the path is absolute.
    whole = find_model(str(beside / "home.gguf"), settings, beside=beside)

    assert (both.path, both.name) == (beside / "both.gguf", "both")
    assert whole.path == home.path
    assert home.path == settings.home / "models" / "home.gguf"
    assert (absolute.path, absolute.stands_in_for) == (settings.local_model, None)


@pytest.mark.parametrize(
    ("parameters", "alias", "is_small", "is_degraded"),
    [
        (SMALL_BELOW - 1, None, True, True),
        (SMALL_BELOW, None, False, False),
        *((SMALL_BELOW, alias, False, True) for alias in ("opus", "sonnet")),
    ],
)
def test_small_is_below_the_bound(parameters, alias, is_small, is_degraded):
    """The parameters count: the size of a quantized file says little.

    An alias is degraded all the same: it is not the model that was asked for.
    """
    header = model_files.Header(3, {}, parameters, "Q4_1", 1)

    model = model_files.ModelFile(Path("/m.gguf"), header, alias)

    assert (model.is_small, model.is_degraded) == (is_small, is_degraded)


def failure(wanted, settings, **where) -> str:
    with pytest.raises(ModelFailed) as caught:
        find_model(wanted, settings, **where)
    assert caught.value.code == "model_unavailable"
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gone", "no such file"),
        ("a\0b", "no name that a file can have"),
        ("a\ud800", "no name that a file can have"),
        ("x" * 5000, "File name too long"),
    ],
    ids=["gone", "nul", "surrogate", "long"],
)
def test_error_no_such_file(settings, tmp_path, name, problem):
    """A request may name anything."""
    path = tmp_path / f"{name}.gguf"

    assert failure(path.name, settings, beside=tmp_path) == f"{path}: {problem}"


def test_error_an_unknown_name(settings):
    assert failure("gpt-4", settings) == (
        "no local model 'gpt-4': expected the path of a .gguf file, or fable, haiku, "
        "inherit, opus, sonnet"
    )


def test_error_the_configured_model_is_broken(settings):
    """A bad setting is no reason to use another model silently."""
    settings.local_model.write_bytes(b"PK\x03\x04")

    expected = f"{settings.local_model}: not a GGUF file but a zip archive (PyTorch?)"
    assert failure("haiku", settings) == expected


def test_error_extra_missing(settings, monkeypatch):
    """Without the extra the error is the command that installs it."""
    monkeypatch.setattr(model_files, "find_spec", lambda _name: None)

    with pytest.raises(ExtraMissing) as caught:
        require_extra()
    expected = f"llama-cpp-python is not installed; run: {how_to_add('local')}"
    assert str(caught.value) == expected
    with pytest.raises(ExtraMissing):
        find_model(None, Settings(home=settings.home))


def models_of(settings, monkeypatch):
    """The folder of models at home, where there is no extra."""
    monkeypatch.setattr(model_files, "find_spec", lambda _name: None)
    folder = settings.home / "models"
    folder.mkdir(parents=True)
    return folder


def test_known_models_lists_the_one_in_use_first(settings, monkeypatch):
    """Broken files are listed, too."""
    folder = models_of(settings, monkeypatch)
    (folder / "cut.gguf").write_bytes(gguf()[:-1])

    found = known_models(settings)

    assert [(c.path, c.found, c.model is None) for c in found] == [
        (settings.local_model, "BRIDGE_LOCAL_MODEL", False),
        (folder / "cut.gguf", str(folder), True),
    ]
    assert found[1].problem.startswith("cut off: ")


def test_the_default_is_a_file_of_its_package(tmp_path, monkeypatch):
    for name in ("b.gguf", "a.gguf"):
        (tmp_path / name).write_bytes(gguf())
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(model_files, "find_spec", lambda _name: spec)
    settings = Settings(home=tmp_path / "home")

    model = find_model(None, settings)
    (listed,) = known_models(settings)

    assert (model.path, model.stands_in_for) == (tmp_path / "a.gguf", "")
    assert (listed.path, listed.found) == (model.path, "comes with the extra")
    assert listed.in_use


def test_the_largest_that_can_be_loaded_answers(settings, monkeypatch):
    """What is only found by name is no default, and a configured file goes first."""
    folder = models_of(settings, monkeypatch)
    base = {"general.architecture": "llama"}
    for name, data in {
        "b-small": gguf(),
        "a-large": gguf(tensors={"weight": (64, 4)}),
        "base": gguf(base, {"weight": (64, 8)}),
        "part-00001-of-00002": gguf(tensors={"weight": (64, 8)}),
        "newer": gguf(METADATA | {"general.architecture": "x9"}, {"weight": (64, 8)}),
        "cut": gguf(tensors={"weight": (64, 8)})[:-1],
    }.items():
        (folder / f"{name}.gguf").write_bytes(data)
    bare = Settings(home=settings.home)

    found = {each.path.stem: each for each in known_models(bare)}

    assert next(iter(found)) == "a-large"
    assert [name for name, each in found.items() if each.in_use] == ["a-large"]
    assert {name: each.why_not for name, each in found.items() if each.why_not} == {
        "base": "a base model, which continues text",
        "part-00001-of-00002": "one part of a model in several files",
        "newer": "the installed llama.cpp does not know 'x9' models",
    }
    assert find_model("haiku", bare).path == folder / "a-large.gguf"
    assert find_model("base.gguf", bare).path == folder / "base.gguf"
    assert find_model(None, settings).path == settings.local_model

    monkeypatch.setattr(choice, "_memory", lambda: 10)
    assert not any(each.in_use for each in known_models(bare))
    with pytest.raises(ExtraMissing):
        find_model(None, bare)
