"""The spellings of a condition, brought to Python's own. Pure.

People write conditions as they know them from elsewhere. All of these become Python's
expressions, and every character remembers where it stood, for errors:

    && || !                 and, or, not; `!` binds tighter than ==, as elsewhere
    a contains "b"          "b" in a
    steps.run-tests.ok      a hyphen inside a name belongs to it: there is no arithmetic
    ${{ … }}                the condition inside
    x is defined            x is not None; `x is not defined`: x is None
    a line break            a space: YAML's blocks have them

In flows also:

    passed   no issues   all success   any failed      of the last step or group
    {name} {name.field}                                a variable

`spell` gives text that only `condition_compiler` can read: signs that Python has and
conditions lack stand for what Python lacks.
"""

import keyword
import re
from dataclasses import dataclass

from bridge.policy.condition import ConditionError
from bridge.policy.variable_record import NAME

# Stands for a hyphen inside a name: Python takes it for a letter, and nobody types it.
# Two of them at the end mark a field that is a word of Python: `event.from`.
HYPHEN = "\ua78f"
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "contains"})
_GROUPS = frozenset({"no", "all", "any"})

_TOKEN = re.compile(
    rf"""
    (?P<text> [rRuUbBfF]{{0,2}} (?: '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" ))
  | (?P<name> {NAME} )
  | (?P<number> \d[\w.]* )
  | (?P<sign> ===|!==|==|!=|<=|>=|&&|\|\||:=|->|\*\*|//|[][(){{}},.:<>!=&|+*/%@~^;-] )
  | (?P<space> \s+ )
    """,
    re.X | re.S,
)
# What Python would read, and conditions do not have; and what to write instead.
_FOREIGN = {
    "===": "write ==",
    "!==": "write !=",
    "=": "a condition compares with ==",
    ":=": "a condition sets nothing; it compares with ==",
    "&": "write and",
    "|": "there are no filters: write len(x), lower(x); and `or` for one of two",
    ";": "a condition is one expression",
    "~": "there are no regular expressions: write matches(text, glob)",
    **dict.fromkeys(
        ("+", "*", "/", "%", "@", "^", "**", "//", "->"),
        "conditions have no arithmetic",
    ),
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Misspelt(ConditionError):
    """The source cannot be a condition; `at` is the offset where that shows."""


@dataclass(frozen=True, slots=True)
class Spelt:
    """A condition in Python's spelling; `origin[i]` is where character i stood."""

    text: str
    origin: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a condition: its kind, its text, and where it stands."""

    kind: str
    text: str
    at: int

    @property
    def is_operand(self) -> bool:
        """Whether it is a name or a value, rather than a word like `and`."""
        if self.kind == "name":
            return self.text not in _WORDS
        return self.kind in {"text", "number"}


def spell(source: str, *, is_flow: bool = False) -> Spelt:
    """Rewrite a condition in Python's spelling.

    Raises:
        Misspelt: an unknown sign, an unclosed quote or bracket, or free text.
    """
    tokens = _bare(tokenize(source))
    _check_brackets(tokens, len(source))
    texts: list[str] = []
    origin: list[int] = []
    for text, token in _rewritten(tokens, is_flow=is_flow):
        texts.append(text)
        # A replacement that is longer ends where the token ended.
        last = len(token.text) - 1
        origin += [token.at + min(i, last) for i in range(len(text))]
    return Spelt("".join(texts), (*origin, len(source)))


def tokenize(source: str) -> list[Token]:
    """Split a source into tokens, spaces left out.

    Raises:
        Misspelt: an unclosed quote, or a sign that no condition has.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if source.startswith("${{", at):
            tokens.append(Token("open", "${{", at))
            at += 3
            continue
        if found is None:
            raise Misspelt(at, _unreadable(source[at]))
        if found.lastgroup != "space":
            tokens.append(Token(str(found.lastgroup), found[0], at))
        at = found.end()
    return tokens


def _unreadable(sign: str) -> str:
    if sign in "'\"":
        return f"this {sign} is never closed"
    if sign == "\\":
        return "a backslash belongs into quotes"
    return f"a condition has no {sign!r}"


def _bare(tokens: list[Token]) -> list[Token]:
    """The tokens inside `${{ … }}`, or all."""
    inner = tokens
    if tokens and tokens[0].kind == "open":
        if [token.text for token in tokens[-2:]] != ["}", "}"]:
            raise Misspelt(tokens[0].at, "this ${{ is not closed by }} at the end")
        inner = tokens[1:-2]
    for token in inner:
        if token.kind == "open":
            raise Misspelt(token.at, "a condition has one ${{ }}, around all of it")
    return inner


def _check_brackets(tokens: list[Token], end: int) -> None:
    opened: list[Token] = []
    for token in tokens:
        if token.text in _CLOSING:
            opened.append(token)
        elif token.kind == "sign" and token.text in ")]}":
            if not opened:
                raise Misspelt(token.at, f"this {token.text} closes nothing")
            last = opened.pop()
            if _CLOSING[last.text] != token.text:
                raise Misspelt(
                    token.at, f"expected {_CLOSING[last.text]} to close {last.text}"
                )
    if opened:
        raise Misspelt(opened[-1].at, f"this {opened[-1].text} is never closed")
    if not tokens:
        raise Misspelt(end, "a condition is needed here")


def _rewritten(tokens: list[Token], *, is_flow: bool) -> list[tuple[str, Token]]:
    done: list[tuple[str, Token]] = []
    as_written, tokens = tokens, _undefined(tokens)
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        # Tokens that touch still touch: `a.b`; others stay apart.
        end = as_written[index - 1].at + len(as_written[index - 1].text)
        if before and end < token.at:
            done.append((" ", Token("space", " ", token.at - 1)))
        done.append((_python(token, before, after, is_flow=is_flow), token))
    return done


def _undefined(tokens: list[Token]) -> list[Token]:
    """The tokens with `is defined` as Python says it: what is missing is None."""
    texts = [token.text for token in tokens]
    found = list(tokens)
    for index, token in enumerate(tokens):
        if token.text != "defined" or index == 0:
            continue
        if texts[index - 1] == "is":
            found[index] = Token("name", "not None", token.at)
        elif texts[max(0, index - 2) : index] == ["is", "not"]:
            found[index - 1] = Token("space", "", tokens[index - 1].at)
            found[index] = Token("name", "None", token.at)
    return found


def _python(
    token: Token, before: Token | None, after: Token | None, *, is_flow: bool
) -> str:
    text = token.text
    if token.kind == "name":
        return _name(token, before, after, is_flow=is_flow)
    if token.kind == "text":
        _check_text(token)
    if before and before.is_operand and token.is_operand:
        raise Misspelt(token.at, _free_text(before, token, is_flow=is_flow))
    if text in _FOREIGN:
        raise Misspelt(token.at, f"{text!r}: {_FOREIGN[text]}")
    if is_flow and text in {"{", "}"}:
        return "(" if text == "{" else ")"
    return {"&&": " and ", "||": " or ", "!": "~"}.get(text, text)


def _name(
    token: Token, before: Token | None, after: Token | None, *, is_flow: bool
) -> str:
    text = token.text
    ends = before is not None and (before.is_operand or before.text in {")", "]", "}"})
    if text == "contains" and ends:
        return " @ "
    is_field = before is not None and before.text == "."
    is_python = keyword.iskeyword(text)
    if is_field and is_python:
        return text + 2 * HYPHEN
    if is_python and text not in _WORDS | {"None", "True", "False"}:
        raise Misspelt(token.at, f"a condition has no {text!r}")
    if before and before.is_operand and token.is_operand:
        if not (is_flow and before.text in _GROUPS):
            raise Misspelt(token.at, _free_text(before, token, is_flow=is_flow))
        return _hyphenated(text)
    if is_flow and text in _GROUPS and after and after.is_operand:
        return "not " if text == "no" else f"{text}."
    if HYPHEN in text:
        raise Misspelt(token.at, f"a condition has no {HYPHEN!r}")
    return _hyphenated(text)


def _hyphenated(text: str) -> str:
    return text.replace("-", HYPHEN)


def name_of(identifier: str) -> str:
    """The name that an identifier of the rewritten text stands for."""
    return identifier.removesuffix(2 * HYPHEN).replace(HYPHEN, "-")


def _check_text(token: Token) -> None:
    prefix = token.text[: re.search("['\"]", token.text).start()]  # type: ignore[union-attr]
    if set(prefix.lower()) & {"b", "f"}:
        raise Misspelt(token.at, f"a text has no {prefix!r} before it")


def _free_text(before: Token, token: Token, *, is_flow: bool) -> str:
    between = f"nothing joins {before.text} and {token.text}"
    if not is_flow:
        return f"{between}: write and, or, ==, in … between them"
    return (
        f"{between}: free text cannot be decided here. Let an agent answer yes or no "
        "before this, and test its answer"
    )
