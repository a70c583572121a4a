"""What a client that reads the rules by itself would grant too freely. Pure.

It takes a rule by its words, wherever a command starts, and the leave to edit files as
leave to write them by a shell's redirection.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bridge.policy.permission_rules import WRITING, command_specs
from bridge.policy.permissions import governing_of, holds_in
from bridge.policy.shell_folders import placed
from bridge.policy.shell_scanner import files_written
from bridge.policy.shell_signs import UNKNOWN_FOLDER
from bridge.policy.tool_paths import paths_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.policy.permissions import Call


def starts_elsewhere(rules: Iterable[str], call: Call) -> bool:
    """Whether a part of a command that rules may be about starts where none holds.

    A client that reads the rules by itself grants each part by its words alone.
    """
    specs = [*filter(None, command_specs(rules))]
    for one in placed(call.command or ""):
        about = re.findall(r"[\w.+-]+", " ".join(one.words))
        for folder in one.folders:
            held = [spec for spec in specs if not holds_in(spec, call, folder or ".")]
            if not call.is_inside(folder or ".") or any(
                _named(spec, word) for spec in held for word in about
            ):
                return True
    return False


def _named(spec: str, word: str) -> bool:
    """Whether a word may be the program of a rule: `make test`, `make:*`, `mak*`."""
    head = posixpath.basename(spec.split(maxsplit=1)[0])
    name, more, _ = head.partition(":*" if head.endswith(":*") else "*")
    return word.startswith(name) if more == "*" else word == name


def writes_what_governs(call: Call) -> bool:
    """Whether a call changes what governs sessions, or nobody can tell."""
    paths = _written(call)
    if paths is None:
        return True
    for path in paths:
        real = PurePosixPath(call.resolve(path))
        if real.is_relative_to(call.project):
            real = real.relative_to(call.project)
        if governing_of(call, real):
            return True
    return False


def _written(call: Call) -> list[str] | None:
    """The files that a call writes by itself; None if that is not known."""
    if call.tool in WRITING:
        return paths_of(call.tool, call.tool_input)
    if call.tool != "Bash" or ">" not in (call.command or ""):
        return []
    command = call.command or ""
    names = files_written(command)
    folders = {folder for one in placed(command) for folder in one.folders}
    if names is None or (
        UNKNOWN_FOLDER in folders and not all(map(posixpath.isabs, names))
    ):
        return None
    return [
        posixpath.join(folder, name) for folder in folders or {""} for name in names
    ]
