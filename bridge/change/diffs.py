"""One file as a unified diff. Pure."""

import re
from typing import NamedTuple

from dulwich.patch import unified_diff

_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_CONTROL = re.compile(r'[\x00-\x1f\x7f"\\]')


class FileDiff(NamedTuple):
    """The diff of a file, and how many lines it adds and removes."""

    text: str
    added: int
    removed: int


def is_checkout_of(old: bytes, new: bytes) -> bool:
    """Whether git may have written the line endings of `new`, which has other changes.

    A setting that is not read here has it end all lines with CRLF. Any other mixture,
    or nothing but other line endings, is somebody's change.
    """
    ends = new.count(b"\r\n")
    is_all = 0 < ends == new.count(b"\n") and b"\n" in old and b"\r\n" not in old
    return is_all and _unix(new) != old


def file_diff(
    path: bytes,
    old: bytes | None,
    new: bytes | None,
    *,
    modes: tuple[int, int],
    is_exact: bool = False,
) -> FileDiff:
    """The diff of one file; None means that there is no file.

    `modes` are those of both sides. With `is_exact` line endings count.
    """
    name = path_text(path)
    before = "/dev/null" if old is None else f"a/{name}"
    after = "/dev/null" if new is None else f"b/{name}"
    old_lines, new_lines = (
        _LINE.findall(text if is_exact else _unix(text))
        for text in (old or b"", new or b"")
    )
    lines = list(unified_diff(old_lines, new_lines, before.encode(), after.encode()))
    added, removed = (
        sum(line.startswith(sign) for line in lines[2:]) for sign in (b"+", b"-")
    )
    # A byte that is not UTF-8 counts: two of them must not look alike.
    body = b"".join(lines).decode("utf-8", "backslashreplace")
    if old is None:
        kind = f"new file mode {modes[1]:o}\n"
    elif new is None:
        kind = f"deleted file mode {modes[0]:o}\n"
    elif modes[0] != modes[1]:
        kind = f"old mode {modes[0]:o}\nnew mode {modes[1]:o}\n"
    else:
        kind = ""
    text = f"diff --git a/{name} b/{name}\n{kind}{body}".removesuffix("\n")
    return FileDiff(text, added, removed)


def plain_text(path: bytes) -> str:
    r"""A path as text; a byte that is not UTF-8 as `\xe9`."""
    return path.decode("utf-8", "backslashreplace")


def path_text(path: bytes) -> str:
    """A path in one line, quoted if it has control characters."""
    return quoted_path(plain_text(path))


def quoted_path(text: str) -> str:
    """A path that is text already, in one line."""
    if _CONTROL.search(text):
        escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    return text


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")
