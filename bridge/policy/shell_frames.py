"""What is open at a place in a shell's text, and what was found so far. Pure."""

from __future__ import annotations

import re

from bridge.policy.shell_words import TOKENS, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.shell_words import Word

SYNTAX = "a part is not the syntax of bash"
NO_END = "a here-document does not end"
PIPES = frozenset({"|", "|&"})
SAME = object()


class Here:
    """A here-document: its text, once its lines have come."""

    def __init__(self, sign: str, mark: str) -> None:
        self.has_tabs = sign == "<<-"
        self.is_quoted = re.search(r"['\"\\]", mark) is not None
        self.end = re.sub(r"\\(.)|['\"]", r"\1", mark, flags=re.S)
        self.text = ""


class Frame:
    """What is open: commands between brackets or keywords, quotes, an expansion."""

    def __init__(self, kind: str, tokens: str, at: int, owner: list[Found]) -> None:
        self.kind = kind
        self.tokens = TOKENS[tokens]
        self.at = at
        # Its commands; what they all read: text, UNKNOWN, or None for a file.
        self.owner = owner
        self.given: Any = SAME
        self.around: Frame | None = None
        self.function: tuple[str, int] | None = None
        self.hides = False
        # How many brackets are open in arithmetic.
        self.level = 0
        # The word that is being read, and where it begins.
        self.parts: list[str] = []
        self.word: int | None = None
        # The here-documents whose lines are still to come.
        self.waiting: list[Here] = []
        # The sign before the command, and where it begins.
        self.before = ""
        self.start = at
        self.begin()

    def begin(self) -> None:
        """Begin the next command."""
        self.words: list[Word] = []
        self.stdin: Any = UNKNOWN if self.before in PIPES else SAME
        self.redirect = ""
        # What the words that follow belong to: `for`, `case`, `function`, `time`.
        self.header = ""
        self.defining: tuple[str, int] | None = None
        self.is_empty = True
        # What has just ended, whose input may follow.
        self.last: Frame | None = None


class Found:
    """A command: its words, where it stands, and what it reads."""

    def __init__(self, words: list[Word], at: int, frame: Frame, given: Any) -> None:
        self.words: list[str] = [*words]
        self.at = at
        self.frame = frame
        self.given = given

    @property
    def stdin(self) -> Any:
        """The text that it reads; UNKNOWN from a pipe, None if it is neither."""
        given = self.frame.given if self.given is SAME else self.given
        return given.text if isinstance(given, Here) else given


class Frames:
    """What is open at a place of a text, and what was read up to there.

    Attributes:
        commands: those of the text itself.
        functions: by name, the bodies of functions, each with its text.
        hides_from: where the first definition stands that all after it see.
        assigned: `NAME=value`, as far as it is known.
        loose: texts from which an expansion may come.
        opaque: what is evaluated once more; whether all of it is known; where it is.
        bodies: the texts of here-documents.
        problems: what could not be read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[Found] = []
        self.functions: dict[str, list[tuple[list[Found], str]]] = {}
        self.hides_from: dict[str, int] = {}
        self.assigned: list[str] = []
        self.loose: list[str] = []
        self.opaque: list[tuple[str, bool, str]] = []
        self.bodies: list[str] = []
        # Those of functions, too.
        self.all_commands: list[Found] = []
        self.problems: list[str] = []
        # In a text inside another: how deep it is, and where in the outermost.
        self.depth = 0
        self.at: int | None = None
        self.frames: list[Frame] = []
        # Frames of commands, each after what is around it.
        self.groups: list[Frame] = []

    def problem(self, why: str) -> None:
        """Note what cannot be read."""
        if why not in self.problems:
            self.problems.append(why)

    def open(
        self, kind: str, at: int, owner: list[Found] | None = None, tokens: str = "("
    ) -> Frame:
        """Begin what a sign or a word opens."""
        owner = self.frames[-1].owner if owner is None else owner
        frame = Frame(kind, tokens, at, owner)
        self.frames.append(frame)
        self.groups.append(frame)
        return frame

    def close(self) -> Frame:
        """End what is open."""
        frame = self.frames.pop()
        if frame.waiting and frame.kind != "(":
            self.problem(NO_END)
        return frame

    def add(self, value: str, at: int) -> None:
        """Add to the word that is being read."""
        frame = self.frames[-1]
        if frame.word is None:
            frame.word = at
        frame.parts.append(value)
