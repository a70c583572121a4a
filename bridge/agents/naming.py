"""What an agent may be named, and which file may hold its definition: quick to ask.

Hooks and `submit` ask this of every agent they meet; it imports next to nothing.
"""

from __future__ import annotations

import re
from typing import Literal

Layer = Literal["built-in", "user", "project"]
# Later ones win.
LAYERS: tuple[Layer, ...] = ("built-in", "user", "project")

# Safe as a file name and in a sentence.
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*"
MAX_NAME = 128
SUFFIXES = (".yaml", ".yml", ".md")

# At the beginning, perhaps behind a byte order mark, or within a mapping.
_KEY = r"(?:^|\xef\xbb\xbf|[{,\s\"'])name[\"']?[ \t]*:"


def is_name(text: str) -> bool:
    """Whether an agent may be named so."""
    return len(text) <= MAX_NAME and re.fullmatch(NAME, text) is not None


def declares(data: bytes, name: str) -> bool:
    """Whether the bytes of a file may be those of the definition `name`.

    The loader refuses a name that is written in a way that this would miss.
    """
    value = rf"[\"']?{re.escape(name)}[\"']?[ \t]*(?:[,}}#\r\n]|\Z)"
    return re.search(f"{_KEY}[ \t]*{value}".encode(), data) is not None


def may_be(data: bytes, stem: str, name: str) -> bool:
    """Whether a file may define `name`: it is called so, or may say so."""
    return stem == name or declares(data, name)
