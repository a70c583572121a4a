"""Everything that a definition says and runs, part by part.

People decide by this whether to trust a definition. Whatever reaches an agent or is run
is shown as it is in the file, with what a terminal would obey or hide spelt out.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

from bridge.cli.output import indented

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agents.definition import Definition, ScriptTool

# These are invisible, too, though they count as letters, marks or symbols. Some of them
# are used to hide words from people that a model reads.
# Source: Unicode, DerivedCoreProperties.txt, Default_Ignorable_Code_Point; U+2800.
_BLANK = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)
_MODES = {
    "merge": "lifecycle_variables",
    "replace": "lifecycle_variables, replacing those of the agent that asks",
}


def words_of(definition: Definition) -> Iterator[str]:
    """Each part under its title; nothing for what is not there."""
    for field in ("system_prompt", "node_context", "prompt"):
        words = getattr(definition, field)
        if words:
            yield _part(field, words)
    examples = [each.model_dump(mode="json") for each in definition.examples]
    values: dict[str, Any] = {
        "default_variables": definition.default_variables,
        _MODES[definition.lifecycle_variables_mode]: definition.lifecycle_variables,
        "output_schema": definition.output_schema,
        "examples": examples,
    }
    for title, value in values.items():
        if value:
            yield _part(title, _json(value))
    for tool in definition.script_tools:
        yield from _tool(tool)


def visible(text: str, *, kept: str = "") -> str:
    r"""`text`, what a terminal obeys or hides spelt out as `\u202e`; not `kept`."""
    return "".join(
        _spelt(char) if _is_unseen(char) and char not in kept else char for char in text
    )


def _is_unseen(char: str) -> bool:
    kind = unicodedata.category(char)
    # Line and paragraph separators, too: not every program treats them as such.
    return kind[0] == "C" or kind in ("Zl", "Zp") or ord(char) in _BLANK


def _spelt(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _tool(tool: ScriptTool) -> Iterator[str]:
    words = f"{tool.description}\nparameters: {_json(tool.parameters)}"
    yield _part(f"tool {tool.name}", words)
    providers = zip(tool.context_providers, tool.provider_codes, strict=True)
    for path, code in providers:
        yield _part(f"runs before tool {tool.name}, {path}", code)
    yield _part(f"runs as tool {tool.name}, {tool.pym}", tool.code)


def _part(title: str, words: str) -> str:
    # Only what ends a line in every program ends one here.
    lines = visible(words.replace("\r\n", "\n").rstrip(), kept="\n\t")
    return f"{visible(title)}:\n{indented(lines)}"


def _json(value: Any) -> str:
    # Not orjson: it refuses large numbers and lone surrogates.
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
