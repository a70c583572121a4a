"""A cache of prompts on disk, one file each; the least recently used go first.

    <folder>/<model>-<tokens>.state    llama.cpp's state, then 16 bytes of ours

The last 16 bytes are a mark, the length of the state and its checksum. So a truncated
or damaged file is removed before llama.cpp, which would trust it, reads it. Only this
user may enter the folder, as everything below `BRIDGE_HOME`.
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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.llama.runtime import Llama

# A shorter prompt is computed about as fast as its file is read.
LEAST_TOKENS = 64
_SEAL = struct.Struct("<4sQI")
_MARK = b"hbps"
_HEAD_BYTES = 1 << 16
_STALE_S = 3600


def model_key(path: Path, build: str) -> str:
    """Identify a model file and the build that reads it.

    By size, time of change, and the first and last 64 KiB: reading gigabytes would cost
    more than the cache saves. A file that was changed without changing any of these is
    taken for the old one; that does not happen by accident.
    """
    facts = path.stat()
    digest = hashlib.sha256(f"{build} {facts.st_size} {facts.st_mtime_ns}".encode())
    with path.open("rb") as file:
        digest.update(file.read(_HEAD_BYTES))
        file.seek(max(0, facts.st_size - _HEAD_BYTES))
        digest.update(file.read(_HEAD_BYTES))
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class PromptCache:
    """The files of one model, in a folder that all models share.

    Attributes:
        folder: exists, and belongs to this user.
        key: identifies the model.
        max_bytes: the most that all files of the folder may take.
    """

    folder: Path
    key: str
    max_bytes: int

    def restore(self, model: Llama, tokens: Sequence[int]) -> bool:
        """Put the model in its state after these tokens; False if it is not cached."""
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

    def save(self, model: Llama, tokens: Sequence[int]) -> bool:
        """Save the state of a model that has read these tokens; False if it fails."""
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
        """Mark a file as whole; False if it is larger than the cache may be."""
        path.chmod(0o600)
        length, checksum = _measure(path)
        if length > self.max_bytes:
            return False
        with path.open("ab") as file:
            file.write(_SEAL.pack(_MARK, length, checksum))
        return True

    def _make_room(self) -> None:
        """Remove the least recently used files until the rest fits."""
        files, stale = [], time.time() - _STALE_S
        for path in self.folder.iterdir():
            with suppress(OSError):
                facts = path.stat()
                if path.suffix == ".state":
                    files.append((facts.st_mtime, facts.st_size, path))
                elif facts.st_mtime < stale and path.name.startswith("."):
                    _drop(path)
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.max_bytes:
                return
            _drop(path)
            total -= size


def _is_whole(path: Path) -> bool:
    if not stat.S_ISREG(path.stat().st_mode):
        # Opening a pipe would wait for its other end, until the deadline.
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
    """Length and checksum of the first `length` bytes, or of all of them."""
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size if length is None else length
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as data:
            return length, zlib.crc32(data)


def _drop(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
