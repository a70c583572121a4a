"""Write the project's files, where the definition's `allow` rules grant it.

A file is replaced whole, by a rename: a run that is killed leaves the old text or the
new one. What may hold secrets, what governs a session, links that lead out and whatever
is no plain file are never written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agent_loop.tool import Tool, ToolResult, object_schema
from bridge.agent_loop.workspace import PATH_SCHEMA, Project, Refused
from bridge.policy.permission_rules import Rule, is_about, parse_rule
from bridge.policy.permissions import Call, is_granted
from bridge.policy.tool_names import call_on_host

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 1024 * 1024
_TEXT: dict[str, Any] = {"type": "string", "maxLength": MAX_BYTES}


class Editor:
    """Writes files of `project`, as far as `rules` grant it."""

    def __init__(self, project: Project, rules: Sequence[str]) -> None:
        self._project = project
        self._rules = rules

    @property
    def may_write(self) -> bool:
        """Whether any rule is about writing files."""
        return any(map(_is_writing, self._rules))

    def write_file(self, path: str, content: str) -> str:
        """Make a file of this text, or replace it; missing folders are made.

        Raises:
            Refused: it is not granted, or nothing may be written there.
        """
        self._check("write_file", path=path, content=content)
        is_new = self._project.replace(path, content.encode())
        lines = len(content.splitlines())
        return f"{'wrote' if is_new else 'replaced'} {path}: {lines} lines"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace the one place of a file where `old` stands.

        Raises:
            Refused: it is not granted; or `old` stands nowhere, or more than once.
        """
        self._check("edit_file", path=path, old=old, new=new)
        text = self._exact_text(path)
        count = text.count(old)
        if count != 1:
            where = "does not stand" if not count else f"stands {count} times"
            raise Refused(
                f"`old` {where} in {path!r}; give lines that stand there once, letter "
                "for letter"
            )
        self._project.replace(path, text.replace(old, new).encode())
        line = text[: text.index(old)].count("\n") + 1
        return f"changed {path} at line {line}"

    def _exact_text(self, path: str) -> str:
        try:
            return self._project.read_bytes(path, MAX_BYTES).decode()
        except UnicodeDecodeError:
            raise Refused(f"{path!r} is not UTF-8, and is not changed") from None

    def _check(self, tool: str, **arguments: str) -> None:
        project = self._project
        project.locate(arguments["path"])
        name, tool_input = call_on_host(tool, arguments)
        call = Call(name, tool_input, str(project.root), project.real)
        if not is_granted(self._rules, call):
            listed = ", ".join(rule for rule in self._rules if _is_writing(rule))
            raise Refused(
                f"{arguments['path']!r} may not be written; granted: {listed}"
            )


def editing_tools(editor: Editor) -> tuple[Tool, ...]:
    """The tools `write_file` and `edit_file`; none where no rule grants any."""
    if not editor.may_write:
        return ()
    return (
        Tool(
            "write_file",
            "Make a text file of the project, or replace the whole of it.",
            object_schema({"path": PATH_SCHEMA, "content": _TEXT}, "path", "content"),
            lambda a: ToolResult(editor.write_file(**a)),
        ),
        Tool(
            "edit_file",
            "Replace one place in a text file: `old` must stand there exactly once.",
            object_schema(
                {"path": PATH_SCHEMA, "old": {**_TEXT, "minLength": 1}, "new": _TEXT},
                *("path", "old", "new"),
            ),
            lambda a: ToolResult(editor.edit_file(**a)),
        ),
    )


def _is_writing(rule: str) -> bool:
    parsed = parse_rule(rule)
    return isinstance(parsed, Rule) and is_about(parsed, "Edit")
