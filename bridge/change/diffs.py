"""One file as a unified diff. Pure."""

from __future__ import annotations

import difflib
import re

_BINARY_LOOK = 8000
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_ODD = re.compile(r'[\x00-\x1f\x7f"\\]')


def is_binary(text: bytes) -> bool:
    """Whether git would call it binary: a NUL early in it."""
    return b"\0" in text[:_BINARY_LOOK]


def differs(old: bytes, new: bytes) -> bool:
    """Whether two texts differ in more than their line endings.

    Those depend on a setting that is not read here.
    """
    return old != new and old.replace(b"\r\n", b"\n") != new.replace(b"\r\n", b"\n")


def file_diff(path: bytes, old: bytes | None, new: bytes | None) -> str:
    """The diff of one file; None means that there is no file."""
    name = path_text(path)
    before = "/dev/null" if old is None else f"a/{name}"
    after = "/dev/null" if new is None else f"b/{name}"
    lines = list(
        difflib.unified_diff(_lines(old), _lines(new), before, after, lineterm="")
    )
    # The first two name the file; another without an end is the last of the file.
    body = lines[:2] + [_ended(line) for line in lines[2:]]
    kind = "new file" if old is None else "deleted" if new is None else None
    head = [f"diff --git a/{name} b/{name}", *([kind] if kind else [])]
    return "\n".join([*head, *body])


def path_text(path: bytes) -> str:
    """A path in one line, quoted if it has control characters."""
    text = path.decode("utf-8", "backslashreplace")
    if _ODD.search(text):
        escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    return text


def _lines(text: bytes | None) -> list[str]:
    return _LINE.findall((text or b"").decode("utf-8", "replace").replace("\r\n", "\n"))


def _ended(line: str) -> str:
    if line.startswith("@@") or line.endswith("\n"):
        return line.removesuffix("\n")
    return f"{line}\n\\ No newline at end of file"
