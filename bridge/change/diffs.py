"""One file as a unified diff. Pure."""

from typing import NamedTuple


class FileDiff(NamedTuple):
    """The diff of a file, and how many lines it adds and removes."""

    text: str
    added: int
    removed: int


def file_diff(
    path: bytes, old: bytes | None, new: bytes | None, *, modes: tuple[int, int]
) -> FileDiff:
    """The diff of one file; None means that there is no file.

    `modes` are those of both sides.
    """
    import pygit2
    from pygit2.enums import DiffOption

    name = path_text(path)
    # Above the first hunk libgit2 names blobs of its own.
    options = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
    patch = pygit2.Patch.create_from(old or b"", new or b"", flag=options)
    at = patch.data.find(b"\n@@ ") + 1
    # A byte that is not UTF-8 counts: two of them must not look alike.
    hunks = patch.data[at:].decode("utf-8", "backslashreplace") if at else ""
    before = "/dev/null" if old is None else f"a/{name}"
    after = "/dev/null" if new is None else f"b/{name}"
    body = f"--- {before}\n+++ {after}\n{hunks}" if hunks else ""
    if old is None:
        kind = f"new file mode {modes[1]:o}\n"
    elif new is None:
        kind = f"deleted file mode {modes[0]:o}\n"
    elif modes[0] != modes[1]:
        kind = f"old mode {modes[0]:o}\nnew mode {modes[1]:o}\n"
    else:
        kind = ""
    text = f"diff --git a/{name} b/{name}\n{kind}{body}".removesuffix("\n")
    _context, added, removed = patch.line_stats
    return FileDiff(text, added, removed)


def plain_text(path: bytes) -> str:
    r"""A path as text; a byte that is not UTF-8 as `\xe9`."""
    return path.decode("utf-8", "backslashreplace")


def path_text(path: bytes) -> str:
    """A path in one line, quoted if it has characters that are not printed."""
    return quoted_path(plain_text(path))


def quoted_path(text: str) -> str:
    """A path that is text already, in one line."""
    if not text.isprintable() or set(text) & {'"', "\\"}:
        escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    return text
