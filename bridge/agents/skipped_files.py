"""Which Markdown agents Claude Code skips, or refuses to start, without a word. Pure.

It reads the frontmatter as YAML, and where that fails once more, with the values of
single lines in quotes. What is not YAML then is no agent: an `<example>` that is not
indented, an unquoted colon in a file with Windows line ends, a broken quote.

Source: measured and read in Claude Code 2.1.332.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from bridge.agents.diagnostic import Place, describe
from bridge.agents.yaml_source import Tree, read_tree
from bridge.policy import tool_names

_LINE = re.compile("([a-zA-Z_-]+):[ \\t]+([^\\s\\r\u2028\u2029][^\\r\u2028\u2029]*)")
_SPECIAL = re.compile(r"[{}\[\]*&#!|>%@`]|: ")
_TABS = re.compile(r"^\t+", re.M)
# What no agent gets, whatever the session: others depend on that.
_NEVER = frozenset(
    {
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "MultiEdit"),
        *("NotebookRead", "ScheduleWakeup", "SubagentHandback", "Workflow"),
        *tool_names.LOCAL_NAMES.values(),
    }
)


def faults(
    fields: str, tree: Tree, tools: tuple[str, ...] | None
) -> Iterator[tuple[Place, str]]:
    """Why the client has no such agent: the place in its fields, and the reason.

    `tree` is what we read of the fields, more leniently; `tools` are those that it
    lists, None for all.
    """
    if not _is_read(fields):
        places = ((each.path,) for each in tree.problems if "YAML" in each.message)
        why = "is not YAML, and Claude Code skips the file: put the text in quotes"
        yield next(places, ()), why
    if tree.value.get("description") == "":
        yield ("description",), "is empty: Claude Code skips such a file"
    hooks = tree.value.get("hooks")
    if hooks is not None and not isinstance(hooks, dict):
        expected = f"expected a mapping, got {describe(hooks)}"
        yield ("hooks",), f"{expected}: Claude Code skips such a file"
    if tools and not any(map(_may_be_given, tools)):
        why = "Claude Code gives an agent none of these tools, and does not start it"
        yield ("tools",), why


def _may_be_given(tool: str) -> bool:
    return tool_names.is_known(tool) and tool not in _NEVER


def _is_read(fields: str) -> bool:
    """Whether the client can read the fields, as they are or mended."""
    mended = "\n".join(map(_mended, fields.split("\n")))
    mended = _TABS.sub(lambda tabs: "  " * len(tabs[0]), mended)
    return any(isinstance(_read(text), dict) for text in (fields, mended))


def _read(text: str) -> object:
    return read_tree(text, Path(), last_counts=True).value


def _mended(line: str) -> str:
    found = _LINE.fullmatch(line)
    if found is None:
        return line
    key, value = found[1], found[2]
    is_quoted = any(value[0] == value[-1] == quote for quote in "\"'")
    is_list = value[0] == "[" and isinstance(_read(value), list)
    if is_quoted or is_list or not _SPECIAL.search(value):
        return line
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}: "{escaped}"'
