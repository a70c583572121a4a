"""Globs for texts: those of conditions, of tools, and of commands' rules.

Pure, and the standard library only. None takes long: what a `*` takes up to the next
word is final. With backtracking, five stars and a long text would take for ever.
"""

import re


def matches(text: str, glob: str) -> bool:
    """Whether a glob covers a whole text.

    `*` stands for any characters, slashes too, `?` for one character, and `**/` at the
    beginning of a name for any number of folders. Everything else stands for itself.
    """
    words = re.split(r"((?:\A|(?<=/))\*\*/|\*+)", glob)
    words[::2] = [re.escape(word).replace(r"\?", ".") for word in words[::2]]
    return re.fullmatch(_pattern(words), text, re.DOTALL) is not None


def starred(text: str) -> str:
    """A regular expression for `text`, in which only `*` has a meaning."""
    words = re.split(r"(\*)", text)
    words[::2] = map(re.escape, words[::2])
    return _pattern(words)


def _pattern(words: list[str]) -> str:
    """The pattern of words and, by turns, the gaps between them."""
    first, *rest = words
    pattern = first
    for index in range(0, len(rest), 2):
        gap, word = rest[index], rest[index + 1]
        is_last = index + 2 == len(rest)
        if is_last:
            # It has to be at the end.
            pattern += f"{'(?:.*/)?' if gap == '**/' else '.*'}{word}"
        else:
            # A word at its first place leaves most to those after it.
            pattern += f"(?>{'(?:.*?/)??' if gap == '**/' else '.*?'}{word})"
    return pattern
