r"""A shell's text, made ready for the parser: it misreads what is rare. Pure.

    cat <<A >x; ls      a here-document becomes `<MARK`, and its body is taken out
    { sh; } <<< x       a here-string becomes `<MARKx`, as any other input
    git $"push"         becomes a plain string
    ${x:+a|b}           signs in a parameter's expansion become letters

The last changes only what the parser sees of the text. What is not closed is left as it
is, for the parser to stumble over.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Nobody types these; where a command holds one, it means nothing to a shell.
STRING = "\ue002"
_BODY = "\ue000{}\ue001"
# In what is written for a person, they are signs of a shell again.
SHOWN = ((re.compile("<\ue002"), "<<<"), (re.compile("<\ue000\\d+\ue001"), "<<…"))

# What a command line is made of, as far as it matters where quotes and brackets end.
_TOKEN = re.compile(
    r"""
    (?P<plain> [^\\'"`$(){}<>|&;\#\n]+ )
  | (?P<escaped> \\. )
  | (?P<single> \$?' )
  | (?P<double> \$?" )
  | (?P<ticks> ` )
  | (?P<sums> \$?\(\( )
  | (?P<command> [$<>]\( )
  | (?P<brace> \$\{ )
  | (?P<string> <<< [ \t]* )
  | (?P<here> <<-? )
  | (?P<other> . | \n )
    """,
    re.X | re.S,
)
_SINGLE = {"'": re.compile(r"'[^']*'"), "$": re.compile(r"\$'(?:[^'\\]|\\.)*'", re.S)}
_COMMENT = re.compile(r"#[^\n]*")
_MARK = re.compile(
    r"""[ \t]*(?P<mark>(?:\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[^\s;&|()<>'"\\])+)""", re.S
)
# In the expansion of a parameter these are letters.
_SIGNS = frozenset("|&;<>()")
_COMMANDS = frozenset({"", "(", "$(", "`"})
_COMMENTED = frozenset({"", "(", "$("})
# What a bracket opens in what is open, and what closes that; `a(` is in a sum.
_OPENED = {**dict.fromkeys(_COMMANDS, "("), "((": "a(", "a(": "a("}
_CLOSED = {"(": ")", "$(": ")", "((": ")", "a(": ")", "${": "}"}


class Prepared:
    """What a text became.

    Attributes:
        text: what a shell reads, without the bodies of here-documents.
        seen: of the same length, what the parser is to see.
        bodies: by its mark, each here-document's text, and whether it was quoted.
        is_odd: whether a here-document does not end.
    """

    __slots__ = ("bodies", "is_odd", "seen", "text")

    def __init__(self, text: str) -> None:
        self.text = self.seen = text
        self.bodies: dict[str, tuple[str, bool]] = {}
        self.is_odd = False


def prepared(text: str, first: int) -> Prepared:
    """Make a text ready; here-documents are numbered from `first`."""
    if not any(sign in text for sign in ("<<", "${", '$"')):
        return Prepared(text)
    return _Lexer(text, first).all_of()


class _Lexer:
    """Goes through a text once."""

    def __init__(self, text: str, first: int) -> None:
        self.text = text
        self.first = first
        self.found = Prepared(text)
        self.kept: list[str] = []
        self.seen: list[str] = []
        # What is open, with the here-documents whose bodies are still to come.
        self.frames: list[tuple[str, list[tuple[str, str, bool, bool]]]] = [("", [])]

    def all_of(self) -> Prepared:
        """Read it all; what is not closed ends that."""
        at = 0
        while at < len(self.text):
            token = _TOKEN.match(self.text, at)
            after = self.token(token, at) if token else None
            if after is None:
                self.keep(self.text[at:])
                break
            at = after
        self.found.is_odd |= any(waiting for _, waiting in self.frames)
        self.found.text, self.found.seen = "".join(self.kept), "".join(self.seen)
        return self.found

    def keep(self, text: str, seen: str | None = None) -> None:
        self.kept.append(text)
        self.seen.append(text if seen is None else seen)

    def push(self, kind: str) -> None:
        # Within brackets alone, the same lines bring the bodies.
        self.frames.append((kind, self.frames[-1][1] if kind == "(" else []))

    def pop(self) -> None:
        kind, waiting = self.frames.pop()
        self.found.is_odd |= bool(kind != "(" and waiting)

    def token(self, token: re.Match[str], at: int) -> int | None:
        """Note a token; where the next begins, or None if it is not closed."""
        kind, text, end = token.lastgroup or "", token[0], token.end()
        inside = self.frames[-1][0]
        is_command = inside in _COMMANDS
        if kind == "single" and (is_command or not self.is_quoted()):
            quoted = _SINGLE[text[0]].match(self.text, at)
            self.keep(quoted[0] if quoted else "")
            return quoted.end() if quoted else None
        if kind == "here" and is_command:
            return self.here(text, end)
        if kind == "other" or (kind == "sums" and text[0] == "(" and not is_command):
            return self.sign(text[0], at, inside)
        if inside == "${" and kind in {"string", "here"}:
            self.keep(text, "," * len(text))
        else:
            self.keep(self.opened(kind, text, inside))
        return end

    def opened(self, kind: str, text: str, inside: str) -> str:
        """Note what a token opens or closes; what becomes of it."""
        if kind in {"double", "ticks"}:
            # `$"…"` is that string in another language.
            sign = text[-1]
            if inside == sign:
                self.pop()
                return text
            self.push(sign)
            return sign
        if kind == "sums":
            self.push("((")
        elif kind == "command" and (text[0] == "$" or inside in {"${", *_COMMANDS}):
            self.push("$(")
        elif kind == "brace":
            self.push("${")
        elif kind == "string" and inside in _COMMANDS:
            return f"<{STRING}"
        return text

    def is_quoted(self) -> bool:
        """Whether a single quote stands for itself here."""
        kinds = [kind for kind, _ in self.frames[-2:]]
        return kinds[-1] != "${" or kinds[0] == '"'

    def sign(self, text: str, at: int, inside: str) -> int | None:
        """A sign of one letter."""
        if text == "\n" and inside in _COMMANDS and self.frames[-1][1]:
            return self.take_bodies(at + 1)
        if text == "#" and inside in _COMMENTED and not _is_in_word(self.text, at):
            comment = _COMMENT.match(self.text, at)
            self.keep(comment[0] if comment else text)
            return comment.end() if comment else at + 1
        if inside == "((" and self.text.startswith("))", at):
            self.keep("))")
            self.pop()
            return at + 2
        self.keep(text, "," if inside == "${" and text in _SIGNS else text)
        if text == "(" and inside in _OPENED:
            self.push(_OPENED[inside])
        elif text == _CLOSED.get(inside):
            self.pop()
        return at + 1

    def here(self, sign: str, at: int) -> int:
        """The mark of a here-document."""
        mark = _MARK.match(self.text, at)
        if mark is None:
            self.keep(sign)
            return at
        name = _BODY.format(self.first + len(self.found.bodies))
        raw = mark["mark"]
        is_quoted = re.search(r"['\"\\]", raw) is not None
        ends = re.sub(r"\\(.)|['\"]", r"\1", raw, flags=re.S)
        self.found.bodies[name] = ("", is_quoted)
        self.frames[-1][1].append((name, ends, is_quoted, sign.endswith("-")))
        self.keep(f"<{name}")
        return mark.end()

    def take_bodies(self, at: int) -> int:
        """The bodies of the here-documents that a line has begun."""
        self.keep("\n")
        for name, ends, is_quoted, has_tabs in self.frames[-1][1]:
            body: list[str] = []
            for line, after in _lines(self.text, at, joined=not is_quoted):
                at = after
                plain = line.lstrip("\t") if has_tabs else line
                if plain.removesuffix("\n") == ends:
                    break
                body.append(plain)
            else:
                self.found.is_odd = True
            self.found.bodies[name] = ("".join(body), is_quoted)
        self.frames[-1][1].clear()
        return at


def _lines(text: str, at: int, *, joined: bool) -> Iterator[tuple[str, int]]:
    """Each line with its end, and where the next begins."""
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        while joined and end < len(text) and _goes_on(text, at, end - 1):
            end = text.find("\n", end) + 1 or len(text)
        yield text[at:end], end
        at = end


def _goes_on(text: str, first: int, end: int) -> bool:
    """Whether a line's end is hidden by a backslash."""
    at = end
    while at > first and text[at - 1] == "\\":
        at -= 1
    return (end - at) % 2 == 1


def _is_in_word(text: str, at: int) -> bool:
    return at > 0 and text[at - 1] not in " \t\n;&|()"
