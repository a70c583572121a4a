"""Goes through the tokens of a flow, and writes down what is wrong. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from bridge.flow.lexer import tokenize
from bridge.flow.problems import near
from bridge.flow.text import parse_text
from bridge.protocol.wording import shortened

if TYPE_CHECKING:
    from bridge.flow.lexer import Token
    from bridge.flow.problems import Problems
    from bridge.flow.syntax_tree import Text

_CLOSER_OF = {"[": "]", "{": "}", "(": ")"}
# Where a step or a field that cannot be read is over.
_ENDS = frozenset({"ARROW", "BAR", "TILDE", "DEFINE", "BLOCK", "END"})


class Lost(Exception):
    """The rest of this step cannot be read; what is wrong with it was written down."""


class TokenReader:
    """The tokens from here on; `constants` are the texts that have a name."""

    def __init__(self, source: str, at: int, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.tokens = tokenize(source, problems, at)
        self.index = 0
        # What may be in a text only because its quote is missing.
        self._cut = "".join(token.text for token in self.tokens if token.is_cut)
        self._ended = False
        self.constants: dict[str, Text] = {}
        # The closing brackets that are waited for, the innermost last.
        self.closers: list[str] = []

    @property
    def token(self) -> Token:
        """The token here."""
        return self.tokens[self.index]

    @property
    def kind(self) -> str:
        """The kind of the token here."""
        return self.tokens[self.index].kind

    def ahead(self, *kinds: str) -> bool:
        """Whether the tokens from here on are of these kinds."""
        found = self.tokens[self.index : self.index + len(kinds)]
        return [token.kind for token in found] == list(kinds)

    def next(self) -> Token:
        """Pass the token here."""
        token = self.token
        if token.kind != "END":
            self.index += 1
        return token

    def take(self, kind: str) -> Token | None:
        """Pass the token here, if it is of this kind."""
        return self.next() if self.kind == kind else None

    def expect(self, kind: str, what: str) -> Token:
        """Pass the token here, which has to be of this kind."""
        return self.take(kind) or self.lose(what)

    def wanted(self, what: str) -> None:
        """Write down what should stand here, unless a quote near it is the reason."""
        token = self.token
        if token.is_cut or (self.index and self.tokens[self.index - 1].is_cut):
            return
        ends = token.kind == "END"
        found = "the flow ends here" if ends else f"not {shortened(token.text, 40)}"
        self.problems.add(token.at, f"expected {what}, {found}")

    def lose(self, what: str) -> NoReturn:
        """Give this step up: `what` should stand here."""
        self.wanted(what)
        raise Lost

    def skip(self, *more_ends: str) -> None:
        """Pass what is left of a step or a field, whole brackets at a time."""
        depth = 0
        while self.kind != "END":
            kind = self.kind
            if kind in _CLOSER_OF:
                # A condition begins the next segment.
                if (
                    kind == "("
                    and not depth
                    and self.tokens[self.index + 1].text == "if"
                ):
                    return
                depth += 1
            elif kind in _CLOSER_OF.values() and depth:
                depth -= 1
            elif not depth and (
                kind in _ENDS or kind in more_ends or kind in self.closers
            ):
                return
            self.next()

    def close(self, opener: Token) -> None:
        """Pass the bracket that closes `opener`; if there is none, say so there."""
        if not self.take(_CLOSER_OF[opener.kind]):
            self.unclosed(opener)

    def unclosed(self, opener: Token) -> None:
        """Say that a bracket is never closed: at the end of the flow the last one."""
        is_end = self.kind == "END"
        if _CLOSER_OF[opener.kind] not in self._cut and not (is_end and self._ended):
            self.problems.add(opener.at, f"this {opener.kind} is never closed")
        self._ended = self._ended or is_end

    def quoted(self) -> Text:
        """`text: TEXT | OWN`; an OWN is the name of a constant."""
        token = self.token
        if token.kind == "OWN":
            self.next()
            name = token.text[1:]
            if name not in self.constants:
                hint = near(token.text, (f"${each}" for each in self.constants))
                self.problems.add(
                    token.at, f"no text is called {token.text} up to here{hint}"
                )
            return self.constants.get(name, ())
        if token.kind in {"SINGLE", "NAME"}:
            self.problems.add(token.at, 'a text stands in double quotes: "…"')
            self.next()
            return ()
        token = self.expect("TEXT", 'a text in quotes: "…"')
        return parse_text(token.text, token.at)
