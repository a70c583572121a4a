"""The page that states the promises names tests of each, and every run has them."""

import ast
import re
from pathlib import Path

import pytest

import bridge

PAGE = Path(bridge.__file__).parent.parent / "docs" / "internals.md"
PROMISES = dict(re.findall(r"^- \*\*(P\d)\*\* (.*)", PAGE.read_text(), re.MULTILINE))


def linked(promise: str) -> list[Path]:
    return [PAGE.parent / to for to in re.findall(r"\]\(([^)#]+)", PROMISES[promise])]


def is_left_out(node: ast.AST) -> bool:
    """Whether a test, or the marks of a module, say that only the full set has it."""
    return any(
        isinstance(each, ast.Attribute) and each.attr == "full"
        for each in ast.walk(node)
    )


def test_there_are_nine():
    assert [*PROMISES] == [f"P{number}" for number in range(1, 10)]


@pytest.mark.parametrize("promise", PROMISES)
def test_each_has_attacks_in_every_run(promise):
    """A link to a file that is gone, or that only --full runs, would promise less."""
    pages = linked(promise)

    assert pages
    for page in pages:
        body = ast.parse(page.read_text()).body
        marks = [node for node in body if isinstance(node, ast.Assign)]
        tests = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef)
            and node.name.startswith("test_")
            and not any(map(is_left_out, node.decorator_list))
        ]
        assert tests, page
        assert not any(map(is_left_out, marks)), page
