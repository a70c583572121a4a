"""What a `.pym` script needs of the sandbox, told from its words alone. Pure.

Names that it does not make itself, what it imports, and what it asks of an operating
system that is not there. Nothing of the script runs.
"""

from __future__ import annotations

import ast
import symtable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a script has beside its arguments; see bridge/agent_loop/script_tools.py.
FUNCTIONS = ("read_file", "list_files", "search_text", "run_command")
_WAY_OUT = f"a script has {', '.join(f'{name}()' for name in FUNCTIONS)}"
# Of `os` and `os.path`, what only reckons with text.
_PURE_OS = frozenset(
    {
        *("path", "sep", "linesep", "pathsep", "curdir", "pardir", "extsep", "name"),
        *("fspath", "getcwd", "PathLike"),
    }
)
_PURE_PATH = frozenset(
    {
        *("join", "basename", "dirname", "split", "splitext", "normpath", "isabs"),
        *("commonpath", "commonprefix", "relpath", "sep", "splitdrive"),
    }
)
_FILE_METHODS = frozenset(
    {
        *("read_text", "write_text", "read_bytes", "write_bytes", "exists", "is_file"),
        *("is_dir", "iterdir", "glob", "rglob", "mkdir", "unlink", "rename", "touch"),
        *("stat", "resolve"),
    }
)


@dataclass(frozen=True, slots=True)
class Needs:
    """What to ask the sandbox for, each with the line it stands on."""

    names: dict[str, int]
    imports: dict[str, int]


def tree_of(code: str) -> ast.Module | None:
    """The script as a tree; None where this Python cannot read it."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def needs_of(code: str, tree: ast.Module) -> Needs:
    """What the script takes from outside of it."""
    wanted: set[str] = set()
    made: set[str] = set()
    tables = [symtable.symtable(code, "script", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            is_outer = table is top or symbol.is_global()
            is_made = (
                symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            )
            if is_outer and is_made:
                made.add(symbol.get_name())
            elif is_outer and symbol.is_referenced():
                wanted.add(symbol.get_name())
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in wanted - made:
            line = lines.setdefault(node.id, node.lineno)
            lines[node.id] = min(line, node.lineno)
    return Needs(lines, dict(_imports(tree.body)))


def _imports(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Each import as a statement of its own; one that may fail is left out."""
    for node in body:
        if isinstance(node, ast.Try | ast.TryStar) and node.handlers:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ast.unparse(ast.Import([alias])), node.lineno
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = ast.ImportFrom(node.module, [alias], node.level)
                yield ast.unparse(one), node.lineno
        for field in ("body", "orelse", "finalbody"):
            yield from _imports(getattr(node, field, None) or [])


def refusals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What the sandbox will refuse when the script comes to it, by line."""
    modules = set(_modules(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name not in _PURE_OS:
                    yield node.lineno, f"os.{alias.name}: {_WAY_OUT}"
        elif isinstance(node, ast.Attribute):
            refused = _refused(node, modules)
            if refused:
                yield node.lineno, f"{refused}: {_WAY_OUT}"
        elif isinstance(node, ast.Call) and _dotted(node.func) == "open":
            yield node.lineno, f"open() opens no file here: {_WAY_OUT}"


def _modules(tree: ast.Module) -> Iterator[str]:
    """The modules that a script imports, or imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _refused(node: ast.Attribute, modules: set[str]) -> str | None:
    """What of a module is not there, or reaches for a file; None for what is fine."""
    owner = _dotted(node.value)
    if owner == "os" and "os" in modules and node.attr not in _PURE_OS:
        return f"os.{node.attr}"
    is_os_path = owner == "os.path" and modules & {"os", "os.path"}
    if is_os_path and node.attr not in _PURE_PATH:
        return f"os.path.{node.attr}"
    if node.attr in _FILE_METHODS and "pathlib" in modules:
        return f".{node.attr}() reaches no file here"
    return None


def _dotted(node: ast.expr) -> str:
    """`a` or `a.b` as it is written; nothing for what is longer, or another thing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def unsaid(tree: ast.Module) -> tuple[int, str] | None:
    """What is wrong with a script that can give nothing, and its line.

    It ends with a definition that nobody calls, and prints nothing before.
    """
    if not tree.body:
        return None
    last = tree.body[-1]
    if not isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    acts = (
        node
        for statement in tree.body
        if not isinstance(
            statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        )
        for node in ast.walk(statement)
    )
    if any(isinstance(node, ast.Call) for node in acts):
        return None
    return last.lineno, (
        f"it ends with {last.name!r}, and nobody calls that: what a script gives is "
        f"the value of its last expression, such as {last.name}(…) on a line below; "
        "its arguments are there by their names"
    )
