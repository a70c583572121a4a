"""The commands of a shell's text: what is open, words, keywords, functions. Pure.

Source: Bash reference manual, "Shell Grammar".
"""

from __future__ import annotations

import re

from bridge.policy.shell_words import MAX_RAW, TOKENS, UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SYNTAX = "a part is not the syntax of bash"
NO_END = "a here-document does not end"
PIPES = frozenset({"|", "|&"})
SAME = object()
# What opens commands, and the word that closes them.
OPENS = {
    "if": "fi", "while": "done", "until": "done", "for": "done", "select": "done",
    "case": "esac", "{": "}",
}  # fmt: skip
_WITHIN = {"then": "fi", "elif": "fi", "else": "fi", "do": "done"}
LOOPS = frozenset({"for", "select"})
_KEYWORDS = {*OPENS, *OPENS.values(), *_WITHIN}
_KEYWORDS |= {"!", "time", "coproc", "function", "[[", "in"}
# Where words are no commands, and signs have no meaning: an array, `@(a|b)`, a test,
# the pattern of a `case`.
TEXTS = frozenset({"a(", "x(", "[[", "pattern"})
# `a=`, `a[0]+=`
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")
_DECLARING = frozenset({"declare", "typeset", "export", "readonly", "local"})
# They evaluate a name once more: `unset 'a[$(x)]'`.
_EVALUATING = _DECLARING | {"unset"}
_SUBSCRIPT = re.compile(r"'[^'\[]*\[[^']*[$`]")
_NAMED_COPROC = re.compile(r"[ \t]+(?:[{(]|(?:if|for|while|until|case|select)\b)")
# Between these a function is defined for all that follows.
_ENDS = frozenset({"", ";", "\n"})
_DEFINING: tuple[list[str], ...] = ([], ["function"])
_MAX_FRAMES = 1_000


# What a mark is made of: `E'O'F`.
_PARTS = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|.""", re.S
)
# A descriptor before the sign of a redirection: `3<`, `{name}<`.
DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_]\w*(?:\[[^]]*\])?\}")
_OPEN_FILES = ("/dev/fd/", "/dev/stdin", "/proc/")


def _unquoted(part: re.Match[str]) -> str:
    """A part of a mark, as its last line has it."""
    if part["double"] is not None:
        return re.sub(r"\\([$`\"\\])|\\\n", r"\1", part["double"])
    return part["single"] or part["escaped"] or (part[0] if len(part[0]) == 1 else "")


class Here:
    """A here-document: its text, once its lines have come."""

    def __init__(self, sign: str, mark: str, frame: Frame) -> None:
        self.owner = frame.owner
        self.is_stdin = frame.is_stdin
        self.has_tabs = sign == "<<-"
        self.is_quoted = re.search(r"['\"\\]", mark) is not None
        self.end = "".join(map(_unquoted, _PARTS.finditer(mark)))
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
        # Whether that is one of standard input.
        self.is_stdin = True
        # What the words that follow belong to: `for`, `case`, `function`, `time`.
        self.header = ""
        self.defining: tuple[str, int] | None = None
        self.is_empty = True
        # What has just ended, whose input may follow.
        self.last: Frame | None = None


class Found:
    """A command: its words, where it stands, and what it reads.

    `before` is the sign before it, and `lead` what stands between that and its words.
    """

    def __init__(self, words: list[Word], at: int, frame: Frame, given: Any) -> None:
        self.words: list[str] = [*words]
        self.at = at
        self.frame = frame
        self.given = given
        self.before = frame.before
        text, start, _ = words[0].place
        self.lead = text[frame.start : start]

    @property
    def stdin(self) -> Any:
        """The text that it reads; UNKNOWN from a pipe, None if it is neither."""
        given = self.frame.given if self.given is SAME else self.given
        return given.text if isinstance(given, Here) else given


class Commands:
    """What is open at a place of a text, and what was read up to there.

    Attributes:
        commands: those of the text itself.
        functions: by name, the bodies of functions.
        hides_from: where the first definition stands that all after it see.
        assigned: `NAME=value`, as far as it is known.
        loose: texts from which an expansion may come.
        opaque: what is evaluated once more; whether all of it is known; where it is.
        bodies: the texts of here-documents.
        written: the files that redirections write.
        problems: what could not be read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[Found] = []
        self.functions: dict[str, list[list[Found]]] = {}
        self.hides_from: dict[str, int] = {}
        self.assigned: list[str] = []
        self.loose: list[str] = []
        self.opaque: list[tuple[str, bool, str]] = []
        self.bodies: list[str] = []
        self.written: list[Word] = []
        # Those behind what is no syntax.
        self.doubtful: list[Found] = []
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
        if len(self.frames) > _MAX_FRAMES:
            # Nobody writes this, and to say what each starts takes its time.
            self.problem("too many brackets inside one another")
            self.text = self.text[:at]
        return frame

    def close(self) -> Frame:
        """End what is open."""
        frame = self.frames.pop()
        if frame.waiting and frame.kind != "(" and frame.kind not in OPENS:
            self.problem(NO_END)
        return frame

    def add(self, value: str, at: int) -> None:
        """Add to the word that is being read."""
        frame = self.frames[-1]
        if frame.word is None:
            frame.word = at
        frame.parts.append(value)

    def end_word(self, at: int) -> None:
        """Take the word that ends here."""
        frame = self.frames[-1]
        if frame.word is None:
            return
        word = Word("".join(frame.parts), (self.text, frame.word, at))
        frame.parts, frame.word = [], None
        if frame.redirect:
            self.redirected(frame, word)
        elif frame.kind == "pattern" and word.raw == "esac" and not frame.words:
            self.close()
            self.end_group("esac")
        elif frame.kind in TEXTS:
            frame.words.append(word)
            if frame.kind == "[[" and word.raw == "]]":
                self.evaluated(self.close().words)
        elif frame.header:
            self.headed(frame, word)
        elif frame.words:
            frame.words.append(word)
        else:
            self.first(frame, word)

    def redirected(self, frame: Frame, word: Word) -> None:
        """What is behind the sign of a redirection."""
        sign, frame.redirect = frame.redirect, ""
        if sign == "<<<":
            # What an expansion may stand for is in it: `x; ${X:-pytest}`.
            is_part = UNKNOWN in word and re.search(r"\w", word) is not None
            raw = " ".join(word.raw.split())
            text = f"{word} # {raw}" if is_part else str(word)
            if frame.is_stdin:
                self.give(frame, text)
            else:
                # It may be read by another name: `<&3`.
                self.loose.append(text)
        elif sign[0] == "<" and sign != "<>":
            if frame.is_stdin and word not in {"0", "/dev/stdin", "/dev/fd/0"}:
                is_open = sign == "<&" and word != "-"
                is_open = is_open or word.raw.startswith(("<(", *_OPEN_FILES))
                self.give(frame, UNKNOWN if is_open else None)
            if word.raw.startswith("<("):
                self.loose.append(word.raw)
        else:
            self.written.append(word)

    def give(self, frame: Frame, given: Any) -> None:
        """Note the input of a command, or of what has just ended."""
        if frame.last is not None:
            frame.last.given = given
        else:
            frame.stdin = given

    def evaluated(self, words: list[Word]) -> None:
        """Note names that are evaluated once more."""
        raw = self.text[words[0].place[1] : words[-1].place[2]]
        if _SUBSCRIPT.search(raw):
            self.opaque.append((raw, True, raw))

    def assign(self, word: Word) -> None:
        """Note what a variable holds."""
        value = word.partition("=")[2]
        name, _, raw = word.raw.partition("=")
        self.assigned.append(f"{name}={raw if UNKNOWN in value else value}")
        self.loose.append(raw)

    def first(self, frame: Frame, word: Word) -> None:
        """A word where a command begins."""
        if word.raw in _KEYWORDS:
            self.keyword(frame, word)
            return
        if frame.last is not None or frame.defining is not None:
            self.problem(SYNTAX)
        frame.is_empty = False
        if ASSIGNMENT.match(word.raw):
            self.assign(word)
        else:
            frame.words.append(word)

    def keyword(self, frame: Frame, word: Word) -> None:
        """A word that belongs to the grammar."""
        raw, at = word.raw, word.place[1]
        if raw in OPENS:
            self.open_group(raw, at)
        elif raw in _WITHIN:
            if OPENS.get(frame.kind) != _WITHIN[raw]:
                self.problem(SYNTAX)
            frame.begin()
        elif raw in OPENS.values():
            self.end_group(raw)
        elif raw == "[[":
            frame.is_empty = False
            self.open("[[", at).words = [word]
        elif raw == "in":
            # The words of a loop may begin on the next line.
            frame.header, frame.words = "for", [word, word]
        elif raw != "!":
            frame.header, frame.is_empty = raw, False
            if raw != "function":
                frame.owner.append(Found([word], at, frame, None))

    def headed(self, frame: Frame, word: Word) -> None:
        """A word of what a keyword begins."""
        header, raw = frame.header, word.raw
        if header == "function":
            frame.header, frame.defining = "", (str(word), word.place[1])
        elif header in LOOPS and raw == "do" and len(frame.words) == 1:
            frame.begin()
        elif header == "case" and raw == "in" and frame.words:
            frame.begin()
            self.open("pattern", word.place[1])
        elif header in LOOPS or header == "case":
            frame.words.append(word)
        elif header != "time" or raw not in {"-p", "--"}:
            frame.header = ""
            is_name = header == "coproc" and raw not in _KEYWORDS
            if not is_name or not _NAMED_COPROC.match(self.text, word.place[2]):
                self.first(frame, word)

    def open_group(self, kind: str, at: int) -> Frame:
        """Begin a compound command, perhaps the body of a function."""
        outer = self.frames[-1]
        if outer.last is not None:
            self.problem(SYNTAX)
        group = self.open(kind, at, None if outer.defining is None else [])
        group.around, group.given, group.function = outer, outer.stdin, outer.defining
        group.header = kind if kind in LOOPS or kind == "case" else ""
        # The lines of its here-documents are behind this one, in what is begun here.
        group.waiting = outer.waiting
        group.hides = (
            group.function is not None
            and self.at is None
            and outer.before in _ENDS
            and len(self.frames) == len([outer, group])
            # Nothing that makes it another shell's: `coproc f() { :; }`.
            and self.text[outer.start : group.function[1]].split() in _DEFINING
        )
        outer.defining = None
        return group

    def end_group(self, sign: str) -> None:
        """End a compound command."""
        frame = self.frames[-1]
        if sign != (")" if frame.kind == "(" else OPENS.get(frame.kind)):
            self.problem(SYNTAX)
            return
        self.close()
        outer = self.frames[-1]
        outer.last, outer.is_empty = frame, False
        if frame.function is not None:
            self.functions.setdefault(frame.function[0], []).append(frame.owner)

    def end_command(self, at: int, sign: str) -> None:
        """End a command at a sign, the end of a line or of the text."""
        if self.frames[-1].tokens is not TOKENS["("]:
            return
        self.end_word(at)
        frame = self.frames[-1]
        if frame.kind in TEXTS:
            return
        if frame.header in LOOPS:
            self.loose += [word.raw for word in frame.words[2:]]
        elif frame.header in {"case", "function"} or frame.redirect or frame.defining:
            self.problem(SYNTAX)
        elif frame.words:
            self.emit(frame)
        elif frame.is_empty and sign not in {"", "\n"}:
            self.problem(SYNTAX)
        last = frame.last
        if last and last.function and last.hides and sign in _ENDS:
            self.hides_from.setdefault(*last.function)
        if sign in PIPES:
            # What it prints is the text of another one.
            end = min(at, frame.start + MAX_RAW)
            self.loose.append(self.text[frame.start : end])
        frame.before, frame.start = sign, at + len(sign)
        frame.begin()

    def emit(self, frame: Frame) -> None:
        """Note a command."""
        words = frame.words
        if words[-1] == "exec" and frame.stdin not in (SAME, None):
            # Then all that follows reads it.
            for one in self.frames:
                one.given = UNKNOWN
            text = frame.stdin.text if isinstance(frame.stdin, Here) else frame.stdin
            self.loose.append(text)
        at = words[0].place[1] if self.at is None else self.at
        found = Found(words, at, frame, frame.stdin)
        frame.owner.append(found)
        self.all_commands.append(found)
        self.loose += [word.raw for word in words[1:] if word.raw.startswith("<(")]
        if words[0] in _EVALUATING:
            self.evaluated(words)
        if words[0] in _DECLARING:
            for word in words[1:]:
                if ASSIGNMENT.match(word.raw):
                    self.assign(word)
