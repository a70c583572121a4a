"""A program in the place of `claude` that does one thing.

Shell scripts: they start in a millisecond. Each reads its stdin to `stdin` and writes
its arguments to `argv`, both in its own folder, before it does what it is for.
"""

import json
from pathlib import Path
from typing import Any

SUCCESS = {"status": "success", "summary": "served right here"}
# What `ask` prints of it, on stdout and on stderr.
SERVED = "success: served right here\n"
BY_CLAUDE = "hostbridge: answered by route claude\n"
# Lines of a script that never ends.
WAITING = 'echo $$ >"$here/pid"; exec sleep 1000'


def result(**fields: Any) -> str:
    """What the client prints at its end."""
    usual = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "done",
    }
    return json.dumps({**usual, **fields})


def printing(text: str, *, code: int = 0) -> str:
    """The lines of a script that prints `text` and exits."""
    return f"cat <<'END'\n{text}\nEND\nexit {code}\n"


OBEDIENT = printing(result(structured_output=SUCCESS))


def fake_claude(folder: Path, lines: str = OBEDIENT) -> Path:
    """Write the program; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "claude"
    head = f'here={folder}\ncat >"$here/stdin"\nprintf "%s\\n" "$@" >"$here/argv"\n'
    file.write_text(f"#!/bin/sh\n{head}{lines}")
    file.chmod(0o755)
    return file


def repeating_claude(project: Any, folder: Path) -> Path:
    """Have a project asked by a `claude` as `saying_claude` makes it."""
    program = saying_claude(folder / "bin")
    project.env |= {"BRIDGE_CLAUDE": str(program), "BRIDGE_SLOTS": "1"}
    trust_folder(folder / "home", project.folder)
    return program


def saying_claude(folder: Path) -> Path:
    """A `claude` that says what it was asked: `<prompt>`."""
    lines = (
        'prompt=$(head -n 1 "$here/stdin")\n'
        """printf '{"type":"result","subtype":"success","is_error":false,"""
        """"result":"x","structured_output":{"status":"success","summary":"<%s>"}}\\n'"""
        ' "$prompt"\n'
    )
    return fake_claude(folder, lines)


def trust_folder(home: Path, folder: Path) -> None:
    """Have the client's record say that the user trusts a folder."""
    home.mkdir(parents=True, exist_ok=True)
    known = {"projects": {str(folder): {"hasTrustDialogAccepted": True}}}
    (home / ".claude.json").write_text(json.dumps(known))
