"""Permission rules in a project at `/w/app`."""

import posixpath
from typing import Any

from bridge.policy.permissions import Call, is_granted

PROJECT = "/w/app"
# A link in the project that leads out of it.
_LINKS = {"/w/app/src/out": "/etc"}


def resolve(path: str, project: str = PROJECT) -> str:
    full = posixpath.normpath(posixpath.join(project, path))
    for link, target in _LINKS.items():
        if full == link or full.startswith(link + "/"):
            return target + full[len(link) :]
    return full


def granted(*rules: str, tool: str, project: str = PROJECT, **tool_input: Any) -> bool:
    call = Call(tool, tool_input, project, lambda path: resolve(path, project))
    return is_granted(rules, call)
