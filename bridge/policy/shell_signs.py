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

import posixpath
import re

_ANYWHERE = re.compile(r"[;&|`<>\n\r\0]|\$[({\[]")
# Globs, braces, `~`, history, and what zsh expands.
_EXPANDED = re.compile(r"[*?\[\]{}~^]|(?:\A|\s)[#=]")
# All that a shell takes for space between words; other kinds are letters to it.
BLANK = " \t"
# Where a text starts; and no folder of an agent's, where nobody can tell.
HERE, UNKNOWN_FOLDER = "", "/"
_MOST_FOLDERS = 32
# A folder as a word of a command that no shell changes, but for its quotes; to zsh's
# `cd`, `+1` is another one.
FOLDER = r"""[\w./][\w./@+:,%=-]*|'(?![-+])[^'\n]+'|"(?![-+])[^"$`\\!\n]+\""""
_CD = re.compile(rf"[{BLANK}\n]*cd +({FOLDER}) +&& +(.+)")
# Not `/x`, `./x`, `../x`, `.` and `..`.
_SEARCHED = re.compile(r"""\bcd[ \t]+['"]?(?!\.{0,2}/|\.\.?(?:['"\s;&|]|\Z))""")
# Text in which each sign stands for itself; a lone quote or backslash is none.
QUOTED = r"""(?P<single>'[^']*')|(?P<double>"(?:[^"\\]|\\.)*")|(?P<escaped>\\.)"""
_STEP = re.compile(rf"""{QUOTED}|(?P<plain>[^'"\\()]+)""", re.S)


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


def after_cd(command: str) -> tuple[str, str] | None:
    """The folder of a leading `cd FOLDER &&`, and what is left; None without one."""
    moved = _CD.fullmatch(command)
    return (unquoted(moved[1]), moved[2]) if moved else None


def climbs(folder: str) -> bool:
    """Whether a path leads above where it starts.

    A shell that was started there through a link goes by the link's name: its `..` is
    another folder.
    """
    return posixpath.normpath(folder).split("/", 1)[0] == ".."


def is_searched(command: str) -> bool:
    """Whether a shell with a CDPATH looks along that for the folder of a `cd`."""
    return _SEARCHED.search(command) is not None


def unquoted(folder: str) -> str:
    """A folder that was found by `FOLDER`, without its quotes."""
    return folder[1:-1] if folder[0] in "'\"" else folder


class Reached:
    """The folders in which a command may start, as a text is read.

    After `cd A &&` that is A. After any other sign `cd` may have failed. Each part of a
    pipe starts where the pipe does; where one changes the folder, it depends on the
    shell whether that holds afterwards. A shell takes `..` for what its name says,
    whatever link it stands behind; as the system would read it, it counts, too.

    Attributes:
        ever: those of the commands up to here.
    """

    def __init__(self) -> None:
        self.ever = self._now = self._begun = frozenset({HERE})
        # Whether each command up to here has worked; whether a pipe has `cd` in it.
        self._is_chain = True
        self._is_pipe = self._has_moved = False

    def behind(self, sign: str) -> frozenset[str]:
        """Where the command behind a sign may start; the first has none."""
        if sign in ("|", "|&"):
            self._is_pipe = True
            self._now = self._begun
            return self._now
        if sign not in ("", "&&") or (self._is_pipe and self._has_moved):
            self._is_chain, self._now = False, self.ever
        self._begun = self._now
        self._is_pipe = self._has_moved = False
        return self._now

    def move(self, folder: str) -> None:
        """Note that the command changes to a folder."""
        named = {posixpath.join(each, folder) for each in self._now}
        is_known = UNKNOWN_FOLDER not in self._now or posixpath.isabs(folder)
        is_known = is_known and not any(map(climbs, named))
        there = frozenset(named | {posixpath.normpath(each) for each in named})
        there = there if is_known else frozenset({UNKNOWN_FOLDER})
        self.ever |= there
        self._has_moved = True
        self._now = there if self._is_chain else self._now | there
        if len(self.ever) > _MOST_FOLDERS:
            self.ever = self._now = self._begun = frozenset({UNKNOWN_FOLDER})
