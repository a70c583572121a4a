"""What a comparison asks of the files as they are now: `disk.Disk` answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class SeenNow(Protocol):
    """What a path is now."""

    @property
    def kind(self) -> str:
        """What is there: `disk.Seen`."""

    @property
    def facts(self) -> str:
        """What changes with its bytes."""


class WalkedNow(Protocol):
    """What lies below a folder now."""

    @property
    def found(self) -> Mapping[str, SeenNow]:
        """By path from the folder."""


class Files(Protocol):
    """The files as they are now (`disk.Disk`)."""

    def see(self, path: str) -> SeenNow:
        """What is at a path."""

    def walk(self, root: str, patterns: tuple[str, ...], *, is_all: bool) -> WalkedNow:
        """What lies below a folder."""

    def digest(self, path: str, kind: str) -> str:
        """The SHA-256 of what is at a path."""
