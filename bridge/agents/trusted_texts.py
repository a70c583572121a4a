"""The files that were trusted, as they were: `<home>/trusted/<SHA-256>`.

With them, `hostbridge trust` shows what has changed since. Nothing is trusted by them:
a text counts only if it has the digest that it is named by.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from bridge.agents.files import Unreadable, read_bytes
from bridge.errors import BridgeError
from bridge.store.directory import Folder

FOLDER = "trusted"
# All of them together; a definition that has no room is shown whole.
MAX_BYTES = 16 * 1024 * 1024


def keep(home: Folder, files: Mapping[Path, str], wanted: Collection[str]) -> None:
    """Keep the texts of files that have these digests, as far as there is room.

    Those that are not `wanted` any more are removed. It is no error if one cannot be
    kept: then it is shown whole when it has changed.
    """
    with suppress(OSError, BridgeError), home.folder(FOLDER) as folder:
        left = MAX_BYTES
        for entry in list(folder.entries()):
            if entry.name in wanted:
                left -= entry.stat(follow_symlinks=False).st_size
            else:
                folder.remove(entry.name)
        for file, digest in files.items():
            data = _text_of(file, digest)
            if data is not None and len(data) <= left and not folder.has(digest):
                folder.create(digest, data)
                left -= len(data)


def _text_of(file: Path, digest: str) -> bytes | None:
    """The bytes of a text file, if they have this digest."""
    try:
        data = read_bytes(file, follow_links=False)
    except Unreadable:
        return None
    is_it = sha256(data).hexdigest() == digest and b"\0" not in data
    return data if is_it else None


def find_text(file: Path, digest: str, home: Path) -> str | None:
    """The text with this digest: of the file itself, or the one that was kept.

    An undecodable byte becomes a lone surrogate.
    """
    for place in (file, home / FOLDER / os.path.basename(digest)):
        data = _text_of(place, digest)
        if data is not None:
            return data.decode("utf-8", "surrogateescape")
    return None
