"""`hostbridge agents new NAME`: a definition with comments, to be edited.

Whatever is in the user's own folder is trusted at once, and wins over a built-in agent
of the same name: a model must not put it there. What is in a project is not trusted.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.agent_names import MAX_NAME, NAME, SUFFIXES
from bridge.agents.registry import Registry
from bridge.bound.session_above import only_by_hand
from bridge.errors import InvalidRequest
from bridge.store.directory import Folder
from bridge.store.location import Place, open_state

if TYPE_CHECKING:
    from bridge.agents.registry import Registry
    from bridge.api.bridge import Bridge

_YAML = """\
# An agent for hostbridge. All fields: docs/agents.md
name: {name}
description: What it is for, in one line

# What the agent is told; {{{{ task }}}} is the prompt of whoever asks. Jinja2, with
# {{{{ arguments.NAME }}}} for `hostbridge ask {name} --set NAME=VALUE`.
prompt: |
  You answer one question about the project you are in, from its files alone.
  Say only what you saw, and name the file.

  {{{{ task }}}}

# The tools it may call; without this line, all of them.
tools: [Read, Grep, Glob]

# Add Bash to the tools to let it run commands. What is listed here runs without asking,
# anything else is refused.
# allow: ["Bash(pytest [-q -x] *)"]

# The form of its answer, as a JSON Schema; without it: status, summary and evidence.
# output_schema:
#   type: object
#   required: [findings]
#   properties:
#     findings: {{type: array, items: {{type: string}}}}

# Success counts only with a command that was seen to succeed.
# require_verified_evidence: true

# model: haiku             # or sonnet, opus, fable, FILE.gguf, openai:NAME
# routes: [host, claude]   # who may answer; without this line, every route
# timeout: 300             # seconds
# max_turns: 20
"""
_MARKDOWN = """\
---
name: {name}
description: What it is for, in one line
# The tools it may call; without this line, all of them.
tools: Read, Grep, Glob
---
You answer one question about the project you are in, from its files alone.
Say only what you saw, and name the file.
"""


def write_new(
    name: str,
    registry: Registry,
    bridge: Bridge,
    *,
    in_project: bool,
    markdown: bool,
) -> Path:
    """Write the definition; returns its file.

    Raises:
        InvalidRequest: this can be no name, or there is a definition already.
        InsideSession: it is for the user's own folder, and a model could have asked.
    """
    # A name with blanks is allowed, since others' definitions have some.
    if not re.fullmatch(NAME, name) or len(name) > MAX_NAME or " " in name:
        proposed = "-".join(name.lower().split())
        fits = re.fullmatch(NAME, proposed) and len(proposed) <= MAX_NAME
        raise InvalidRequest(
            f"agent name {name!r}: expected letters, digits and _ . -, such as "
            f"{proposed if fits else 'release-notes'}"
        )
    if not in_project:
        command = f"hostbridge agents new {name}"
        only_by_hand(bridge.settings, bridge.store, command)
    folder = registry.folders["project" if in_project else "user"]
    _refuse_twice(name, folder)
    file = folder / f"{name}.{'md' if markdown else 'yaml'}"
    text = (_MARKDOWN if markdown else _YAML).format(name=_as_yaml(name))
    project = registry.project if in_project else None
    create_in(project, registry.home, ("agents", file.name), text)
    return file


def create_in(
    project: Path | None,
    home: Path,
    path: Sequence[str],
    text: str,
    *,
    over: bool = False,
) -> None:
    """Write a file of a project's, in its `.bridge`, or else of the user's own.

    Raises:
        FileExistsError: the file is there, and not to be written `over`.
    """
    if project is not None:
        create_file(Folder.open(str(project)), (".bridge", *path), text, over=over)
    else:
        # The user's own folder is made if needed.
        folder = open_state(Place(home, home, home, "definitions"))
        create_file(folder, path, text, over=over)


def create_file(
    folder: Folder, path: Sequence[str], text: str, *, over: bool = False
) -> None:
    """Write a file below a folder, which is closed. No link below it is followed.

    Raises:
        FileExistsError: the file is there, and not to be written `over`.
    """
    *names, file = path
    for name in names:
        with folder as above:
            folder = above.folder(name)
    with folder:
        write = folder.replace if over else folder.create
        write(file, text.encode())


def _refuse_twice(name: str, folder: Path) -> None:
    for suffix in SUFFIXES:
        file = folder / f"{name}{suffix}"
        if os.path.lexists(file):
            raise InvalidRequest(
                f"{file} is there already, and stays as it is; edit it, or choose "
                "another name"
            )


def _as_yaml(name: str) -> str:
    """The name as YAML reads it: `on` or `1.0` needs quotes."""
    import yaml

    return name if yaml.safe_load(name) == name else json.dumps(name)
