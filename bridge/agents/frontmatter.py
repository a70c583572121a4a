"""The frontmatter of a Markdown agent, read as tolerantly as Claude Code reads it.

Public agents are written by hand and loaded by a client that never complains: a
description with an unquoted colon, a list indented with tabs, a duplicate key. The YAML
reader tries first. If it fails, each field is read by itself, then with its tabs as
spaces, and what is still not YAML counts as plain text. All of that gives warnings.

Source: measured on Claude Code 2.1.330.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bridge.agents.diagnostic import Diagnostic
from bridge.agents.yaml_source import Tree, read_tree

# The fields end at the first line that begins with dashes, even indented ones. The rest
# of that line belongs to the body.
_FENCE = re.compile(r"---[ \t]*\r?\n(.*?)^[ \t]*---", re.S | re.M)
_NAME, _COLON = r"[A-Za-z_][A-Za-z0-9_.-]*", r"[ \t]*:(?:[ \t]|$)"
_FIELD = re.compile(f"({_NAME}){_COLON}", re.M)
_BLOCKS = re.compile(f"^(?={_NAME}{_COLON})", re.M)
# Nobody writes more, and each may be tried twice.
MAX_FIELDS = 200
# The line of the file on which the fields begin.
_FIRST_LINE = 2


def joined(fields: Mapping[str, object], body: str) -> str:
    """A whole file, which reads as these fields and this body."""
    import yaml

    head = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{head}---\n{body}\n"


def split(text: str) -> tuple[str, str] | None:
    """The fields and the body; None for a file without frontmatter."""
    match = _FENCE.match(text)
    return (match[1], text[match.end() :].strip()) if match else None


def read_fields(text: str, file: Path) -> Tree:
    """Read the fields; errors remain only if there are no fields at all."""
    tree = _read(text, file)
    if not isinstance(tree.value, dict):
        tree = _repaired(text, file) or tree
    if isinstance(tree.value, dict):
        # The client ignores what is wrong in them.
        tree.problems = [replace(each, level="warning") for each in tree.problems]
    return tree


def _read(fields: str, file: Path) -> Tree:
    # The line of dashes is above them.
    return read_tree(f"\n{fields}", file, last_counts=True)


def _repaired(text: str, file: Path) -> Tree | None:
    """The same fields, each read by itself, with a problem for each repair."""
    blocks = _BLOCKS.split("\n".join(text.splitlines()) + "\n")
    if len(blocks) > MAX_FIELDS + 1:
        return None
    fixed = [_fixed(block) for block in blocks]
    tree = _read("".join(part for part, _ in fixed), file)
    if not isinstance(tree.value, dict):
        return None
    line = _FIRST_LINE
    for block, (_, problem) in zip(blocks, fixed, strict=True):
        if problem:
            field = _FIELD.match(block)
            place = (field[1],) if field else ()
            tree.problems.append(Diagnostic(file, line, place, problem))
        line += block.count("\n")
    return tree


def _fixed(block: str) -> tuple[str, str]:
    """A field as YAML, with the same number of lines, and what was wrong."""
    if not block or _is_yaml(block):
        return block, ""
    spaced = block.replace("\t", "  ")
    if _is_yaml(spaced):
        return spaced, "YAML does not allow tabs as indentation; read as spaces"
    field = _FIELD.match(block)
    below = "\n" * block.count("\n")
    if field is None:
        return below, "not a field; ignored"
    words = json.dumps(block[field.end() :].strip())
    problem = "not valid YAML, so read as plain text; put it in quotes"
    return f"{field[1]}: {words}{below}", problem


def _is_yaml(block: str) -> bool:
    tree = read_tree(block, Path())
    return isinstance(tree.value, dict) and len(tree.value) == 1
