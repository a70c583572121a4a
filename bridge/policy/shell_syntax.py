"""What in a command only a shell understands: signs that could run a second one. Pure.

Both readers of the rules ask here: the hooks, whose client has a shell run the command,
and our own loop, which has none. Some signs count wherever they stand, in quotes as
well, because some programs read what is in the quotes again: in `bash`,
`printf -v 'a[…]'` expands what stands in the brackets. The others count where a shell
reads them:

    ; & | < > ` newline return NUL  $( ${ $[    anywhere
    $                                           outside single quotes
    ( )                                         outside quotes; zsh runs =(…) and *(e:…)

A `$` that is escaped counts, too: to tell which `$` are is what a reader gets wrong.

Source: Bash reference manual, "Quoting" and "Shell Parameter Expansion"; zsh manual,
"Process Substitution" and "Glob Qualifiers".
"""

from __future__ import annotations

import re

_ANYWHERE = re.compile(r"[;&|`<>\n\r\0]|\$[({\[]")
# Of files, of braces, of a home, of what history and zsh make of a word.
_EXPANDED = re.compile(r"[*?\[\]{}~^]|(?:\A|\s)[#=]")
_STEP = re.compile(
    r"""
    (?P<single> '[^']*' )
  | (?P<double> "(?:[^"\\]|\\.)*" )
  | (?P<escaped> \\. )
  | (?P<plain> [^'"\\()]+ )
    """,
    re.X | re.S,
)


def shell_sign(command: str) -> str | None:
    """The first sign that only a shell understands; None for one plain command.

    A quote that nobody closes is such a sign, and so is a backslash at the end.
    """
    if found := _ANYWHERE.search(command):
        return found[0]
    at = 0
    while at < len(command):
        step = _STEP.match(command, at)
        if step is None:
            return command[at]
        if step.lastgroup != "single" and "$" in step[0]:
            return "$"
        at = step.end()
    return None


def expansion_sign(command: str) -> str | None:
    """The first sign outside quotes that a shell would expand; None for none.

    One word may become several by it, or none. `command` is one plain command.
    """
    at = 0
    while step := _STEP.match(command, at):
        if step.lastgroup == "plain" and (found := _EXPANDED.search(step[0])):
            return found[0].strip()
        at = step.end()
    return None
