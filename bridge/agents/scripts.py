"""Check that the `.pym` scripts of a definition can run; none of them does.

The sandbox (pydantic-monty, and the program that it starts) parses each script; what it
will refuse when the script runs is found in the source.

Source: pydantic-monty, `MontySession.feed_start`, `Monty{Syntax,Runtime}Error`.
"""

import ast
import builtins
import symtable
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bridge.agents.diagnostic import Diagnostic
from bridge.errors import ExtraMissing

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
# Modules that scripts are written with elsewhere; the sandbox has none of them.
_OUTSIDE = frozenset({
    "glob", "grail", "http", "io", "requests", "shutil", "socket", "subprocess",
    "tempfile", "urllib",
})  # fmt: skip
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# The sandbox parses the whole script, then stops at this unknown name to ask for its
# value. It gets none, so nothing after it runs.
_STOP = "__hostbridge_reads_only__\n"


def check_scripts(
    scripts: Mapping[Path, str], variables: Mapping[Path, Collection[str]]
) -> Iterator[Diagnostic]:
    """The first error of each script, at its line.

    `scripts` maps each file to its text, `variables` to the names it has.

    Raises:
        ExtraMissing: as `open_sandbox`.
    """
    if not scripts:
        return
    with open_sandbox() as (monty, workers):
        for path, code in scripts.items():
            try:
                with workers.checkout(script_name=path.name) as session:
                    session.feed_start(_STOP + code)
            except monty.MontyError as exc:
                message = f"not a script: {_reason(exc)}"
                yield Diagnostic(path, _line(exc), (), message)
                continue
            found = _first_refusal(code, variables.get(path, ()))
            if found is not None:
                line, message = found
                yield Diagnostic(path, line, (), f"cannot run here: {message}")


def _first_refusal(code: str, variables: Collection[str]) -> tuple[int, str] | None:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The sandbox has parsed what this Python cannot.
        return None
    return min((*refusals(tree), *undefined(code, tree, variables)), default=None)


def _line(exc: Any) -> int:
    frames = exc.traceback() if hasattr(exc, "traceback") else []
    return max(1, frames[-1].line - 1) if frames else 1


def _reason(exc: Any) -> str:
    """The parser's own message, on one line."""
    message = exc.display("msg") if hasattr(exc, "traceback") else str(exc)
    return " ".join(message.split())


def undefined(
    code: str, tree: ast.Module, variables: Collection[str]
) -> Iterator[tuple[int, str]]:
    """The names that a script uses, and neither defines nor is given, by line."""
    used: set[str] = set()
    defined = {*variables, *FUNCTIONS, *dir(builtins)}
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
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in used - defined:
            yield node.lineno, f"name {node.id!r} is not defined"


def refusals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What the sandbox will refuse when the script gets there, by line."""
    nodes = list(ast.walk(tree))
    imports = [*_imports(nodes)]
    modules = {name for _, name in imports}
    yield from (
        (line, f"there is no module {name!r}: {_WAY_OUT}")
        for line, name in imports
        if name.partition(".")[0] in _OUTSIDE
    )
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


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """The modules that it imports, but for those in a `try`, which may fail."""
    tries = (n for n in nodes if isinstance(n, ast.Try | ast.TryStar) and n.handlers)
    caught = {inner for each in tries for inner in ast.walk(each)}
    for node in nodes:
        if node in caught:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


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


@contextmanager
def open_sandbox(needed_for: str = "") -> Iterator[tuple[Any, Any]]:
    """The module, and a pool of one worker, which has started.

    `needed_for` is the file of a script, for the error.

    Raises:
        ExtraMissing: pydantic-monty is not installed, or cannot start its program,
            which another package brings.
    """
    try:
        import pydantic_monty as monty
    except ImportError:
        raise ExtraMissing("local", "pydantic-monty", needed_for=needed_for) from None
    with ExitStack() as stack:
        try:
            workers = stack.enter_context(monty.Monty(max_processes=1))
            with workers.checkout():
                pass
        except (OSError, RuntimeError):
            program = "the program `monty` (pydantic-monty-runtime)"
            raise ExtraMissing("local", program, needed_for=needed_for) from None
        yield monty, workers
