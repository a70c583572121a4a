"""Templates of definitions: jinja2, with nothing to reach out with. Pure.

A template sees the values it is given, and may go from one to what it holds: keys of
mappings, positions of lists, nothing else. No attribute of an object can be reached, so
no method either; an unknown name is an error; what comes out is bounded at every step.
Values are data: what looks like a template in them stays as it is.

Source: Jinja documentation, "Sandbox".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import meta, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import FilterArgumentError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_CHARS = 4_000_000
MAX_NUMBER = 2**63
_MAX_RANGE = 10_000
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first",
    "float", "int", "items", "last", "length", "list", "lower", "max", "min", "reject",
    "rejectattr", "reverse", "round", "select", "selectattr", "sort", "string",
    "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper",
    "wordcount",
)  # fmt: skip


class TemplateFailed(Exception):
    """The template cannot be read, or not with these values; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template.

    Raises:
        TemplateFailed: it is no template, a name is unknown, or too much comes out.
    """
    try:
        return _compiled(template).render(values)
    except jinja2.TemplateSyntaxError as exc:
        raise TemplateFailed(exc.message or "not a template", exc.lineno) from None
    except Exception as exc:  # noqa: BLE001 - whatever an expression can raise
        kind = (
            "" if isinstance(exc, jinja2.TemplateError) else f"{type(exc).__name__}: "
        )
        raise TemplateFailed(f"{kind}{exc}") from None


def names_in(template: str) -> frozenset[str]:
    """The names that a template takes from outside.

    Raises:
        TemplateFailed: it is no template.
    """
    try:
        _compiled(template)
        finder = _Names(_ENVIRONMENT)
        finder.visit(_ENVIRONMENT.parse(template))
        return frozenset(finder.undeclared_identifiers)
    except jinja2.TemplateSyntaxError as exc:
        raise TemplateFailed(exc.message or "not a template", exc.lineno) from None
    except Exception as exc:  # noqa: BLE001 - what Python makes of too deep an expression
        raise TemplateFailed(f"{type(exc).__name__}: {exc}") from None


def keys_in(template: str, mapping: str) -> frozenset[str] | None:
    """The keys that a template reads from a mapping; None where it may read any.

    Args:
        template: one that `names_in` takes.
        mapping: the name by which the template knows it.
    """

    def is_meant(node: nodes.Node) -> bool:
        return isinstance(node, nodes.Name) and node.name == mapping

    tree = _ENVIRONMENT.parse(template)
    called = [n.node for n in tree.find_all(nodes.Call)]
    dotted = [
        n.attr
        for n in tree.find_all(nodes.Getattr)
        if is_meant(n.node) and not any(n is each for each in called)
    ]
    named = [
        n.arg.value
        for n in tree.find_all(nodes.Getitem)
        if is_meant(n.node) and isinstance(n.arg, nodes.Const)
    ]
    keys = [*dotted, *named]
    is_read_whole = len(keys) < sum(map(is_meant, tree.find_all(nodes.Name)))
    return None if is_read_whole else frozenset(map(str, keys))


@lru_cache(maxsize=64)
def _compiled(template: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(template)


def _bounded(parts: Iterable[str]) -> str:
    """Join, as long as the whole stays within the bound."""
    found = []
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_CHARS:
            raise jinja2.TemplateRuntimeError(
                f"more than {MAX_CHARS:,} characters come out"
            )
        found.append(part)
    return "".join(found)


class _Code(CodeGenerator):
    """Compiles `~` into a join that is bounded, and computes nothing while it does.

    To read a definition must cost no more than its size, whatever stands in it: it may
    be one that nobody has trusted yet.
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.optimizer = None

    def _output_child_to_const(
        self, node: nodes.Expr, frame: Frame, finalize: Any
    ) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Names(_Code, meta.TrackingCodeGenerator):
    """Finds the names that a template takes from outside."""


class _Environment(ImmutableSandboxedEnvironment):
    """What templates run in."""

    code_generator_class = _Code
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    concat = staticmethod(_bounded)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`a.b` is `a["b"]`."""
        if isinstance(obj, LoopContext) and not attribute.startswith("_"):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """A value of a mapping or a list, and nothing of any other object."""
        if isinstance(obj, jinja2.Undefined):
            return obj[argument]
        try:
            if isinstance(obj, (dict, list, tuple, str)):
                return obj[argument]
        except (KeyError, IndexError, TypeError):
            pass
        return self.undefined(f"there is no {argument!r} in it", obj=obj, name=argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic with numbers; `+` also joins what is alike."""
        numbers = all(isinstance(each, (int, float)) for each in (left, right))
        if operator == "**" or not (numbers or operator == "+"):
            raise jinja2.TemplateRuntimeError(f"{operator} is not for these values")
        if isinstance(left, str) and isinstance(right, str):
            return self.joined((left, right))
        result = super().call_binop(context, operator, left, right)
        is_large = isinstance(result, int) and abs(result) > MAX_NUMBER
        if is_large or (isinstance(result, list) and len(result) > _MAX_RANGE):
            raise jinja2.TemplateRuntimeError(f"what {operator} makes is too large")
        return result

    def joined(self, parts: Iterable[Any]) -> str:
        """What `~` makes."""
        return _bounded(map(str, parts))


def _join(value: Iterable[Any], between: str = "") -> str:
    found: list[str] = []
    for item in value:
        found += [str(between), str(item)] if found else [str(item)]
        if len(found) > MAX_CHARS:
            raise FilterArgumentError("more than can be joined")
    return _bounded(found)


def _replace(text: Any, old: str, new: str) -> str:
    if not old:
        raise FilterArgumentError("replace what? the first argument is empty")
    return _join(str(text).split(str(old)), str(new))


def _indent(text: Any, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002
    space = " " * max(0, min(width, 100))
    lines = _join(str(text).splitlines(), "\n" + space)
    return space + lines if first else lines


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > _MAX_RANGE:
        raise jinja2.TemplateRuntimeError(f"a range of more than {_MAX_RANGE:,}")
    return found


def _make() -> _Environment:
    environment = _Environment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=False
    )
    environment.filters = {
        name: each for name, each in environment.filters.items() if name in _FILTERS
    }
    environment.filters |= {"join": _join, "replace": _replace, "indent": _indent}
    environment.globals = {"range": _range}
    return environment


_ENVIRONMENT = _make()
