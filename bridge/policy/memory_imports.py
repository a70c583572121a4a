"""The files that a page of Claude Code's memory names by `@path`. Pure.

Source: measured on Claude Code 2.1.330; so, too, that it follows them five levels deep.
"""

import re

MAX_DEPTH = 5
MAX_FILES = 200
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)", re.MULTILINE)
_ENDS = ".,;:!?)\"'`"
_MAX_NAME = 4096
# In no name of a file that is text.
_ODD = frozenset("\0\ufffd")


def imports_in(text: str) -> set[str]:
    """The paths that a page names: as the client has them, and if one ends a sentence.

    They are relative to the folder of the page, absolute, or below `~`.
    """
    words = (each.partition("#")[0] for each in set(_IMPORT.findall(text)))
    names = {name for word in words for name in (word, word.rstrip(_ENDS)) if name}
    return {
        name.replace("\\ ", " ")
        for name in names
        if len(name) <= _MAX_NAME and not _ODD.intersection(name)
    }
