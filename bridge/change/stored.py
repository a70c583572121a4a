"""What git would store of a file, by its attributes; or that this is unknown.

libgit2 sees to the ends of lines. No filter runs and no encoding is changed, so what
git makes of such a file is not known. `$Id$` is done here: libgit2 takes the lines up
to the next `$` for a part of it.

Source: gitattributes(5); git, convert.c, ident_to_git, and attr.c, read_attr.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.change.gitfile import shared_by
from bridge.store.plain_file import open_plain

if TYPE_CHECKING:
    import pygit2

_NAME = b".gitattributes"
_IDENT = re.compile(rb"\$Id:[^$\n]*\$")
# Git ignores a line as long as this; older versions cut it.
_MAX_LINE = 2047
_MAX_BYTES = 4 << 20


class UnknownText(Exception):
    """What git would store is unknown; `str()` says why."""


class Attributes:
    """The attributes of a project's files, as far as they say what is stored."""

    def __init__(
        self, repo: pygit2.Repository, project: Path, is_known: Callable[[bytes], bool]
    ) -> None:
        """`is_known` says whether a path is in the index."""
        self._repo = repo
        self._project = project
        self._is_known = is_known
        self._own = shared_by(Path(repo.path)) / "info" / "attributes"
        self._why_odd = cache(self._why_odd_file)

    def stored(self, path: bytes, text: bytes) -> bytes:
        """The text that git would store of a file.

        Raises:
            UnknownText: it is unknown.
        """
        self.check(path)
        if b"$Id" in text and has_ident(self._repo, path):
            if b"\r" in text:
                raise UnknownText("it has $Id$ and ends of lines that git may change")
            return _IDENT.sub(b"$Id$", text)
        return self._with_ends(path, text)

    def check(self, path: bytes) -> None:
        """Refuse a file that git would treat by a program, or in an unknown way.

        Raises:
            UnknownText: it is one.
        """
        encoding = self._repo.get_attr(path, "working-tree-encoding")
        if encoding is not None and str(encoding).lower() not in ("utf-8", "utf8"):
            raise UnknownText(
                f"git would store it in another encoding than {encoding}, as its "
                "attribute working-tree-encoding says"
            )
        name = self._repo.get_attr(path, "filter")
        if isinstance(name, str) and self._is_configured(name):
            raise UnknownText(
                f"git would store what the filter {name} makes of it, which is not run "
                "here"
            )
        if (odd := self.odd_above(path)) is not None:
            raise UnknownText(f"git may not obey {odd}")

    def odd_above(self, path: bytes) -> str | None:
        """What libgit2 obeys of the attributes of a file, and git may not."""
        if "attr.tree" in self._repo.config:
            return ".gitattributes, since attr.tree names others"
        if why := self._why_odd(self._own):
            return f"{self._own}, {why}"
        above = path
        while above:
            above = above.rpartition(b"/")[0]
            file = above + b"/" + _NAME if above else _NAME
            name = os.fsdecode(file)
            place = self._project / name
            if why := self._why_odd(place):
                return f"{name}, {why}"
            if self._is_known(file) and not os.path.lexists(place):
                return f"{name}, which is only in the index"
        return None

    def _why_odd_file(self, file: Path) -> str | None:
        try:
            mode = file.lstat().st_mode
            if stat.S_ISDIR(mode):
                return None
            if not stat.S_ISREG(mode):
                return "which is no plain file"
            with open_plain(file, links=False) as opened:
                text = opened.read(_MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return "which cannot be read"
        is_long = any(len(line) >= _MAX_LINE for line in text.split(b"\n"))
        if is_long or len(text) > _MAX_BYTES or b"\0" in text:
            return "which has a line that is too long"
        return None

    def _is_configured(self, name: str) -> bool:
        config = self._repo.config
        try:
            keys = ("clean", "process", "required")
            return any(f"filter.{name}.{key}" in config for key in keys)
        except (ValueError, OSError):
            return True

    def _with_ends(self, path: bytes, text: bytes) -> bytes:
        """The text with the ends of lines that git would give it."""
        from pygit2 import GitError
        from pygit2.enums import FilterMode

        try:
            filters = self._repo.load_filter_list(os.fsdecode(path), FilterMode.TO_ODB)
        except UnicodeEncodeError:
            return text
        if filters is None:
            return text
        # pygit2 cuts the result at a zero byte: a short text says what becomes of this.
        has_zero = b"\0" in text
        try:
            stored = filters.apply_to_buffer(b"\r\n\0" if has_zero else text)
        except GitError:
            # `core.safecrlf` refuses to store this for good; it is stored nevertheless.
            stored = b"\n"
        else:
            if not has_zero:
                return stored
        return text.replace(b"\r\n", b"\n") if stored == b"\n" else text


def has_ident(repo: pygit2.Repository, path: bytes) -> bool:
    """Whether git writes the id of a file's text where the file has `$Id$`."""
    return repo.get_attr(path, "ident") is True
