"""The tokens of a flow. Pure.

    $name :=      DEFINE        "…"            STRING   may hold line breaks
    $name         OWN           (if c)~>       GUARD    also (c)~> and ~> (if c)
    name          NAME          -> || : , = [ ] { } ( ) as they are
    @name         MARK          retry (        RETRY
    @call:name    CALL          @define-agents BLOCK

A hyphen belongs to a name only before a word character: `a->b` is a, an arrow, and b.
A quote or a bracket that is never closed is reported where it was opened, and taken as
closed where that shows, so that the rest is still read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lark import Token

from bridge.policy.condition_problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = r"[^\W\d]\w*(?:-+\w+)*"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"""
    (?P<skip> (?: \s+ | \#[^\n]* )+ )
  | (?P<DEFINE> \${_NAME} \s* := )
  | (?P<OWN> \${_NAME} )
  | (?P<BLOCK> @define-agents\b )
  | (?P<CALL> @call\s*:\s*{_NAME} )
  | (?P<MARK> @\ ?{_NAME} )
  | (?P<RETRY> retry (?=\s*\() )
  | (?P<NAME> {_NAME} )
  | (?P<NUMBER> \d+ )
  | (?P<STRING> {_QUOTED} )
  | (?P<quoted> '(?:[^'\\]|\\.)*' )
  | (?P<ARROW> -> )
  | (?P<TILDE> ~> )
  | (?P<BAR> \|\|? )
  | (?P<sign> [][{{}}():,=] )
    """,
    re.X | re.S,
)
_SIGNS = {
    "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", "(": "LPAR", ")": "RPAR",
    ":": "COLON", ",": "COMMA", "=": "EQUAL",
}  # fmt: skip
_CLOSERS = {"LSQB": "RSQB", "LBRACE": "RBRACE", "LPAR": "RPAR"}
_SIGN_OF = {kind: sign for sign, kind in _SIGNS.items()}
# The parts of a condition, to find the bracket that closes it.
_IN_CONDITION = re.compile(rf"[^()\"]+|{_QUOTED}|[()]", re.S)
# What a string may not touch at its end: this one began inside another one.
_TOUCHING = re.compile(r"[\w\"$@]")
# What may have arguments in brackets, and how these begin: a condition may follow, too.
_CALLED = frozenset({"CALL", "MARK", "RETRY"})
_ARGUMENTS = re.compile(rf"\(\s*(?:\)|\d+\s*\)|{_NAME}\s*=(?!=))")


# What may be left out before what.
_MAY_END = {
    "ARROW": frozenset({"CONDITION", "TILDE", "RSQB", "RBRACE", ""}),
    "COMMA": frozenset({"RBRACE", "RPAR", "RSQB", ""}),
}
_NO_TILDE = "a condition guards what follows it: write (if …)~>"
_NO_CONDITION = "~> needs a condition: write (if …)~>; then is ->"


def tokenize(source: str) -> tuple[list[Token], list[Problem]]:
    """The tokens of a flow, and what is wrong with its quotes, brackets and signs."""
    problems: list[Problem] = []
    found = list(_balanced(_scan(source, problems), len(source), problems))
    return list(_plain(found, problems)), problems


def _scan(source: str, problems: list[Problem]) -> Iterator[Token]:
    at = 0
    before = ""
    while at < len(source):
        kind, end, problem = _next(source, at, before)
        if problem:
            problems.append(Problem(at, problem))
        if kind:
            yield Token(kind, source[at:end], at, end_pos=end)
            before = kind
        at = end


def _next(source: str, at: int, before: str) -> tuple[str, int, str]:
    """Kind and end of the token at an offset, and what is wrong with it."""
    match = _TOKEN.match(source, at)
    kind, end = (str(match.lastgroup), match.end()) if match else ("", at + 1)
    sign = source[at]
    if sign == '"' and (kind != "STRING" or _is_open(source, at, end)):
        return "STRING", _end_of_line(source, at), 'this " is never closed'
    if sign == "(" and not (before in _CALLED and _ARGUMENTS.match(source, at)):
        end = _end_of_condition(source, at)
        if end:
            return "CONDITION", end, ""
        return "CONDITION", _end_of_line(source, at), "this ( is never closed"
    if kind == "sign":
        return _SIGNS[sign], end, ""
    if kind == "skip":
        return "", end, ""
    if kind == "quoted":
        return "STRING", end, 'texts stand in double quotes: "…"'
    if kind == "BAR" and end == at + 1:
        return kind, end, "branches are separated by ||"
    return kind, end, "" if kind else f"a flow has no {sign!r} outside quotes"


def _is_open(source: str, at: int, end: int) -> bool:
    """Whether a string ends where another one begins: its own quote was forgotten."""
    return "\n" in source[at:end] and bool(_TOUCHING.match(source, end))


def _end_of_line(source: str, at: int) -> int:
    end = source.find("\n", at)
    return len(source) if end < 0 else end


def _end_of_condition(source: str, at: int) -> int:
    depth = 0
    while match := _IN_CONDITION.match(source, at):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        at = match.end()
        if not depth:
            return at
    return 0


def _balanced(
    tokens: Iterator[Token], end: int, problems: list[Problem]
) -> Iterator[Token]:
    """The tokens with every bracket closed."""
    opened: list[Token] = []
    for token in tokens:
        if token.type in _CLOSERS:
            opened.append(token)
        elif token.type in _CLOSERS.values():
            if token.type not in [_CLOSERS[left.type] for left in opened]:
                problems.append(Problem(_start(token), f"this {token} closes nothing"))
                continue
            while _CLOSERS[opened[-1].type] != token.type:
                yield _closed(opened.pop(), _start(token), problems)
            opened.pop()
        yield token
    for left in reversed(opened):
        yield _closed(left, end, problems)


def _closed(left: Token, at: int, problems: list[Problem]) -> Token:
    problems.append(Problem(_start(left), f"this {left} is never closed"))
    kind = _CLOSERS[left.type]
    return Token(kind, _SIGN_OF[kind], at)


def _plain(tokens: list[Token], problems: list[Problem]) -> Iterator[Token]:
    """Guards made one token each; without arrows and commas that may be left out."""
    for index, token in enumerate(tokens):
        before = tokens[index - 1].type if index else ""
        after = tokens[index + 1].type if index + 1 < len(tokens) else ""
        if token.type == "CONDITION":
            if "TILDE" not in (before, after):
                problems.append(Problem(_start(token), _NO_TILDE))
            yield token.update("GUARD")
        elif token.type == "TILDE":
            if "CONDITION" not in (before, after):
                problems.append(Problem(_start(token), _NO_CONDITION))
                yield token.update("ARROW")
        elif after not in _MAY_END.get(token.type, ()):
            yield token


def _start(token: Token) -> int:
    return token.start_pos or 0
