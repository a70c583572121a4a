"""Read, list and search the project's files, which needs no grant.

A model calls these as tools, a script as functions. A script gets the whole text of a
file; a model pages through it. If a search ends early, a model gets what was found and
the reason; a script gets the error, since it would take a part for the whole.
"""

from collections.abc import Iterator
from itertools import islice

from bridge.agent_loop.tool import Tool, ToolResult, object_schema
from bridge.agent_loop.workspace import PATH_SCHEMA, LeftOff, Project, Refused

LINES_AT_ONCE = 200
MAX_PATHS = 200
MAX_MATCHES = 50
MAX_TEXT_BYTES = 1024 * 1024
_SEARCHED_FILE_BYTES = 1024 * 1024
_SEARCHED_BYTES = 64 * 1024 * 1024
_LINE_CHARS = 200


class FileReader:
    """Reads, lists and searches the files of `project`."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def read_file(self, path: str, line: int = 1) -> str:
        """Up to `LINES_AT_ONCE` lines of a file, from `line` on.

        Raises:
            Refused: there is nothing that may be read.
        """
        # For JSON Schema, 1.0 is an integer.
        line = int(line)
        if line < 1:
            raise Refused(f"lines count from 1; there is no line {line}")
        lines = self.project.read(path).splitlines()
        if not lines:
            return "(empty file)"
        if line > len(lines):
            raise Refused(f"{path!r} has {len(lines)} lines; there is no line {line}")
        shown = lines[line - 1 : line - 1 + LINES_AT_ONCE]
        left = len(lines) - (line - 1) - len(shown)
        more = (
            f"\n… {left} more lines, from line {line + len(shown)} on" if left else ""
        )
        return "\n".join(shown) + more

    def read_text(self, path: str) -> str:
        """The exact text of a file of up to `MAX_TEXT_BYTES`.

        Raises:
            Refused: there is nothing that may be read, or it is larger.
        """
        return self.project.read(path, MAX_TEXT_BYTES)

    def list_files(self, folder: str = ".", pattern: str = "*") -> list[str]:
        """Paths of the files below a folder that match a pattern; see `Project.files`.

        Raises:
            Refused: the folder may not be read.
            LeftOff: there are too many files.
        """
        return list(self.project.files(folder, pattern))

    def search_text(
        self, text: str, folder: str = ".", pattern: str = "*"
    ) -> list[str]:
        """`path:line: text` of the lines that contain `text`, at most `MAX_MATCHES`.

        Raises:
            Refused: the folder may not be read.
            LeftOff: there is too much to search.
        """
        return list(islice(self.matches(text, folder, pattern), MAX_MATCHES))

    def matches(
        self, text: str, folder: str = ".", pattern: str = "*"
    ) -> Iterator[str]:
        """The lines of `search_text`, one by one and without the limit."""
        most = self.project.bytes_read + _SEARCHED_BYTES
        for path in self.project.files(folder, pattern):
            # Checked for each file: part of one that is refused was read, too.
            if self.project.bytes_read >= most:
                raise LeftOff(
                    f"only the first {_SEARCHED_BYTES:,} bytes were searched; "
                    "name a folder or a pattern"
                )
            try:
                content = self.project.read(path, _SEARCHED_FILE_BYTES)
            except Refused:
                continue
            if text in content:
                for number, line in enumerate(content.splitlines(), 1):
                    if text in line:
                        yield f"{path}:{number}: {line.strip()[:_LINE_CHARS]}"


def reading_tools(reader: FileReader) -> tuple[Tool, ...]:
    """The tools `read_file`, `list_files` and `search_text`."""
    return (
        Tool(
            "read_file",
            "Read a text file of the project.",
            object_schema(
                {"path": PATH_SCHEMA, "line": {"type": "integer", "minimum": 1}}, "path"
            ),
            lambda a: ToolResult(reader.read_file(a["path"], a.get("line", 1))),
        ),
        Tool(
            "list_files",
            "List the files of the project, or of one folder, by a name like *.py.",
            object_schema({"folder": PATH_SCHEMA, "pattern": PATH_SCHEMA}),
            lambda a: _listing(reader.project.files(**a)),
        ),
        Tool(
            "search_text",
            "Find the lines that hold a text, letter for letter.",
            object_schema(
                {"text": PATH_SCHEMA, "folder": PATH_SCHEMA, "pattern": PATH_SCHEMA},
                "text",
            ),
            lambda a: _found(reader.matches(**a)),
        ),
    )


def _listing(paths: Iterator[str]) -> ToolResult:
    listed, why = _collected(paths)
    left = len(listed) - MAX_PATHS
    more = [f"… {left} more; name a folder or a pattern"] if left > 0 else []
    return ToolResult("\n".join([*listed[:MAX_PATHS], *more, *why]) or "no files")


def _found(matches: Iterator[str]) -> ToolResult:
    found, why = _collected(islice(matches, MAX_MATCHES))
    more = ["… there may be more"] if len(found) >= MAX_MATCHES else []
    return ToolResult("\n".join([*found, *more, *why]) or "nothing found")


def _collected(lines: Iterator[str]) -> tuple[list[str], list[str]]:
    """The lines, and the reason if the search ended early."""
    found: list[str] = []
    try:
        found.extend(lines)
    except LeftOff as exc:
        return found, [f"… {exc}"]
    return found, []
