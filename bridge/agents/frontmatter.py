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
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]|$)")
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
    if isinstance(tree.value, dict):
        return _tolerant(tree)
    repaired, problems = _repaired(text, file)
    if repaired is None:
        return tree
    again = _read(repaired, file)
    if not isinstance(again.value, dict):
        return tree
    again.problems += problems
    return _tolerant(again)


def _read(fields: str, file: Path) -> Tree:
    # The line of dashes is above them.
    return read_tree(f"\n{fields}", file, last_counts=True)


def _tolerant(tree: Tree) -> Tree:
    """Turn errors into warnings: the client ignores them."""
    tree.problems = [replace(problem, level="warning") for problem in tree.problems]
    return tree


def _repaired(text: str, file: Path) -> tuple[str | None, list[Diagnostic]]:
    """The same fields as YAML, line for line, and a warning for each repair."""
    blocks = _blocks(text.splitlines())
    if blocks is None:
        return None, []
    problems: list[Diagnostic] = []
    lines: list[str] = []
    for block in blocks:
        at = _FIRST_LINE + len(lines)
        fixed, problem = _fix(block)
        if problem:
            field = _FIELD.match(block[0])
            place = (field[1],) if field else ()
            problems.append(Diagnostic(file, at, place, problem, "warning"))
        lines += fixed
    return "\n".join(lines) + "\n", problems


def _blocks(lines: list[str]) -> list[list[str]] | None:
    """The lines of each field; None if there are too many fields."""
    blocks: list[list[str]] = []
    for line in lines:
        if _FIELD.match(line) or not blocks:
            blocks.append([])
        blocks[-1].append(line)
        if len(blocks) > MAX_FIELDS:
            return None
    return blocks


def _fix(block: list[str]) -> tuple[list[str], str]:
    """A field as YAML, with the same number of lines, and what was wrong."""
    if _is_yaml(block):
        return block, ""
    spaced = [line.replace("\t", "  ") for line in block]
    if spaced != block and _is_yaml(spaced):
        return spaced, "YAML does not allow tabs as indentation; read as spaces"
    field = _FIELD.match(block[0])
    if field is None:
        return [""] * len(block), "not a field; ignored"
    words = "\n".join([block[0][field.end() :], *block[1:]]).strip()
    quoted = f"{field[1]}: {json.dumps(words)}"
    return (
        [quoted, *[""] * (len(block) - 1)],
        "not valid YAML, so read as plain text; put it in quotes",
    )


def _is_yaml(block: list[str]) -> bool:
    from pathlib import PurePath

    tree = read_tree("\n".join(block) + "\n", PurePath())  # type: ignore[arg-type]
    return isinstance(tree.value, dict) and len(tree.value) == 1
