"""Complete the read set of an answer, when the agent is done.

Each file must still be as it was when the agent looked: its status as it was noted
before the call, and no change since, by a time that nobody can set. If something
changed meanwhile, the agent may have seen either version: such an answer is kept, but
what it rests on is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bridge.freshness.disk import ABSENT, Disk, Seen, Unknowable, as_late
from bridge.freshness.looks import OF_TREES, Look, merged, patterns_of
from bridge.freshness.never_reused import ACTED, MEANWHILE, OUTSIDE, UNKNOWABLE
from bridge.freshness.reads import Entry, Tree, path_in

# The kernel may write a time that is as old as its last tick.
_TICK_MS = 20
_MS_NS = 1_000_000
_DOUBTS = {"outside": OUTSIDE, "change": ACTED}


class ReadSet(NamedTuple):
    """What an answer rests on; or why that is unknown, and of what."""

    files: dict[str, Entry]
    trees: tuple[Tree, ...]
    doubt: str = ""
    detail: str = ""


class _Changed(Exception):
    """Something changed after the agent had looked at it."""


def complete(looks: Iterable[Look], disk: Disk) -> ReadSet:
    """What an answer rests on that came from these looks."""
    looks = merged(looks)
    for look in looks:
        if look.kind in _DOUBTS:
            return ReadSet({}, (), _DOUBTS[look.kind], look.path)
    files: dict[str, Entry] = {}
    trees = []
    try:
        for look in looks:
            if look.kind in OF_TREES:
                trees.append(_tree(look, disk))
            else:
                files[look.path] = _file(look, disk)
    except _Changed as exc:
        return ReadSet({}, (), MEANWHILE, str(exc))
    except Unknowable as exc:
        return ReadSet({}, (), UNKNOWABLE, str(exc))
    return ReadSet(files, tuple(trees))


def _file(look: Look, disk: Disk) -> Entry:
    seen = disk.see(look.path)
    _check_there(look, seen)
    if seen.kind == "other":
        raise Unknowable(f"{look.path}: it is no plain file")
    if look.facts not in (None, seen.facts):
        raise _Changed(look.path)
    return _entry(look, look.path, seen, disk)


def _tree(look: Look, disk: Disk) -> Tree:
    patterns, is_all = patterns_of(look.pattern), look.kind == "everything"
    top = disk.see(look.path)
    _check_there(look, top)
    if look.facts not in (None, top.facts):
        # A link on the way may lead elsewhere by now.
        raise _Changed(look.path)
    walked = disk.walk(look.path, patterns, is_all=is_all)
    if _is_later(walked.changed_ns, look):
        raise _Changed(look.path)
    has_bytes = look.kind != "names"
    entries = {
        name: _entry(look, path_in(look.path, name), seen, disk) if has_bytes else None
        for name, seen in walked.found.items()
    }
    return Tree(look.kind, look.path, patterns, entries)


def _check_there(look: Look, seen: Seen) -> None:
    if look.was_there and seen.kind == ABSENT:
        raise _Changed(look.path)


def _entry(look: Look, path: str, seen: Seen, disk: Disk) -> Entry:
    if _is_later(as_late(seen.changed_ns), look):
        raise _Changed(path)
    digest = disk.digest(path, seen.kind)
    if seen.kind == "file" and disk.see(path).facts != seen.facts:
        raise _Changed(path)
    return Entry(seen.kind, digest, seen.facts)


def _is_later(changed_ns: int, look: Look) -> bool:
    return changed_ns >= (look.at_ms - _TICK_MS) * _MS_NS
