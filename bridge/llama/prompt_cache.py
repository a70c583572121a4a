"""Prompts that were read before, kept on disk: one file each, the oldest go first.

    <folder>/<model>-<tokens>.state    llama.cpp's state, then 16 bytes of ours

The last 16 bytes are a mark, the length of what is before them, and its checksum: a
file that is cut or damaged is dropped before llama.cpp, which trusts it, sees it. The
folder is this user's alone, as everything below `BRIDGE_HOME`.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import time
import zlib
from array import array
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# A shorter prompt is read about as fast as a file.
LEAST_TOKENS = 64
_SEAL = struct.Struct("<4sQI")
_MARK = b"hbps"
_HEAD_BYTES = 1 << 16
_STALE_S = 3600


class Model(Protocol):
    """What is saved and restored: `bridge.llama.runtime.Llama`."""

    def save(self, path: str) -> bool: ...  # noqa: D102 - its own say
    def restore(self, path: str, tokens: Sequence[int]) -> bool: ...  # noqa: D102 - its own say


def model_key(path: Path, build: str) -> str:
    """Names a model file and the build that reads it.

    By size, time of change, first and last 64 KiB: to read all of a file of some
    gigabytes would cost more than the cache saves. A file that was rewritten in place
    with its size, time and both ends kept is not told from the old one; nothing but an
    intent to do that does so.
    """
    facts = path.stat()
    told = hashlib.sha256(f"{build} {facts.st_size} {facts.st_mtime_ns}".encode())
    with path.open("rb") as file:
        told.update(file.read(_HEAD_BYTES))
        file.seek(max(0, facts.st_size - _HEAD_BYTES))
        told.update(file.read(_HEAD_BYTES))
    return told.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class PromptCache:
    """The files of one model, in a folder that all models share.

    Attributes:
        folder: exists, and is this user's.
        key: of the model.
        max_bytes: what all files of the folder may take.
    """

    folder: Path
    key: str
    max_bytes: int

    def restore(self, model: Model, tokens: Sequence[int]) -> bool:
        """Have the model stand behind these tokens; False when they are not here."""
        path = self._path(tokens)
        try:
            if _is_whole(path) and model.restore(str(path), tokens):
                os.utime(path)
                return True
        except FileNotFoundError:
            return False
        except OSError:
            pass
        _drop(path)
        return False

    def save(self, model: Model, tokens: Sequence[int]) -> bool:
        """Keep what the model has read, which is these tokens; False when it cannot."""
        path = self._path(tokens)
        temporary = self.folder / f".{path.name}.{os.getpid()}.tmp"
        try:
            if not model.save(str(temporary)) or not self._seal(temporary):
                return False
            os.replace(temporary, path)
        except OSError:
            return False
        finally:
            _drop(temporary)
        self._make_room()
        return True

    def _path(self, tokens: Sequence[int]) -> Path:
        digest = hashlib.sha256(array("i", tokens).tobytes()).hexdigest()[:32]
        return self.folder / f"{self.key}-{digest}.state"

    def _seal(self, path: Path) -> bool:
        """Add what tells a whole file; False where it is more than all may take."""
        path.chmod(0o600)
        length, checksum = _measure(path)
        if length > self.max_bytes:
            return False
        with path.open("ab") as file:
            file.write(_SEAL.pack(_MARK, length, checksum))
        return True

    def _make_room(self) -> None:
        """Remove what was used longest ago, until the rest fits."""
        files = []
        for path in self.folder.iterdir():
            with suppress(OSError):
                facts = path.stat()
                if path.suffix == ".state":
                    files.append((facts.st_mtime, facts.st_size, path))
                elif path.name.startswith(".") and _is_stale(facts):
                    _drop(path)
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.max_bytes:
                return
            _drop(path)
            total -= size


def _is_whole(path: Path) -> bool:
    if not stat.S_ISREG(path.stat().st_mode):
        # To open a pipe would wait for its other end, until the deadline.
        return False
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _SEAL.size:
            return False
        file.seek(-_SEAL.size, os.SEEK_END)
        mark, length, checksum = _SEAL.unpack(file.read(_SEAL.size))
    if mark != _MARK or length != size - _SEAL.size:
        return False
    return bool(_measure(path, length)[1] == checksum)


def _measure(path: Path, length: int | None = None) -> tuple[int, int]:
    """Length and checksum of the first `length` bytes, or of all."""
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size if length is None else length
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as data:
            return length, zlib.crc32(data)


def _is_stale(facts: os.stat_result) -> bool:
    return time.time() - facts.st_mtime > _STALE_S


def _drop(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
