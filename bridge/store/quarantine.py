"""quarantine/: unreadable files, byte for byte, each with the reason beside it."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import is_id
from bridge.store.directory import Folder
from bridge.store.journal import note

# Another program may still be writing a file that is younger than this.
SETTLE_MS = 2_000

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,160}\Z")


class PutAside(NamedTuple):
    """A file of `quarantine/`: its path, where it lay, since when (ms), and why."""

    path: str
    origin: str
    at: int
    why: str


def all_put_aside(quarantine: Folder, start: str = "") -> Iterator[PutAside]:
    """The files whose names begin with `start`, where a reason is known."""
    for name in quarantine.names(".reason"):
        if not name.startswith(start):
            continue
        with suppress(OSError, KeyError, TypeError, ValueError):
            reason = plain_json.loads(quarantine.read(f"{name}.reason") or b"")
            path = f"{quarantine.path}/{name}"
            at = int(reason["at"])
            yield PutAside(path, f"{reason['from']}", at, f"{reason['reason']}")


def is_young(folder: Folder, file: str, now_ms: int) -> bool:
    """Whether somebody may still be writing the file, judging by its time."""
    facts = folder.facts(file)
    if facts is None:
        return False
    return abs(now_ms - facts.st_mtime_ns // 1_000_000) < SETTLE_MS


def put_aside(state: Folder, folder: Folder, file: str, why: str, now_ms: int) -> bool:
    """Move a file out of the way; False when it cannot be moved, or is gone.

    Only with the store's lock held: without it, the name may by now belong to another
    file, and that one would be lost.
    """
    kept = f"{_plain(file)}.{now_ms}-{os.urandom(3).hex()}"
    with state.folder("quarantine") as quarantine:
        try:
            folder.move(file, quarantine, kept)
        except OSError:
            return False
        origin = f"{folder.path}/{file}".encode("utf-8", "backslashreplace").decode()
        reason = {"from": origin, "at": now_ms, "reason": why}
        # Moving the file is what counts; a full disk must not make this an error.
        with suppress(OSError, plain_json.JSONEncodeError):
            quarantine.replace(
                f"{kept}.reason", plain_json.dumps(reason) + b"\n", durable=False
            )
    stem = file.removesuffix(".json")
    note(state, now_ms, "quarantined", stem if is_id(stem) else "", reason=why)
    return True


def _plain(file: str) -> str:
    """A name that any file system and any terminal accepts."""
    if _PLAIN_NAME.match(file):
        return file
    return sha256_of(os.fsencode(file))[:32]
