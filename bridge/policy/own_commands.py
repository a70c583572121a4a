"""Which commands of hostbridge a model must not run: they are for its user. Pure.

They undo or raise what the user set. This advises a model before it tries, so that it
asks its user instead. It holds nobody up: a shell has more ways to run a command than
are looked for here. What holds is that the commands themselves refuse to run inside a
session (`bridge.agents.trust`).
"""

import re
from itertools import pairwise

from bridge.policy.command_reading import is_call_of
from bridge.policy.shell_words import program
from bridge.policy.started_programs import read

# A longer command is not parsed: only the plain words count there.
MAX_READ = 32_768
# What follows the program, and the options with which that only shows something, or
# takes back. A definition in a project waits for trust, unlike one of the user's own.
_HARMLESS = frozenset({"--list", "--revoke", "--help", "-h"})
_FOR_THE_USER = {
    "trust": _HARMLESS,
    "on": _HARMLESS,
    "off": _HARMLESS,
    "uninstall": _HARMLESS | {"--dry-run"},
    "approve": _HARMLESS,
    "respond": _HARMLESS,
    "reply": _HARMLESS,
    "workflow end": _HARMLESS,
    "config set": _HARMLESS,
    "config unset": _HARMLESS,
    "agents new": _HARMLESS | {"--project"},
    "agents promote": _HARMLESS | {"--to project", "--to=project"},
}
_PLAIN = re.compile(
    rf"^[ \t]*(hostbridge (?:{'|'.join(_FOR_THE_USER)}))(?![\w-])", re.M
)
# A terminal of its own: what is started or typed there is in its arguments.
_TERMINALS = frozenset({"tmux", "screen", "script"})
_IN_TERMINAL = re.compile(
    rf"\b(hostbridge (?:{'|'.join(_FOR_THE_USER)}))(?![\w-])"
    r"(?![^;&|]* (?:--list|--revoke|--help|-h)\b)"
)
# By the command's name, or by `python -m`.
_OURS = re.compile(r"hostbridge|bridge(\.__main__|\.cli\.\w+)?")


def find_refused(command: str) -> str | None:
    """The first command for the user alone that a shell command would run."""
    if len(command) > MAX_READ:
        plain = _PLAIN.search(command)
        return plain[1] if plain else None
    reading = read(command)
    for words in [*reading.started, *reading.perhaps]:
        if program(words[0]) in _TERMINALS:
            typed = _IN_TERMINAL.search(" ".join(" ".join(words[1:]).split()))
            if typed:
                return typed[1]
        if not _OURS.fullmatch(program(words[0]) or ""):
            continue
        call = ["hostbridge", *words[1:]]
        options = call[: call.index("--")] if "--" in call else call
        options = [*options, *map(" ".join, pairwise(options))]
        for refused, harmless in _FOR_THE_USER.items():
            wanted = ["hostbridge", *refused.split()]
            if is_call_of(call, wanted) and harmless.isdisjoint(options):
                return " ".join(wanted)
    return None
