"""Templates of definitions: jinja2 in its sandbox, with everything bounded. Pure.

A template sees only the values it is given, and may read the keys of a mapping and the
positions of a list. It reaches no attribute of an object, so no method either. An
unknown name is an error. Values are data: template syntax inside them stays as it is.

Three bounds hold for every render: on the length of any text, on all that is written
on the way there, and on the number of loop rounds and macro calls. Reading a template
evaluates nothing, since the user may not have trusted its file yet.

Source: Jinja documentation, "Sandbox".
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.exceptions import FilterArgumentError
from jinja2.filters import do_tojson
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_CHARS = 4_000_000
_MAX_NUMBER = 2**63
_MAX_ITEMS = 10_000
# A render may write this many characters in all; a loop round or a macro call costs as
# much as `_STEP_COST` of them.
_MAX_WORK = 20_000_000
_STEP_COST = 500
# In blanks: of lines, and of each level of JSON.
_MAX_INDENT, _MAX_LEVEL = 100, 8
# No template can write these names, as they begin with a space.
_WORK = " work"
_STEP = " step"
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first",
    "float", "int", "items", "last", "length", "list", "lower", "max", "min", "reject",
    "rejectattr", "reverse", "round", "select", "selectattr", "sort", "string",
    "striptags", "sum", "title", "trim", "truncate", "unique", "upper",
    "wordcount",
)  # fmt: skip


class TemplateFailed(Exception):
    """The template is invalid or cannot take these values; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template.

    Raises:
        TemplateFailed: it is invalid, a name is unknown, or a bound is exceeded.
    """
    try:
        return _compiled(template).render({**values, _WORK: _Work()})
    except Exception as exc:  # noqa: BLE001 - whatever an expression can raise
        raise _failure(exc) from None


def names_in(template: str) -> frozenset[str]:
    """The names that a template expects to be given.

    Raises:
        TemplateFailed: it is invalid, or calls a method, which no value has.
    """
    try:
        _compiled(template)
        # As `meta.find_undeclared_variables`, which would evaluate constants.
        finder = meta.TrackingCodeGenerator(_ENVIRONMENT)
        finder.optimizer = None
        tree = _ENVIRONMENT.parse(template)
        finder.visit(tree)
        _check_calls(tree)
        return frozenset(finder.undeclared_identifiers)
    except Exception as exc:  # noqa: BLE001 - Python's own limits on deep expressions
        raise _failure(exc) from None


def _check_calls(tree: nodes.Template) -> None:
    for call in tree.find_all(nodes.Call):
        called = call.node
        if not isinstance(called, nodes.Getattr):
            continue
        whose = called.node.name if isinstance(called.node, nodes.Name) else "…"
        # `loop.cycle` and `loop.changed` are jinja2's own.
        if whose != "loop":
            raise TemplateFailed(
                f"`{whose}.{called.attr}(…)` calls a method, and no value has any; "
                "write NAME.key, or a filter such as `NAME.key | default('')`",
                call.lineno,
            )


def _failure(exc: Exception) -> TemplateFailed:
    if isinstance(exc, TemplateFailed):
        return exc
    if isinstance(exc, jinja2.TemplateSyntaxError):
        return TemplateFailed(exc.message or "not a template", exc.lineno)
    kind = "" if isinstance(exc, jinja2.TemplateError) else f"{type(exc).__name__}: "
    return TemplateFailed(f"{kind}{exc}")


def keys_in(template: str, mapping: str) -> frozenset[str] | None:
    """The keys that a template reads from a mapping; None if it may read any key.

    Args:
        template: one that `names_in` accepts.
        mapping: the mapping's name in the template.
    """

    def is_mapping(node: nodes.Node) -> bool:
        return isinstance(node, nodes.Name) and node.name == mapping

    tree = _ENVIRONMENT.parse(template)
    called = [n.node for n in tree.find_all(nodes.Call)]
    dotted = [
        n.attr
        for n in tree.find_all(nodes.Getattr)
        if is_mapping(n.node) and not any(n is each for each in called)
    ]
    named = [
        n.arg.value
        for n in tree.find_all(nodes.Getitem)
        if is_mapping(n.node) and isinstance(n.arg, nodes.Const)
    ]
    keys = [*dotted, *named]
    if len(keys) < sum(map(is_mapping, tree.find_all(nodes.Name))):
        return None
    return frozenset(map(str, keys))


@lru_cache(maxsize=64)
def _compiled(template: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(_Bounds().visit(_ENVIRONMENT.parse(template)))


class _Bounds(NodeTransformer):
    """Adds the bounds that jinja2 has no hook for to a parsed template."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        """`a ~ b` becomes `[a, b] | join`, with our `join`."""
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes), "join")

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        """Count each round."""
        self.generic_visit(node)
        node.body.insert(0, nodes.Output([_filter(nodes.Const(""), _STEP)]))
        return node

    visit_Macro = visit_For  # noqa: N815


def _filter(value: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None)


class _Work:
    """What one render may still do."""

    def __init__(self) -> None:
        self._left = _MAX_WORK

    def spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise jinja2.TemplateRuntimeError("it takes too much work to fill in")


@jinja2.pass_context
def _step(context: Context, nothing: str) -> str:
    context[_WORK].spend(_STEP_COST)
    return nothing


@jinja2.pass_context
def _written(context: Context, value: Any) -> str:
    """What an expression writes. As it takes the context, nothing is folded early."""
    text = str(value)
    context[_WORK].spend(len(text))
    return text


def _bounded(parts: Iterable[str]) -> str:
    """Join parts, and stop as soon as the result is too long."""
    found = []
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_CHARS:
            raise jinja2.TemplateRuntimeError(
                f"the result has more than {MAX_CHARS:,} characters"
            )
        found.append(part)
    return "".join(found)


class _Environment(ImmutableSandboxedEnvironment):
    """What templates run in."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    concat = staticmethod(_bounded)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`a.b` is `a["b"]`."""
        if isinstance(obj, LoopContext) and not attribute.startswith("_"):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """A value of a mapping or a list; no other object has any."""
        if isinstance(obj, jinja2.Undefined):
            return obj[argument]
        try:
            if isinstance(obj, (dict, list, tuple, str)):
                return obj[argument]
        except (KeyError, IndexError, TypeError):
            pass
        return self.undefined(f"there is no {argument!r} in it", obj=obj, name=argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic on numbers; `+` also joins two texts or two lists."""
        numbers = all(isinstance(each, (int, float)) for each in (left, right))
        if operator == "**" or not (numbers or operator == "+"):
            raise jinja2.TemplateRuntimeError(f"{operator} does not take these values")
        if isinstance(left, str) and isinstance(right, str):
            return _bounded((left, right))
        result = super().call_binop(context, operator, left, right)
        is_large = isinstance(result, int) and abs(result) > _MAX_NUMBER
        if is_large or (isinstance(result, list) and len(result) > _MAX_ITEMS):
            raise jinja2.TemplateRuntimeError(f"the result of {operator} is too large")
        return result


def _join(value: Iterable[Any], between: str = "") -> str:
    found: list[str] = []
    for item in value:
        found += [str(between), str(item)] if found else [str(item)]
        if len(found) > MAX_CHARS:
            raise FilterArgumentError("too many items to join")
    return _bounded(found)


def _replace(text: Any, old: str, new: str) -> str:
    if not old:
        raise FilterArgumentError("replace: its first argument is empty")
    return _join(str(text).split(str(old)), str(new))


def _indent(text: Any, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002
    space = " " * max(0, min(width, _MAX_INDENT))
    lines = _join(str(text).splitlines(), "\n" + space)
    return space + lines if first else lines


@jinja2.pass_eval_context
def _tojson(context: Any, value: Any, indent: int | None = None) -> Any:
    indent = None if indent is None else max(0, min(indent, _MAX_LEVEL))
    return do_tojson(context, value, indent)


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > _MAX_ITEMS:
        raise jinja2.TemplateRuntimeError(f"a range of more than {_MAX_ITEMS:,}")
    return found


def _make() -> _Environment:
    environment = _Environment(
        undefined=jinja2.StrictUndefined, optimized=False, finalize=_written
    )
    own = {"join": _join, "replace": _replace, "indent": _indent, "tojson": _tojson}
    own[_STEP] = _step
    environment.filters = {n: environment.filters[n] for n in _FILTERS} | own
    environment.globals = {"range": _range}
    return environment


_ENVIRONMENT = _make()
