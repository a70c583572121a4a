"""Goes through the tokens of a flow, and writes down what is wrong. Pure.

With its definitions:

definition  DEFINE `{` field (`,` field)* `}` | DEFINE text
block       BLOCK `{` (definition | NAME `:` `{` field (`,` field)* `}`)* `}`
field       NAME `:` text
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from bridge.flow.lexer import MAX_SAID, Constants, parse_text, tokenize
from bridge.flow.problems import TooMany, near
from bridge.flow.syntax_tree import FlowAgent, Text
from bridge.protocol.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bridge.flow.lexer import Token
    from bridge.flow.problems import Problems
    from bridge.flow.syntax_tree import Text

_CLOSER_OF = {"[": "]", "{": "}", "(": ")"}
# Where a step or a field that cannot be read is over.
_ENDS = frozenset({"ARROW", "BAR", "TILDE", "DEFINE", "BLOCK", "END"})
_AFTER_PAIRS = _ENDS | {"OWN", "MARK", "CALL"}
_AFTER_WORDS = _ENDS | {",", *_CLOSER_OF.values()}
# Of another language: `=>`, `&&`, `-->`.
_SIGNS = re.compile(r"[-=<>&|+*/;!.~]{2,}")


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
        self._wanted_at = -1
        self.constants = Constants()
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

    def wanted(self, what: str, hints: Mapping[str, str] | None = None) -> None:
        """Write down what should stand here, unless a problem near it is the reason."""
        token = self.token
        is_cut = token.is_cut or (self.index and self.tokens[self.index - 1].is_cut)
        if is_cut or token.at == self._wanted_at:
            return
        self._wanted_at = token.at
        ends = token.kind == "END"
        text = _SIGNS.match(self.source, token.at)
        said = shortened(text[0] if text else token.text, 40)
        found = "the flow ends here" if ends else f"not {said}"
        hint = (hints or {}).get(said, "")
        self.problems.add(token.at, f"expected {what}, {found}{hint}")

    def refuse(self, at: int, message: str) -> NoReturn:
        """Write down a problem, and give this step up."""
        self.problems.add(at, message)
        raise Lost

    def lose(self, what: str, hints: Mapping[str, str] | None = None) -> NoReturn:
        """Give this step up: `what` should stand here."""
        self.wanted(what, hints)
        raise Lost

    def end(self) -> None:
        """Read no further: what follows below a line `---` is not the flow."""
        at = self.token.at
        message = "the flow ends here: what is below belongs above, or into comments"
        self.problems[:] = [problem for problem in self.problems if problem.at < at]
        self.problems.add(at, message)
        self.index = len(self.tokens) - 1

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
            if token.kind == "NAME":
                self.skip_words(token.at)
            return ()
        token = self.expect("TEXT", 'a text in quotes: "…"')
        try:
            return self.constants.put_into(parse_text(token.text, token.at))
        except OverflowError:
            message = f"constants add up to over {MAX_SAID:,} characters"
            self.problems.add(token.at, message)
            raise TooMany from None

    def skip_words(self, at: int) -> None:
        """Pass the rest of a text that began at an offset without its quote.

        It ends at its other quote, which seemed to open a text, or with a sign.
        """
        line_end = self.source.find("\n", at)
        line_end = len(self.source) if line_end < 0 else line_end
        index = self.index
        while (token := self.tokens[index]).at < line_end and not token.is_cut:
            if token.kind == "END":
                break
            index += 1
        if token.at < line_end and token.is_cut:
            self.problems.forget(token.at)
            self.index = index + 1
            return
        while self.token.at < line_end and self.kind not in _AFTER_WORDS:
            self.next()

    def pairs(
        self, sign: str, what: str, known: Collection[str] = ()
    ) -> dict[str, tuple[int, Text]]:
        """`(NAME sign text (',' NAME sign text)*)?` in brackets: texts and places.

        Others than those `known`, if any are, are passed over.
        """
        opener = self.next()
        self.closers.append(_CLOSER_OF[opener.kind])
        found: dict[str, tuple[int, Text]] = {}
        while self.kind not in _AFTER_PAIRS and self.kind not in self.closers:
            if self.token.is_cut:
                self.next()
                continue
            start = self.index
            try:
                is_quoted = sign == ":" and self.kind == "TEXT"
                key = self.next() if is_quoted else self.expect("NAME", what)
                name = key.text.strip('"')
                if name in found:
                    self.problems.add(key.at, f"{name} stands here twice")
                if known and name not in known:
                    hint = near(name, known) or f"; it has {', '.join(known)}"
                    self.problems.add(key.at, f"a definition has no {name!r}{hint}")
                    self.skip(",")
                    self.take(",")
                    continue
                self.expect(sign, f"{sign} after {name}")
                found[name] = key.at, self.quoted()
                if self.kind in {"NAME", "TEXT"}:
                    self.wanted(", before the next")
            except Lost:
                self.skip(",")
            self.take(",")
            if self.index == start:
                break
        self.closers.pop()
        self.close(opener)
        return found


_FIELDS = ("base", "prompt", "model")
_REQUIRED = ("base", "prompt")


class DefinitionReader(TokenReader):
    """Reads the agents and the texts that a flow gives a name."""

    definitions: dict[str, FlowAgent]

    def block(self) -> None:
        """`@define-agents { … }`, as public files have it."""
        self.next()
        opener = self.expect("{", "{ after @define-agents")
        while self.kind in {"DEFINE", "NAME"}:
            self.definition()
        self.close(opener)

    def definition(self) -> None:
        """`$name := {base: "…", prompt: "…", model: "…"}`, or `$name := "…"`."""
        token = self.next()
        name = token.text.removeprefix("$").removesuffix(":=").rstrip()
        if token.kind == "NAME":
            self.expect(":", f": after {name}")
        if name in self.definitions or name in self.constants:
            self.problems.add(token.at, f"${name} is defined twice")
        if self.kind != "{":
            self.constants[name] = self.quoted()
            self.take(",")
            return
        known = len(self.problems)
        found = self.pairs(":", "base, prompt or model", _FIELDS)
        fields = {key: text for key, (_, text) in found.items()}
        missing = [key for key in _REQUIRED if key not in fields]
        # What cannot be read is not missing, too.
        if missing and len(self.problems) == known:
            self.problems.add(token.at, f"${name} needs a {' and a '.join(missing)}")
        base, model = (self._word(token.at, key, fields) for key in ("base", "model"))
        prompt = fields.get("prompt", ())
        self.definitions[name] = FlowAgent(name, base or "", prompt, model, token.at)
        self.take(",")

    def _word(self, at: int, key: str, fields: dict[str, Text]) -> str | None:
        """A field that holds a name: nothing is filled in there."""
        match fields.get(key):
            case None | ():
                return None
            case (str(word),):
                return word
        self.problems.add(at, f"{key} is a name: no references, no parameters")
        return None
