"""A flow's source to its syntax tree. Pure; loads lark, which no hook may.

Every independent mistake is found in one run: after one, the parser puts in what was
missing, or passes over what was too much, and goes on.
"""

from __future__ import annotations

from bisect import bisect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from bridge.flow.lexer import tokenize
from bridge.flow.tree_builder import TreeBuilder
from bridge.policy.condition_problem import InvalidCondition, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.tree import Flow

# What may be missing, the likeliest first, and its text.
_MISSING = {"ARROW": "->", "NAME": "missing", "COLON": ":", "STRING": '""', "COMMA": ","}
# The language's own words for what only its inner parts have.
_WORDS = {
    "COLON": ":", "COMMA": ",", "EQUAL": "=", "LBRACE": "{", "RBRACE": "}",
    "LPAR": "(", "RPAR": ")", "STRING": "a text in quotes", "NUMBER": "a number",
    "NAME": "a name",
}  # fmt: skip
_STEPS = frozenset({"NAME", "OWN", "MARK", "CALL", "RETRY", "LSQB"})


class InvalidFlow(InvalidCondition):
    """A flow cannot be used; `problems` are in the order of the source."""


def parse_flow(source: str) -> Flow:
    """Parse a flow.

    Raises:
        InvalidFlow: with every problem that could be found.
    """
    tokens, problems = tokenize(source)
    errors = _Errors(tokens, problems, len(source))
    try:
        tree = _grammar().parse(iter(tokens), on_error=errors)  # type: ignore[arg-type]
    except UnexpectedToken:
        tree = None
    if tree is None or problems:
        raise InvalidFlow(source, problems)
    builder = TreeBuilder()
    flow = builder.transform(tree)
    if builder.problems:
        raise InvalidFlow(source, builder.problems)
    return flow


class _Tokens(Lexer):
    """Gives lark the tokens that `tokenize` has made."""

    def __init__(self, _conf: Any) -> None: ...

    def lex(self, data: Any, _state: Any = None) -> Iterator[Token]:  # type: ignore[override]
        yield from data


@cache
def _grammar() -> Lark:
    source = Path(__file__).with_name("grammar.lark").read_text()
    return Lark(source, parser="lalr", lexer=_Tokens)


class _Errors:
    """Writes down what is wrong, and brings the parser to where it can go on."""

    def __init__(
        self, tokens: list[Token], problems: list[Problem], end: int
    ) -> None:
        self.places = {id(token): index for index, token in enumerate(tokens)}
        self.problems = problems
        self.known = sorted(problem.at for problem in problems)
        self.starts = [token.start_pos or 0 for token in tokens]
        self.end = end
        self.last = -2

    def __call__(self, error: UnexpectedToken) -> bool:
        """Whether the parser can go on after `error`."""
        token, parser = error.token, error.interactive_parser
        index = self.places.get(id(token), len(self.places))
        accepted = parser.accepts()
        if index > self.last + 1 and not self._is_echo(index):
            at = self.starts[index] if index < len(self.starts) else self.end
            self.problems.append(Problem(at, _message(token, accepted)))
        self.last = index
        for kind in (kind for kind in _MISSING if kind in accepted):
            trial = parser.copy(deepcopy_values=False)
            trial.feed_token(Token(kind, _MISSING[kind], token.start_pos or self.end))
            if token.type in trial.accepts():
                parser.feed_token(Token(kind, _MISSING[kind], token.start_pos or self.end))
                if token.type != "$END":
                    parser.feed_token(token)
                return True
        return token.type != "$END"

    def _is_echo(self, index: int) -> bool:
        """Whether a quote, bracket or sign just before it was reported already."""
        before = self.starts[index - 1] if index else 0
        at = self.starts[index] if index < len(self.starts) else self.end
        return bisect(self.known, at) > bisect(self.known, before - 1)


def _message(token: Token, accepted: set[str]) -> str:
    if accepted >= _STEPS:
        expected = "an agent"
    elif {"ARROW", "BAR"} <= accepted:
        expected = "-> or || between two steps"
    else:
        wanted = [word for kind, word in _WORDS.items() if kind in accepted]
        expected = " or ".join(wanted)
    found = "the flow ends here" if token.type == "$END" else f"not {str(token)[:40]}"
    return f"expected {expected}, {found}"
