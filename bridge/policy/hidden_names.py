r"""Whether a command may start a program whose name does not stand in its text. Pure.

`may_hide` is a quick look, so that no parser is loaded for a usual command. It looks
for what hides a name and is rare otherwise:

    $'\x67it' push               letters by their numbers
    eval "$X", bash -c "$X"      a shell that is given what is not known,
    … | base64 -d | sh           by a pipe, too
    g?t push, {g,}it, ${X}t      part of a program's name is left to the shell
    $X push                      all of it, beside the other words of a name

`Reading.hides` then says what may be started.
"""

from __future__ import annotations

import re

from bridge.policy.bash_parser import MAX_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_QUOTES = str.maketrans("", "", "\\'\"")
_SHELL = r"(?<![\w.-])(?:ba|da|z|k|mk|a)?sh(?![\w.-])"
_READS = re.compile(rf"\beval\b|{_SHELL}")
# No part of it goes over the same text twice: a command may be long.
_RARE = re.compile(
    rf"""
    \|[^|;&\n]*?{_SHELL}
  | (?:\.|source)[ \t]+<\(
  | \$\([^()]*\)\w | \w`\w
  # Where a command begins: what may stand before a program, and a folder.
  | (?: ^ | [;&|(\n]
      | (?<![^\s;&|(]) (?:[{{!]|then|do|else|env|sudo|exec|command|nohup)[ ] )
    [ \t]* (?:\w+=[^\s;&|(]*[ \t]+)* (?:[^\s;&|()<>`]*/)?
    (?: [\w.-]+ (?:[$?*\[]|{{(?=\S)) [^\s/]*(?![^\s;&|()<>])
      | (?:\$\d | \$\{{[^{{}}\s/]*\}} | [?*] | \[[^][\s/]+\]
          | \{{[^{{}},\s/]*,[^{{}}\s/]*\}} ) [\w.-] )
    """,
    re.X,
)


def may_hide(command: str, names: Iterable[str]) -> bool:
    """Whether a command has a sign that it may start one of these all the same."""
    if len(command) > MAX_LENGTH:
        return False
    plain = command.translate(_NO_QUOTES)
    if "$'" in command or _RARE.search(plain):
        return True
    reads = _READS.search(plain)
    if reads and any(sign in plain[reads.end() :] for sign in ("$", "`", "<(", "<<")):
        return True
    further = [name.split()[1:] for name in names]
    is_open = any(sign in plain for sign in "$`")
    return is_open and any(
        words and all(word in plain for word in words) for words in further
    )
