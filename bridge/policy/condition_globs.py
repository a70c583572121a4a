"""Globs of conditions and of tools, for texts. Pure, and the standard library only."""

import re


def matches(text: str, glob: str) -> bool:
    """Whether a glob covers a whole text.

    `*` stands for any characters, slashes too, `?` for one character, and `**/` at the
    beginning of a name for any number of folders. Everything else stands for itself.
    No match goes back over what an earlier `*` took, so that none takes long.
    """
    first, *rest = re.split(r"((?:\A|(?<=/))\*\*/|\*+)", glob)
    pattern = re.escape(first).replace(r"\?", ".")
    for index in range(0, len(rest), 2):
        gap, piece = rest[index], re.escape(rest[index + 1]).replace(r"\?", ".")
        # A piece at its first place leaves most to those after it, so that no other
        # place need be tried; the last one has to be at the end.
        if index + 2 < len(rest):
            pattern += f"(?>{'(?:.*?/)??' if gap == '**/' else '.*?'}{piece})"
        else:
            pattern += f"{'(?:.*/)?' if gap == '**/' else '.*'}{piece}"
    return re.fullmatch(pattern, text, re.DOTALL) is not None
