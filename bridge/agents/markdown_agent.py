"""The Markdown agent: Claude Code's frontmatter, and the system prompt below it.

    ---
    name: reviewer
    description: Reads a change and says what is wrong with it
    tools: Read, Grep, Glob
    model: sonnet
    ---
    You review changes. …

In a folder of ours, `base` names the agent that it stands on (`on_base`).

The prompt is used as it is, not as a template. Whatever the client loads is loaded
here, too: what it ignores (an unknown field or tool, another vendor's model, a limit of
zero) gives a warning, and so does a field that only the client can use. In a folder of
the client's, what it skips is an error: it reads the frontmatter as YAML, and where
that fails once more, with the values of single lines in quotes. What is not YAML then
is no agent: an `<example>` that is not indented, an unquoted colon in a file with
Windows line ends, a broken quote.

Source: Claude Code subagents reference, "Supported frontmatter fields"; measured on
2.1.330, and read in 2.1.332.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridge.agents import fields
from bridge.agents.agent_names import CLIENT_LAYERS, Layer, is_name
from bridge.agents.definition import MAX_TURNS, Definition, Source
from bridge.agents.diagnostic import Place, describe
from bridge.agents.files import Reader
from bridge.agents.frontmatter import read_fields, split
from bridge.agents.yaml_source import Tree, read_tree
from bridge.hints import did_you_mean
from bridge.policy import tool_names
from bridge.protocol.names import MODEL_NAMES, is_model

# An item between commas or spaces, outside parentheses.
_ITEM = re.compile(r"(?:[^,()\s]|\([^()]*\)?|\))+")
USED = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "maxTurns"}
)
# Fields without effect on what an agent does or may do.
_HARMLESS = frozenset({"color", "background"})
_CLIENTS = frozenset(
    {
        *("effort", "hooks", "initialPrompt", "isolation", "mcpServers", "memory"),
        *("omitClaudeMd", "permissionMode", "skills"),
    }
)
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
_ALL = "*"


def read_markdown(
    text: str, file: Path, layer: Layer, reader: Reader
) -> tuple[Tree, Definition | None]:
    """Read a Markdown agent; problems are in the tree."""
    found = split(text)
    if found is None:
        tree = Tree(file)
        tree.error((), "expected frontmatter: --- on the first line, fields, ---")
        return tree, None
    fields_text, prompt = found
    tree = read_fields(fields_text, file)
    if not isinstance(tree.value, dict):
        if not tree.problems:
            tree.error((), f"expected a mapping of fields, got {describe(tree.value)}")
        return tree, None
    _warn_of_fields(tree, layer)
    if not prompt:
        tree.warn((), "there is no prompt below the frontmatter")
    name = _string(tree, "name", is_required=True)
    description = _string(tree, "description", is_required=True)
    if name is not None and not is_name(name):
        tree.error(("name",), f"not a valid name: {name!r:.60}")
        name = None
    if name is None or description is None:
        return tree, None
    tools, blocked = _tools(tree, "tools"), _tools(tree, "disallowedTools")
    if layer in CLIENT_LAYERS:
        for place, fault in _faults(fields_text, tree, tools):
            tree.error(place, fault)
    definition = Definition(
        name=name,
        description=description,
        source=Source(
            file=file, layer=layer, spelling="markdown", digest=reader.digest
        ),
        system_prompt=prompt or None,
        model=_model(tree, reader),
        # `*` withholds all of them, whatever `tools` says.
        tools=() if blocked is None and "disallowedTools" in tree.value else tools,
        blocked_tools=blocked or (),
        max_turns=_max_turns(tree),
        base=_base(tree, layer),
    )
    return tree, definition


def _warn_of_fields(tree: Tree, layer: Layer) -> None:
    ours = set() if layer in CLIENT_LAYERS else {"base"}
    for field in sorted(tree.value.keys() - USED - _HARMLESS - ours):
        if field in _CLIENTS:
            message = "only Claude Code itself uses this field; ignored here"
        else:
            hint = did_you_mean(field, USED | _HARMLESS | _CLIENTS)
            message = f"unknown field, ignored{hint}"
        tree.warn((field,), message)


def _base(tree: Tree, layer: Layer) -> str | None:
    """The agent that it stands on. To the client, it stands on none."""
    if "base" not in tree.value or layer in CLIENT_LAYERS:
        return None
    base = _string(tree, "base", is_required=True)
    if base is not None and not is_name(base.replace(":", "", 1)):
        tree.error(("base",), f"not a valid name: {base!r:.60}")
    return base


def _string(tree: Tree, field: str, *, is_required: bool = False) -> str | None:
    value = tree.value.get(field)
    if isinstance(value, str):
        return value.strip() if field == "name" else value
    if is_required:
        message = "is missing"
        if value is not None:
            message = f"expected a string, got {describe(value)}"
        tree.error((field,), message)
    elif value is not None:
        tree.warn((field,), f"expected a string, got {describe(value)}; ignored")
    return None


def _tools(tree: Tree, field: str) -> tuple[str, ...] | None:
    """The tools in a list, or in a text with commas; None for all of them.

    It is all of them only if the field is absent or says `*`. To the client, any other
    field without a tool gives none. A rule such as `Bash(git push *)` stands for its
    tool, as routes give or withhold whole tools, and withholding too much is safe.
    """
    if field not in tree.value:
        return None
    names = []
    for place, item in _items(tree, field):
        name, bracket, _ = item.strip().strip("`\"'").partition("(")
        name = name.strip()
        if name == _ALL:
            return None
        if not name:
            continue
        if bracket and name not in ("Agent", "Task"):
            message = f"{item!r} counts as the whole tool, {name}"
            if field == "tools":
                message += "; only a YAML agent can grant part of a tool, with `allow`"
            tree.warn(place, message)
        if not tool_names.is_known(name):
            tree.warn(place, f"unknown tool {name!r}")
        names.append(name)
    if not names and field == "tools":
        tree.warn((field,), "lists no tool, so the agent has none")
    return tuple(dict.fromkeys(names))


def _items(tree: Tree, field: str) -> Iterator[tuple[Place, str]]:
    """The items of a field with their places; one item may name several tools."""
    value = tree.value[field]
    if value is not None and not isinstance(value, (str, list)):
        tree.warn((field,), f"expected tools, got {describe(value)}; ignored")
    listed = value if isinstance(value, list) else [value]
    for position, item in enumerate(listed):
        place = (field, position) if (field, position) in tree.lines else (field,)
        if isinstance(item, str):
            for each in _ITEM.findall(item):
                yield place, each
        elif isinstance(value, list):
            tree.warn(
                place, f"expected the name of a tool, got {describe(item)}; ignored"
            )


def _model(tree: Tree, reader: Reader) -> str | None:
    model = _string(tree, "model")
    if not model:
        return None
    model = model.lower() if model.lower() in MODEL_NAMES else model
    if is_model(model):
        return fields.read_model(tree, ("model",), model, reader)
    tree.warn(("model",), f"unknown model {model!r:.60}; ignored")
    return None


def _max_turns(tree: Tree) -> int | None:
    value: Any = tree.value.get("maxTurns")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return min(value, MAX_TURNS)
    if value is not None:
        message = f"expected a number above 0, got {describe(value)}; ignored"
        tree.warn(("maxTurns",), message)
    return None


def _faults(
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
