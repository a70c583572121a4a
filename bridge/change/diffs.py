"""One file as a unified diff. Pure."""

import re

from dulwich.patch import unified_diff

_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_CONTROL = re.compile(r'[\x00-\x1f\x7f"\\]')


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
    lines = unified_diff(_lines(old), _lines(new), before.encode(), after.encode())
    body = b"".join(lines).decode("utf-8", "replace")
    kind = "new file\n" if old is None else "deleted\n" if new is None else ""
    return f"diff --git a/{name} b/{name}\n{kind}{body}".removesuffix("\n")


def path_text(path: bytes) -> str:
    """A path in one line, quoted if it has control characters."""
    text = path.decode("utf-8", "backslashreplace")
    if _CONTROL.search(text):
        escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    return text


def _lines(text: bytes | None) -> list[bytes]:
    return _LINE.findall((text or b"").replace(b"\r\n", b"\n"))
