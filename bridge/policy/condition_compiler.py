"""Conditions compiled to the lists that `bridge.policy.condition` reads. Pure.

    value      NAME, literals, [a, b], value.field, value["key"], value[0]
    test       == != < <= > >= in, not in, is None; chained as in Python
    joined     not, and, or, a if c else b
    functions  len lower upper strip startswith endswith get matches runs words,
               as `len(x)` or `x.len()`; no other calls and no arithmetic

`condition_spelling` says which other spellings there are. A condition is compiled when
a file is checked or trusted, never in a hook. Every problem of one condition is found
at once; a problem of spelling hides the others.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import BridgeError
from bridge.hints import did_you_mean, place, quoted
from bridge.policy.condition_spelling import Misspelt, Spelt, name_of, spell
from bridge.policy.variable_record import misnamed

if TYPE_CHECKING:
    Code = Any


MAX_LENGTH = 4_000
MAX_DEPTH = 40
_MAX_INTEGER = 2**63
_DEEP = f"nested too deeply: at most {MAX_DEPTH} levels"
# What an event is called in every condition; a variable of that name is out of reach.
EVENT_NAMES = (
    "event", "tool_name", "command", "tool_input", "tool_output", "prompt", "agent",
    "depth", "session", "cwd", "variables", "workflow", "current_step",
)  # fmt: skip
# How many arguments a function takes, the value before the dot included.
FUNCTIONS = {
    "len": (1, 1), "lower": (1, 1), "upper": (1, 1), "strip": (1, 2),
    "startswith": (2, 2), "endswith": (2, 2), "get": (2, 3), "matches": (2, 2),
    "runs": (2, 100), "words": (1, 1),
}  # fmt: skip
CONSTANTS = {"true": True, "false": False, "null": None}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is",
    ast.IsNot: "is not",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a condition; `at` is the offset in its source."""

    at: int
    message: str


class InvalidCondition(BridgeError):
    """A condition cannot be compiled; `problems` are in the order of the source."""

    code = "invalid_condition"

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.at))
        super().__init__("\n".join(shown(source, p) for p in self.problems))


def shown(source: str, problem: Problem) -> str:
    """`line:column: message`, the line, and a caret below the place."""
    line, column = place(source, problem.at)
    text = source.split("\n")[line - 1]
    return f"{line}:{column}: {problem.message}\n{quoted(text, column - 1)}"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a condition: where it stands, and how it is compiled."""

    start: int
    end: int
    depth: int
    code: Code


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition: `code` is JSON, `names` what it asks for, with offsets."""

    source: str
    code: Code
    names: tuple[tuple[str, int], ...]
    spans: tuple[Span, ...]


def compile_condition(
    source: str, *, known: Collection[str] | None = None, is_flow: bool = False
) -> Condition:
    """Compile a condition.

    Args:
        source: as a person wrote it; `${{ … }}` may be around it.
        known: with these, any other name is a problem: the event's names and the
            variables that somebody declares. `variables.x` may be any.
        is_flow: also the words and references of flows.

    Raises:
        InvalidCondition: with every problem that could be found.
    """
    if len(source.strip()) > MAX_LENGTH:
        message = f"{len(source)} characters; a condition has at most {MAX_LENGTH}"
        raise InvalidCondition(source[:80], [Problem(0, message)])
    try:
        spelt = spell(source, is_flow=is_flow)
        tree = _parsed(spelt)
    except Misspelt as error:
        raise InvalidCondition(source, [Problem(error.at, error.message)]) from None
    compiler = _Compiler(spelt.text, spelt.origin, known)
    code = compiler.compiled(tree, 0)
    if compiler.problems:
        raise InvalidCondition(source, compiler.problems)
    return Condition(source, code, tuple(compiler.names), tuple(compiler.spans))


def _parsed(spelt: Spelt) -> ast.expr:
    """Python's tree of an expression.

    The text has one line, unless a text in it goes on after a backslash.
    """
    text, origin = spelt.text, spelt.origin
    try:
        with warnings.catch_warnings():
            # A backslash in a text that means nothing is nobody's business here.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        if "nested" in str(error.msg):
            raise Misspelt(origin[0], _DEEP) from None
        if not error.offset:
            raise Misspelt(origin[-1], "something is missing at the end") from None
        lines = text.split("\n")[: (error.lineno or 1) - 1]
        at = sum(len(one) + 1 for one in lines) + error.offset - 1
        at = origin[min(at, len(origin) - 1)]
        raise Misspelt(at, "this is no condition from here on") from None
    except (RecursionError, MemoryError):
        raise Misspelt(origin[0], _DEEP) from None
    except ValueError as error:
        why = f"this cannot be read: {type(error).__name__}"
        raise Misspelt(origin[0], why) from None


class _Compiler:
    def __init__(
        self, text: str, origin: Sequence[int], known: Collection[str] | None
    ) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.origin = origin
        self.known = known
        self.problems: list[Problem] = []
        self.names: list[tuple[str, int]] = []
        self.spans: list[Span] = []

    def compiled(self, node: ast.expr, depth: int) -> Code:
        if depth > MAX_DEPTH:
            # One problem is enough: everything inside would have it, too.
            if not any(problem.message == _DEEP for problem in self.problems):
                self.problem(node, _DEEP)
            return None
        number = len(self.spans)
        code = self._code(node, depth + 1)
        if isinstance(code, list):
            start = self.at(node)
            end = self.origin[self._at(node.end_lineno, node.end_col_offset) - 1] + 1
            self.spans.insert(number, Span(start, end, depth, code))
        return code

    def _code(  # noqa: C901, PLR0912 - a case for each kind of node
        self, node: ast.expr, depth: int
    ) -> Code:
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name(id=identifier):
                return self._name(node, name_of(identifier))
            case ast.Attribute(value=base, attr=field):
                base_code = self.compiled(base, depth)
                return ["get", self.at(node), base_code, name_of(field)]
            case ast.Subscript(value=base, slice=key):
                parts = [self.compiled(base, depth), self.compiled(key, depth)]
                return ["get", self.at(node), *parts]
            case ast.BoolOp(op=joint, values=values):
                word = "and" if isinstance(joint, ast.And) else "or"
                return [word, self.at(node), *self._each(values, depth)]
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return ["not", self.at(node), self.compiled(operand, depth)]
            case ast.UnaryOp(ast.USub(), ast.Constant(value=int() | float())):
                value = self._constant(node.operand)  # type: ignore[arg-type]
                return None if value is None else -value
            case ast.Compare():
                return self._compare(node, depth)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._contains(node, left, right, depth)
            case ast.IfExp(test=test, body=body, orelse=other):
                return ["if", self.at(node), *self._each([test, body, other], depth)]
            case ast.List(elts=items):
                return ["list", self.at(node), *self._each(items, depth)]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = [one for pair in zip(keys, values, strict=True) for one in pair]
                return ["map", self.at(node), *self._each(pairs, depth)]
            case ast.Call():
                return self._call(node, depth)
        return self.problem(node, _refused(node))

    def _each(self, nodes: Iterable[ast.expr | None], depth: int) -> list[Code]:
        return [self.compiled(node, depth) for node in nodes if node is not None]

    def _constant(self, node: ast.Constant) -> Code:
        value = node.value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if value < _MAX_INTEGER or (isinstance(value, float) and value < math.inf):
                return value
            return self.problem(node, "this number is too large")
        if isinstance(value, str):
            if value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value):
                return value
            return self.problem(node, "half a character: a lone surrogate")
        return self.problem(node, "only texts, numbers, true, false and null")

    def _name(self, node: ast.expr, name: str) -> Code:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            return self.problem(node, f"{name!r} is a function: write {name}(…)")
        if self.known is not None and name not in self.known:
            way = f"; a variable that nobody declares is variables.{name}"
            if name.istitle():
                way = f'; a text stands in quotes: "{name}"'
            guess = did_you_mean(name, {*self.known, *CONSTANTS}, most=1) or way
            self.problem(node, f"unknown name {name!r}{guess}")
        self.names.append((name, self.at(node)))
        return ["name", self.at(node), name]

    def _compare(self, node: ast.Compare, depth: int) -> Code:
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = self._has_word(node, depth)
            if found is not None:
                is_not = isinstance(node.ops[0], ast.NotIn)
                return ["not", self.at(node), found] if is_not else found
        parts: list[Code] = [self.compiled(node.left, depth)]
        for sign, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, (ast.Is, ast.IsNot)) and not _is_constant(right):
                self.problem(right, "'is' is for None, true and false: write ==")
            is_in = isinstance(sign, (ast.In, ast.NotIn))
            parts.append(_COMPARISONS[type(sign)])
            parts.append(self._collection(right, depth) if is_in else
                         self.compiled(right, depth))  # fmt: skip
        # Where the chain's signs stand is not in the tree: the whole is the place.
        return ["compare", self.at(node), *parts]

    def _has_word(self, node: ast.Compare, depth: int) -> Code | None:
        """`word in words(command)`, which need not read a command without the word."""
        match node.comparators[0]:
            case ast.Call(func=ast.Name(id="words"), args=[command], keywords=[]):
                pass
            case ast.Call(func=ast.Attribute(command, "words"), args=[], keywords=[]):
                pass
            case _:
                return None
        parts = [self.compiled(node.left, depth), self.compiled(command, depth)]
        return ["has_word", self.at(node), *parts]

    def _collection(self, node: ast.expr, depth: int) -> Code:
        """What stands right of `in`: also `(a, b)` and `{a, b}`."""
        if isinstance(node, (ast.Tuple, ast.Set)):
            return ["list", self.at(node), *self._each(node.elts, depth)]
        return self.compiled(node, depth)

    def _contains(
        self, node: ast.expr, left: ast.expr, right: ast.expr, depth: int
    ) -> Code:
        # `!a contains "b"` denies the whole: a denial contains nothing.
        is_not = isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.Invert)
        if is_not:
            left = left.operand  # type: ignore[attr-defined]
        parts = [self.compiled(right, depth), "in", self.compiled(left, depth)]
        code = ["compare", self.at(node), *parts]
        return ["not", self.at(node), code] if is_not else code

    def _call(self, node: ast.Call, depth: int) -> Code:
        arguments = [*node.args]
        match node.func:
            case ast.Name(id=name):
                pass
            case ast.Attribute(value=base, attr=name):
                arguments.insert(0, base)
            case _:
                return self.problem(node, "only a function can be called")
        name = name_of(name)
        if name not in FUNCTIONS:
            way = f"; there are {', '.join(FUNCTIONS)}"
            way = '; write "part" in text' if name == "contains" else way
            guess = did_you_mean(name, FUNCTIONS, most=1) or way
            return self.problem(node, f"unknown function {name!r}{guess}")
        least, most = FUNCTIONS[name]
        if node.keywords or any(isinstance(one, ast.Starred) for one in arguments):
            return self.problem(node, f"{name!r} takes its arguments one after another")
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            why = f"{name!r} takes {wanted} arguments, not {len(arguments)}"
            why += "; several texts are a list: [a, b]" * name.endswith("swith")
            return self.problem(node, why)
        first, *others = arguments
        if name == "runs" and (wrong := _no_names(others)):
            return self.problem(wrong, "'runs' takes names of programs")
        parts = [self.compiled(first, depth)]
        # Python wants a tuple in `startswith`.
        parts += [self._collection(other, depth) for other in others]
        return ["get_or" if name == "get" else name, self.at(node), *parts]

    def problem(self, node: ast.expr, message: str) -> None:
        self.problems.append(Problem(self.at(node), message))

    def at(self, node: ast.expr) -> int:
        return self.origin[self._at(node.lineno, node.col_offset)]

    def _at(self, line: int | None, column: int | None) -> int:
        """The index in the text; Python counts bytes."""
        before = self.lines[: (line or 1) - 1]
        text = self.lines[(line or 1) - 1].encode("utf-8", "surrogatepass")
        characters = text[:column].decode("utf-8", "surrogatepass")
        return sum(len(one) + 1 for one in before) + len(characters)


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, ast.Name) and node.id in CONSTANTS


def _no_names(nodes: Iterable[ast.expr]) -> ast.expr | None:
    """The first constant that can be no program's name."""
    for node in nodes:
        for one in node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]:
            if isinstance(one, ast.Constant) and not str(one.value or "").split():
                return one
    return None


def _refused(node: ast.expr) -> str:
    match node:
        case ast.BinOp() | ast.UnaryOp():
            return "conditions have no arithmetic"
        case ast.Tuple() | ast.Set():
            return "write a list: [a, b]"
        case ast.Slice():
            return "one item only: value[0]"
    return "conditions have nothing like this"


def shadowed(variables: Iterable[str]) -> list[str]:
    """Variables that no condition can reach by their names, with the reason.

    It is no name, one of the event's hides it, or it is a word or a function.
    """
    variables = list(variables)
    return misnamed(variables) + [
        f"a condition's {name!r} is {reason}: rename the variable"
        for name in variables
        for reason in [_taken(name)]
        if reason
    ]


def _taken(name: str) -> str | None:
    if name in EVENT_NAMES:
        return "the event's"
    if name in FUNCTIONS:
        return "a function"
    words = {"and", "or", "not", "in", "is", "if", "else", "True", "False", "None"}
    return "a word of its own" if name in words | set(CONSTANTS) else None
