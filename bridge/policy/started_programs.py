"""The programs that a shell command would start. Pure but for loading a parser.

    command                                runs "pytest"
    cd x && uv run pytest -q               True
    git commit -m 'run pytest'             False
    eval "$CHECKS" # pytest                MAY

What the text of a command says is what counts: whether a test before `&&` holds, how
often a loop goes round, or what a script or a Makefile does is not asked. MAY is for
what only a running shell knows, for code in other languages, and for what cannot be
read at all.
"""

from __future__ import annotations

import re

from bridge.policy.bash_parser import MAX_LENGTH, UNKNOWN, Unreadable, written
from bridge.policy.command_reading import Reading
from bridge.policy.command_walk import Walk
from bridge.policy.wrappers import Argv, Opaque, Script, program, reads_settings, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.bash_parser import BashParser
    from bridge.policy.wrappers import Started

# How deeply shells may start shells, and how many texts may be read for one command.
_MAX_DEPTH = 8
_MAX_TEXTS = 200
_MAX_SIZE = 3 * MAX_LENGTH
_MAX_WRAPPERS = 30


def read(command: str, parser: BashParser) -> Reading:
    """Find out what a command would start; never raises."""
    parser.begin()
    reader = _Reader(parser)
    reader.text(command, stdin=None, is_sure=True, depth=0)
    return reader.found


class _Reader:
    def __init__(self, parser: BashParser) -> None:
        self.parser = parser
        self.found = Reading()
        self.texts = 0
        self.size = 0

    def text(
        self, text: str, *, stdin: Any, is_sure: bool, depth: int, origin: str = ""
    ) -> None:
        """Read what a shell reads; `origin` is the command that gives it to one."""
        if UNKNOWN in text and depth:
            # An expansion in it can hold any command.
            self.found.opaque.append((None, origin))
            if re.search(r"\w", text) is None:
                self.found.hidden.append(origin)
            text = text.replace(UNKNOWN, "${_}")
        self.texts += 1
        self.size += len(text)
        is_too_much = self.texts > _MAX_TEXTS or self.size > _MAX_SIZE
        if depth and (depth > _MAX_DEPTH or is_too_much):
            self.found.problems.append("too many shells inside one another")
            return
        try:
            root, source = self.parser.parse(text)
        except Unreadable as error:
            self.found.problems.append(str(error))
            return
        if root.has_error:
            self.found.problems.append("a part is not the syntax of bash")
        Walk(self, source, depth).all_of(root, stdin=stdin, is_sure=is_sure)
        # The parser takes a line that goes on inside a word for two words.
        if re.search(r"\w\\\n\w", text):
            joined = re.sub(r"\\\n", "", text)
            self.text(joined, stdin=stdin, is_sure=False, depth=depth)

    def command(
        self, words: list[str], *, stdin: Any, is_sure: bool, depth: int
    ) -> None:
        """Note a program, and all that it starts in turn."""
        for _ in range(_MAX_WRAPPERS):
            origin = written(words)
            if program(words[0]) is None:
                self.found.opaque.append((None, origin))
            (self.found.started if is_sure else self.found.perhaps).append(words)
            self.found.assigned(words[1:])
            if " " in words[0]:
                # Perhaps for a shell: `sudo -s -- 'pytest -q'`.
                self.text(words[0], stdin=None, is_sure=False, depth=depth + 1)
            is_sure = is_sure and words[0] != "alias"
            if reads_settings(words):
                return
            started = unwrap(words)
            last = started.pop() if started else None
            for one in started:
                self.further(one, origin, stdin, is_sure=is_sure, depth=depth)
            if not isinstance(last, Argv) or not last.words:
                self.further(last, origin, stdin, is_sure=is_sure, depth=depth)
                return
            words = last.words
        self.found.problems.append("too many wrappers around one another")

    def further(
        self,
        one: Started | None,
        origin: str,
        stdin: Any,
        *,
        is_sure: bool,
        depth: int,
    ) -> None:
        """Read what a wrapper starts. `stdin`: its text, None, or UNKNOWN."""
        if isinstance(one, Argv):
            if one.words:
                self.command(one.words, stdin=stdin, is_sure=is_sure, depth=depth)
            return
        if isinstance(one, Script | Opaque):
            text, is_shell = one.text, isinstance(one, Script)
        elif one is None or stdin is None:
            return
        else:
            text, is_shell, stdin = stdin, one.is_shell, None
            origin = f"… | {origin}" if text == UNKNOWN else origin
        if is_shell:
            self.text(
                text, stdin=stdin, is_sure=is_sure, depth=depth + 1, origin=origin
            )
        else:
            is_known = text is not None and UNKNOWN not in text
            self.found.opaque.append((text if is_known else None, origin))
