"""Cached prompts are found again, limited in size, and removed if damaged."""

import os
from pathlib import Path

import pytest

from bridge.llama.prompt_cache import PromptCache, model_key

TOKENS = list(range(100))
SIZE = 1000


class Model:
    """Writes a state; a damaged one must never get to it."""

    def __init__(self) -> None:
        self.restored: list[bytes] = []

    def save(self, path: str) -> bool:
        Path(path).write_bytes(b"s" * SIZE)
        return True

    def restore(self, path: str, tokens) -> bool:
        assert tokens
        data = Path(path).read_bytes()[:SIZE]
        assert data == b"s" * SIZE
        self.restored.append(data)
        return True


@pytest.fixture
def cache(tmp_path):
    return PromptCache(tmp_path, "model", 10 * SIZE)


def files(cache) -> list[Path]:
    return sorted(cache.folder.iterdir())


def test_what_was_saved_is_restored(cache):
    model = Model()

    assert not cache.restore(model, TOKENS)
    assert cache.save(model, TOKENS)
    assert cache.restore(model, TOKENS)
    assert not cache.restore(model, TOKENS[1:])

    (file,) = files(cache)
    assert file.stat().st_mode & 0o777 == 0o600


def test_another_model_does_not_find_it(cache, tmp_path):
    cache.save(Model(), TOKENS)

    assert not PromptCache(tmp_path, "other", 10 * SIZE).restore(Model(), TOKENS)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 500, SIZE, SIZE + 15])
@pytest.mark.parametrize("how", ["truncated", "damaged"])
def test_a_broken_file_is_removed(cache, how, length):
    """llama.cpp trusts what it reads."""
    cache.save(Model(), TOKENS)
    (file,) = files(cache)
    if how == "truncated":
        os.truncate(file, length)
    else:
        data = bytearray(file.read_bytes())
        data[length] ^= 1
        file.write_bytes(data)

    assert not cache.restore(Model(), TOKENS)
    assert files(cache) == []


def test_the_least_recently_used_goes(tmp_path):
    """The folder has room for three; using one keeps it."""
    cache = PromptCache(tmp_path, "model", 3 * (SIZE + 20))
    prompts = [[number] for number in range(4)]
    for number, tokens in enumerate(prompts[:3]):
        cache.save(Model(), tokens)
        (new,) = [f for f in files(cache) if f.stat().st_mtime > 10_000]
        os.utime(new, (number, number))

    assert cache.restore(Model(), prompts[0])
    cache.save(Model(), prompts[3])

    assert [cache.restore(Model(), p) for p in prompts] == [True, False, True, True]


def test_a_state_larger_than_the_cache_is_not_kept(tmp_path):
    cache = PromptCache(tmp_path, "model", SIZE - 1)

    assert not cache.save(Model(), TOKENS)
    assert files(cache) == []


def test_old_temporary_files_go(cache):
    """A worker that is killed while it saves leaves one."""
    old, new = cache.folder / ".old.tmp", cache.folder / ".new.tmp"
    for file in (old, new):
        file.touch()
    os.utime(old, (0, 0))

    cache.save(Model(), TOKENS)

    assert not old.exists()
    assert new.exists()


def test_a_missing_folder_is_no_error(tmp_path):
    cache = PromptCache(tmp_path / "gone", "model", 10 * SIZE)

    assert not cache.save(Model(), TOKENS)
    assert not cache.restore(Model(), TOKENS)


def test_a_changed_model_has_another_key(tmp_path):
    """The state of other weights would give nonsense."""
    path = tmp_path / "m.gguf"

    def key(weights: bytes, version: str = "1"):
        path.write_bytes(weights * 100)
        os.utime(path, (1, 1))
        return model_key(path, version)

    assert key(b"a") == key(b"a")
    assert key(b"a") not in (key(b"b"), key(b"a", "2"))


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_pipe_or_folder_in_place_of_a_file(cache, put):
    """Opening a pipe would wait for its other end until the deadline."""
    cache.save(Model(), TOKENS)
    (file,) = files(cache)
    file.unlink()
    put(file)

    assert not cache.restore(Model(), TOKENS)
