"""Valid names of agents, and which file may define one. Pure.

Hooks and `submit` use this for every agent, so it imports next to nothing.

A file is found by its head: the name must be plain text within the first `MAX_HEAD`
bytes, so that finding one of 4,800 agents does not read all their prompts. The loader
refuses a name that this look at the head would miss.
"""

import re
from typing import Literal

# In Claude Code's own folders only Markdown is read, sub-folders included.
ClientLayer = Literal["claude-user", "claude-project"]
OwnLayer = Literal["built-in", "user", "project"]
Layer = Literal[ClientLayer, OwnLayer]
# Later ones win. A definition of ours wins over one of the client's, so that a clone
# cannot replace a built-in agent by a file in its `.claude`.
CLIENT_LAYERS: tuple[ClientLayer, ...] = ("claude-user", "claude-project")
LAYERS: tuple[OwnLayer, ...] = ("built-in", "user", "project")
ALL_LAYERS: tuple[Layer, ...] = (*CLIENT_LAYERS, *LAYERS)
# What a project brings: somebody else's files, which need the user's trust.
OF_PROJECT: frozenset[Layer] = frozenset({"claude-project", "project"})

# For our own formats: safe as a file name and in a sentence.
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*"
MAX_NAME = 128
SUFFIXES = (".yaml", ".yml", ".md")

MAX_HEAD = 16_384
# Most files have the name in the first lines; more is read only if not.
SHORT_HEAD = 1_024

# Unsafe in a sentence; `:` separates a plugin from its agent.
_UNSAFE = frozenset('"`:\\<>{}[]|*?')
# At the beginning, perhaps after a byte order mark, or inside a mapping.
_KEY = r"(?:^|\xef\xbb\xbf|[{,\s\"'])name[\"']?[ \t]*:"
_OWN_LINE = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|\n)name[ \t]*:")
_ON_LINE = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|\n)name[ \t]*:[ \t]*(?:\"([^\"\r\n]+)\"|'([^'\r\n]+)'|"
    rb"([^\"'\r\n]+?))[ \t]*(?:[ \t]#[^\r\n]*)?(?:\r?\n|\Z)"
)


def is_name(text: str) -> bool:
    """Whether an agent may have this name, which can be in any script."""
    return (
        0 < len(text) <= MAX_NAME
        and text.isprintable()
        and text == text.strip()
        and (text[0].isalnum() or ord(text[0]) > 127)  # noqa: PLR2004 - ASCII's last
        and not _UNSAFE & set(text)
    )


def head_of(data: bytes) -> bytes:
    """The part of a file that is searched for its name."""
    short = data[:SHORT_HEAD]
    return short if has_name(short) else data[:MAX_HEAD]


def has_name(head: bytes) -> bool:
    """Whether the head has a complete line with a name."""
    found = _OWN_LINE.search(head)
    return found is not None and b"\n" in head[found.end() :]


def declares(head: bytes, name: str) -> bool:
    """Whether a file with this head may define `name`."""
    plain = name.encode("utf-8", "surrogateescape")
    # Faster than the pattern: most files do not contain the name at all.
    if plain not in head:
        return False
    value = rb"[\"']?" + re.escape(plain) + rb"[\"']?[ \t]*(?:[,}#\r\n]|\Z)"
    return re.search(_KEY.encode() + rb"[ \t]*" + value, head) is not None


def declared(head: bytes) -> str | None:
    """The name on a line of its own; None if there is no such line."""
    found = _ON_LINE.search(head)
    if found is None:
        return None
    name = (found[1] or found[2] or found[3]).decode("utf-8", "replace").strip()
    return name if is_name(name) else None
