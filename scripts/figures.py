"""Count the size and shape of the code, and what a hook event and a question open.

    scripts/figures.py              this checkout
    scripts/figures.py FOLDER       another checkout, such as an old commit's
    scripts/figures.py --no-run     only what can be counted without running anything

For the second table, the hooks and the command line of the checkout run under strace,
in a home of their own, with the libraries of the interpreter that runs this script.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bench.opens import show_opens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE = Path(__file__).resolve().parents[1]
FOLDERS = ("bridge", "tests")
# This many lines of code in a row, the same in two places, are a duplicate.
WINDOW = 6
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS)
LAYOUT = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER
}  # fmt: skip
# Each of these adds a path through a function (McCabe).
BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert,
    ast.comprehension, ast.match_case,
)  # fmt: skip


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    parser.add_argument("--no-run", action="store_true", help="start no hook")
    chosen = parser.parse_args()
    root = chosen.folder.resolve()
    columns = {name: figures(modules(root, name)) for name in FOLDERS}
    print(f"{'':<32}" + "".join(f"{name + '/':>20}" for name in columns))
    for label in columns[FOLDERS[0]]:
        cells = "".join(f"{column[label]:>20}" for column in columns.values())
        print(f"{label:<32}{cells}")
    for circle in circles(modules(root, "bridge")):
        print("  circle:", " ".join(sorted(circle)))
    if not chosen.no_run:
        show_opens(root)
    return 0


@dataclass(frozen=True)
class Module:
    """One file, by its dotted name."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def docstrings(self) -> set[int]:
        """The numbers of the lines with docstrings."""
        found: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, SCOPES) and ast.get_docstring(node, clean=False):
                found.update(lines_of(node.body[0]))
        return found

    @cached_property
    def code(self) -> list[int]:
        """The numbers of the lines with code: not blank, no comment, no docstring."""
        found: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type != tokenize.COMMENT and token.type not in LAYOUT:
                found.update(range(token.start[0], token.end[0] + 1))
        return sorted(found - self.docstrings)

    @property
    def prose(self) -> int:
        """The number of lines with docstrings and comments."""
        lines = self.text.splitlines()
        comments = sum(line.lstrip().startswith("#") for line in lines)
        return comments + sum(bool(lines[n - 1].strip()) for n in self.docstrings)

    @property
    def names(self) -> int:
        """The number of names that it defines at its top level."""
        return sum(
            len(node.targets) if isinstance(node, ast.Assign) else 1
            for node in self.tree.body
            if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Assign, ast.AnnAssign))
        )


def modules(root: Path, folder: str) -> list[Module]:
    """All modules below a folder of the checkout."""
    found = []
    for path in sorted((root / folder).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        found.append(Module(name, path.read_text()))
    return found


def figures(found: list[Module]) -> dict[str, str]:
    """One column of the first table."""
    code = sum(len(module.code) for module in found)
    prose = sum(module.prose for module in found)
    functions = [
        node for m in found for node in ast.walk(m.tree) if isinstance(node, FUNCTIONS)
    ]
    return {
        "modules": f"{len(found):,}",
        "code lines": f"{code:,}",
        "prose, of code and prose": f"{prose / (code + prose):.0%}",
        "lines of a file": spread(len(m.text.splitlines()) for m in found),
        "lines of a function": spread(len(lines_of(each)) for each in functions),
        "complexity of a function": spread(complexity(each) for each in functions),
        "names of a module": spread(module.names for module in found),
        "circles of imports": f"{len(circles(found))}",
        "  without those for types": f"{len(circles(found, types=False))}",
        f"lines in duplicates of {WINDOW} or more": f"{duplicates(found):,}",
    }


def spread(values: Iterable[int]) -> str:
    """Mean, median, 90th percentile, maximum."""
    data = sorted(values)
    p90 = data[int(len(data) * 0.9)]
    mean = statistics.mean(data)
    return f"{mean:.1f}/{statistics.median(data):.0f}/{p90}/{data[-1]}"


def lines_of(node: ast.stmt) -> range:
    """The numbers of its lines."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def complexity(function: ast.AST) -> int:
    """The number of paths through a function, without those of inner functions."""
    ways = 1
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, FUNCTIONS):
            continue
        ways += isinstance(node, BRANCHES)
        ways += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        todo += ast.iter_child_nodes(node)
    return ways


def circles(found: list[Module], *, types: bool = True) -> list[set[str]]:
    """The modules that import each other, directly or through others."""
    known = {module.name for module in found}
    uses = {m.name: set(imports(m, known, types=types)) - {m.name} for m in found}
    reached = {name: reach(name, uses) for name in uses}
    rings = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in uses
    }
    return sorted((set(ring) for ring in rings if ring), key=min)


def imports(module: Module, known: set[str], *, types: bool) -> Iterator[str]:
    """The modules that it imports, at any time."""
    todo: list[ast.AST] = [module.tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if (name := inner if inner in known else node.module) in known:
                    yield name
        elif types or not (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            todo += ast.iter_child_nodes(node)


def reach(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    """All modules that are imported with this one."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = uses[todo.pop()] - found
        found |= new
        todo += new
    return found


def duplicates(found: list[Module]) -> int:
    """The number of lines of code that are part of a duplicate."""
    places: dict[tuple[str, ...], list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    for module in found:
        text = module.text.splitlines()
        imports = {
            number
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for number in lines_of(node)
        }
        code = [(n, text[n - 1].strip()) for n in module.code if n not in imports]
        for start in range(len(code) - WINDOW + 1):
            numbers, lines = zip(*code[start : start + WINDOW], strict=True)
            places[lines].append((module.name, numbers))
    return len({
        (name, number)
        for here in places.values()
        if len(here) > 1
        for name, numbers in here
        for number in numbers
    })  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
