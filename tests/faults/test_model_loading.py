"""A model file that is truncated, replaced or gone; memory and a cache that lack."""

import hashlib

import needs
import pytest
from ggufs import gguf
from localmodel import HI, YES, ask, failure, open_model, start

from bridge.agent_loop.chat_model import ModelFailed
from bridge.config import Settings

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@pytest.fixture
def model(tmp_path):
    """A link to the default model."""
    link = tmp_path / "m.gguf"
    link.symlink_to(needs.local_model())
    return link


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home")


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.5, 0.99, 0.99999])
def test_error_a_truncated_file(tmp_path, settings, share):
    """A broken download is recognized before llama.cpp reads it."""
    whole = needs.local_model().read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(ModelFailed, match=f"{cut}: cut off") as caught:
        open_model(str(cut), settings)

    assert caught.value.code == "model_unavailable"


def test_error_llama_refuses_the_file(tmp_path, settings):
    """A whole header may still describe nothing that llama.cpp knows."""
    needs.local_model()
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(gguf())

    with open_model(str(odd), settings) as llama:
        code, message = failure(llama)

    assert code == "model_unavailable"
    assert message.startswith(f"{odd}: llama.cpp cannot load it: ")


def test_error_not_the_file_that_was_trusted(model, settings):
    """It was replaced between the check and the loading: nothing of it is run."""
    digest = hashlib.sha256(b"another").hexdigest()

    with open_model(str(model), settings, digest=digest) as llama:
        assert failure(llama) == (
            "model_unavailable",
            f"{model}: not the file that was trusted: it has changed since",
        )


def test_the_file_that_was_trusted(model, settings):
    """It is held open while it is loaded, and its own template is used."""
    digest = hashlib.sha256(model.read_bytes()).hexdigest()

    with open_model(str(model), settings, digest=digest) as llama:
        assert ask(llama, HI, YES).text


def test_error_the_file_is_removed_after_it_was_found(model, tmp_path):
    with start(tmp_path, local_model=model) as llama:
        model.unlink()
        code, message = failure(llama)

    assert code == "model_unavailable"
    assert message.startswith(f"{model}: ")


def test_enough_memory(tmp_path):
    """The limit is on what is allocated, without the model's file."""
    with start(tmp_path, local_memory_mb=600) as llama:
        assert ask(llama, HI, YES).tokens


@pytest.mark.parametrize("mib", [20, 60, 120])
def test_error_the_memory_limit_is_named(tmp_path, mib):
    """The loader, Python's threads and llama.cpp all report it in other words."""
    with start(tmp_path, local_memory_mb=mib, local_context=8192) as llama:
        code, message = failure(llama)

    assert code in ("model_unavailable", "model_died")
    assert "out of memory" in message or "has no room" in message
    assert f"its memory is limited to {mib} MiB" in message
    assert "\n" not in message


@pytest.mark.parametrize("what", ["file", "link", "parent"])
def test_without_a_usable_cache_a_warning_is_enough(tmp_path, caplog, what):
    """No request fails for a cache, and the warning is given once."""
    folder = tmp_path / "cache" / "prompts"
    folder.parent.mkdir(mode=0o700)
    if what == "file":
        folder.write_text("")
    elif what == "link":
        folder.symlink_to("/tmp")
    else:
        folder.parent.rmdir()
        folder.parent.write_text("")

    for _ in range(2):
        with start(tmp_path) as llama:
            assert ask(llama, HI, YES).text

    (warning,) = caplog.messages
    assert warning.startswith("hostbridge: prompts are not kept, which takes longer: ")
    assert str(folder.parent) in warning
