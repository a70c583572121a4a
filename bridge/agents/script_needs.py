"""What a `.pym` script needs from the sandbox, by its source alone. Pure.

The names that it does not define, its imports, and the parts of an operating system
that are missing there. Nothing of the script runs.
"""

import ast
import symtable
from collections.abc import Collection, Iterator

# What a script can call beside its arguments; see bridge/agent_loop/script_tools.py.
FUNCTIONS = ("read_file", "list_files", "search_text", "run_command")
_WAY_OUT = f"use {', '.join(f'{name}()' for name in FUNCTIONS)}"
# The parts of `os` and `os.path` that only compute with text.
_PURE = {
    "os": (
        "path", "sep", "linesep", "pathsep", "curdir", "pardir", "extsep", "name",
        "fspath", "getcwd", "PathLike",
    ),
    "os.path": (
        "join", "basename", "dirname", "split", "splitext", "normpath", "isabs",
        "commonpath", "commonprefix", "relpath", "sep", "splitdrive",
    ),
}  # fmt: skip
_FILE_METHODS = (
    "read_text", "write_text", "read_bytes", "write_bytes", "exists", "is_file",
    "is_dir", "iterdir", "glob", "rglob", "mkdir", "unlink", "rename", "touch", "stat",
    "resolve",
)  # fmt: skip
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def needs(
    code: str, tree: ast.Module, variables: Collection[str]
) -> Iterator[tuple[int, str]]:
    """The imports and undefined names to try in the sandbox, each with its line."""
    yield from _imports(tree.body)
    used: set[str] = set()
    defined = set(variables)
    tables = [symtable.symtable(code, "script", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is not top and not symbol.is_global():
                continue
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                defined.add(symbol.get_name())
            elif symbol.is_referenced():
                used.add(symbol.get_name())
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in used - defined:
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    yield from ((line, name) for name, line in lines.items())


def _imports(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Each import as a statement of its own, without those that may fail."""
    for node in body:
        if isinstance(node, ast.Try | ast.TryStar) and node.handlers:
            continue
        for alias in getattr(node, "names", ()):
            if isinstance(node, ast.Import):
                yield node.lineno, ast.unparse(ast.Import([alias]))
            elif isinstance(node, ast.ImportFrom):
                single = ast.ImportFrom(node.module, [alias], node.level)
                yield node.lineno, ast.unparse(single)
        for field in ("body", "orelse", "finalbody"):
            yield from _imports(getattr(node, field, None) or [])


def refusals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What the sandbox will refuse when the script gets there, by line."""
    nodes = list(ast.walk(tree))
    modules = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name not in _PURE["os"]:
                    yield node.lineno, f"os.{alias.name} does not work: {_WAY_OUT}"
        elif isinstance(node, ast.Attribute):
            owner = _dotted(node.value)
            is_os = owner in _PURE and not modules.isdisjoint(_PURE)
            if is_os and node.attr not in _PURE[owner]:
                yield node.lineno, f"{owner}.{node.attr} does not work: {_WAY_OUT}"
            elif node.attr in _FILE_METHODS and "pathlib" in modules:
                yield node.lineno, f".{node.attr}() reaches no file: {_WAY_OUT}"
        elif isinstance(node, ast.Call) and _dotted(node.func) == "open":
            yield node.lineno, f"open() opens no file: {_WAY_OUT}"
    yield from _no_result(tree)


def _dotted(node: ast.expr) -> str:
    """`a` or `a.b` as written; nothing for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _no_result(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Refuse a script that ends with a definition and calls nothing."""
    statements = [each for each in tree.body if not isinstance(each, _DEFINITIONS)]
    calls = (
        isinstance(node, ast.Call)
        for statement in statements
        for node in ast.walk(statement)
    )
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _DEFINITIONS) and not any(calls):
        message = (
            f"it ends with {last.name!r}, which nothing calls: the result is the value "
            f"of the last expression, so add {last.name}(…) below; the arguments are "
            "variables"
        )
        yield last.lineno, message
