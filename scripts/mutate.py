#!/usr/bin/env python3
"""Change one thing in a module at a time, and see whether the tests notice.

    scripts/mutate.py SAMPLE MODULE[=TEST,TEST…]…

    scripts/mutate.py 150 bridge/policy/globs.py=tests/policy/test_globs.py

It works on a copy. Each mutant changes one comparison, constant, condition, operator or
return value; the sample is always the same. It prints each survivor with its line, and
then how many were killed.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
# Tests that take so many times as long as without a change will not end.
PATIENCE = 10
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Change the tree, yield the line and what was changed, and change it back."""
    skipped = {id(part) for node in ast.walk(tree) for part in _no_logic(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for owner, field, new in _changes(node):
            old = getattr(owner, field)
            before = ast.unparse(node)
            setattr(owner, field, new)
            yield getattr(node, "lineno", 0), f"{before}  ->  {ast.unparse(node)}"
            setattr(owner, field, old)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, object]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in OPPOSITES:
            yield node, "ops", [OPPOSITES[type(op)]()]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OPPOSITES:
            yield node, "op", OPPOSITES[type(op)]()
        case ast.If(test=test) | ast.IfExp(test=test):
            yield node, "test", ast.UnaryOp(ast.Not(), test)
        case ast.UnaryOp(op=ast.Not()):
            yield node, "operand", ast.UnaryOp(ast.Not(), node.operand)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "value", ast.Constant(None)
        case ast.Constant(value=bool(value)):
            yield node, "value", not value
        case ast.Constant(value=int(value)):
            yield node, "value", value + 1


def _no_logic(node: ast.AST) -> Iterator[ast.AST]:
    """The parts without behaviour: annotations, and imports for types."""
    for field in ("annotation", "returns"):
        if isinstance(part := getattr(node, field, None), ast.AST):
            yield from ast.walk(part)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        yield from ast.walk(node)


def is_killed(copy: Path, tests: list[str], limit_s: float | None = None) -> bool:
    """Whether the tests in the copy fail, or do not end in time."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", *tests]
    command += ["-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(sample: int, targets: list[str]) -> None:
    """Try a sample of all mutants of the targets."""
    copy = Path(tempfile.mkdtemp(prefix="mutate-"))
    try:
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, copy, dirs_exist_ok=True, ignore=ignored)
        tests = dict(target.partition("=")[::2] for target in targets)
        every = [
            (module, number)
            for module in tests
            for number, _ in enumerate(mutants(ast.parse((copy / module).read_text())))
        ]
        chosen = random.Random(1).sample(every, min(sample, len(every)))  # noqa: S311
        limits_s = {}
        for module in sorted({module for module, _ in chosen}):
            # The second time: the first compiles what it imports.
            for _ in range(2):
                begun_s = time.monotonic()
                if is_killed(copy, tests[module].split(",")):
                    sys.exit(f"{module}: its tests fail as it is")
            limits_s[module] = PATIENCE * (time.monotonic() - begun_s)
        killed = sum(
            _try(copy, each, tests[each[0]].split(","), limits_s[each[0]])
            for each in chosen
        )
        print(f"{killed} of {len(chosen)} killed, out of {len(every)} possible")
    finally:
        shutil.rmtree(copy)


def _try(copy: Path, mutant: tuple[str, int], tests: list[str], limit_s: float) -> bool:
    module, wanted = mutant
    file = copy / module
    source = file.read_text()
    tree = ast.parse(source)
    for number, (line, change) in enumerate(mutants(tree)):
        if number == wanted:
            file.write_text(ast.unparse(tree))
            is_noticed = is_killed(copy, [test for test in tests if test], limit_s)
            file.write_text(source)
            if not is_noticed:
                print(f"survived: {module}:{line}: {change}", flush=True)
            return is_noticed
    raise ValueError(f"{module} has no mutant {wanted}")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):  # noqa: PLR2004
        sys.exit(__doc__)
    main(int(sys.argv[1]), sys.argv[2:])
