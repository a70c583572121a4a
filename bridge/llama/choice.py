"""Which model answers if none is named: the largest that can be loaded here."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.llama.recommended import PART

if TYPE_CHECKING:
    from bridge.llama.gguf import Header


def why_not(path: Path, header: Header) -> str | None:
    """Why a model never answers unasked; None if it may."""
    if header.chat_template is None:
        return "a base model, which continues text"
    if PART.search(path.name):
        return "one part of a model in several files"
    if not _is_known(header.architecture):
        return f"the installed llama.cpp does not know {header.architecture!r} models"
    if header.size > _memory():
        return f"larger than this machine's memory, {_memory() / 1e9:.0f} GB"
    return None


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@cache
def _is_known(architecture: str) -> bool:
    """Whether llama.cpp can load such models; True where that cannot be seen.

    The names are constants of the library, which has no function that lists them.
    """
    spec = find_spec("llama_cpp")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for library in Path(folder).glob("lib/libllama.*"):
            return architecture.encode() + b"\0" in library.read_bytes()
    return True
