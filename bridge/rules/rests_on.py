"""Which files of rules an answer rests on: what they add, an agent has seen."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bridge.config import Settings
from bridge.freshness.looks import Look
from bridge.rules.rule_places import FILE, SETS, folders_of
from bridge.store.location import Place


def looks_of(settings: Settings, place: Place, since_ms: int) -> Iterator[Look]:
    """The rules files that may have bound an agent which began at `since_ms`.

    Where a project has rules, whether they are trusted counts, too.
    """
    for folder in map(str, folders_of(settings, place).values()):
        yield Look("file", f"{folder}/{FILE}", "", since_ms)
        yield Look("contents", f"{folder}/{SETS}", "*.yaml", since_ms)
    projects = f"{place.owner}/.bridge"
    if any(os.path.lexists(f"{projects}/{name}") for name in (FILE, SETS)):
        from bridge.agents import trust

        yield Look("file", f"{settings.home}/{trust.FILE}", "", since_ms)
