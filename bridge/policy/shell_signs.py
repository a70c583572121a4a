"""Signs in a command that only a shell understands, and that could run another. Pure.

Both the hooks (the client runs commands in a shell) and our own loop (which has none)
use this. Some signs count everywhere, even in quotes, because some programs evaluate
quoted text again: in `bash`, `printf -v 'a[…]'` expands what is in the brackets. The
others count only where a shell reads them:

    ; & | < > ` newline return NUL  $( ${ $[    anywhere
    $                                           outside single quotes
    ( )                                         outside quotes; zsh runs =(…) and *(e:…)

An escaped `$` counts, too: readers disagree about which ones are escaped.

Source: Bash reference manual, "Quoting" and "Shell Parameter Expansion"; zsh manual,
"Process Substitution" and "Glob Qualifiers".
"""

import re

_ANYWHERE = re.compile(r"[;&|`<>\n\r\0]|\$[({\[]")
# Globs, braces, `~`, history, and what zsh expands.
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

    So are an unclosed quote and a backslash at the end.
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
    """The first sign outside quotes that a shell would expand; None if there is none.

    Expansion can turn one word into several, or none. `command` is one plain command.
    """
    at = 0
    while step := _STEP.match(command, at):
        if step.lastgroup == "plain" and (found := _EXPANDED.search(step[0])):
            return found[0].strip()
        at = step.end()
    return None
