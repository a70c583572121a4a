"""A node is real: found by its name, or refused with the nearest one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ExtraMissing, InvalidRequest
from bridge.extras import how_to_add
from bridge.nodes.lookup import MAX_FILE_BYTES, find_node
from bridge.protocol.node import Node

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = """\
import os

class Bill:
    \"\"\"A bill.\"\"\"

    @property
    def total(self):
        return self._total

    @total.setter
    def total(self, value):
        self._total = value

    async def pay(self):
        def inner():
            return 1
        return inner()

def héllo(x):
    return x

if os.name:
    def late(): return 2
"""

JAVASCRIPT = """\
export default class Bill {
  constructor(total) { this.total = total }
  pay = async () => 1
  static #secret() {}
}
export function* ids() { yield 1 }
const add = (a, b) => a + b, sub = function (a, b) { return a - b }
let one = () => 1
module.exports = { shown() { return 2 }, other: () => 3 }
Bill.prototype.late = function () {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/bill.py").write_text(PYTHON)
    (folder / "src/bill.js").write_text(JAVASCRIPT)
    return folder


def test_finds_a_method_with_its_decorators(project):
    """The text is what a reader sees, moved to the margin; the line is where it is."""
    node = find_node("src/bill.py::Bill.total", project)

    assert node == Node(
        file="src/bill.py",
        name="Bill.total",
        type="method",
        line=6,
        text="@property\ndef total(self):\n    return self._total",
    )


@pytest.mark.parametrize(
    ("name", "kind", "line", "begins"),
    [
        ("Bill", "class", 3, "class Bill:"),
        ("Bill.pay", "method", 14, "async def pay(self):"),
        ("Bill.pay.inner", "function", 15, "def inner():"),
        ("héllo", "function", 19, "def héllo(x):"),
        ("late", "function", 23, "def late(): return 2"),
    ],
)
def test_finds_in_python(project, name, kind, line, begins):
    node = find_node(f"src/bill.py::{name}", project)

    assert (node.type, node.line, node.text.splitlines()[0]) == (kind, line, begins)


@pytest.mark.parametrize(
    ("name", "kind", "line", "text"),
    [
        ("Bill.constructor", "method", 2, None),
        ("Bill.pay", "method", 3, "pay = async () => 1"),
        ("Bill.#secret", "method", 4, "static #secret() {}"),
        ("ids", "function", 6, "export function* ids() { yield 1 }"),
        ("add", "function", 7, "add = (a, b) => a + b"),
        ("sub", "function", 7, "sub = function (a, b) { return a - b }"),
        ("one", "function", 8, "let one = () => 1"),
        ("shown", "function", 9, "shown() { return 2 }"),
        ("other", "function", 9, "other: () => 3"),
        (
            "Bill.prototype.late",
            "function",
            10,
            "Bill.prototype.late = function () {}",
        ),
    ],
)
def test_finds_in_javascript(project, name, kind, line, text):
    node = find_node(f"src/bill.js::{name}", project)

    assert (node.type, node.line) == (kind, line)
    assert text is None or node.text == text


def test_a_file_alone_is_all_of_it(project):
    """A linter of whole files needs no name to make up."""
    node = find_node("src/bill.py", project)

    assert node == Node(
        file="src/bill.py", name="bill.py", type="file", line=1, text=PYTHON
    )


def test_an_absolute_path_inside_the_project_will_do(project):
    """Editors hand out absolute paths."""
    node = find_node(f"{project}/src/bill.py::Bill", project)

    assert node.file == "src/bill.py"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "src/bill.py::Bill.totl",
            "src/bill.py: no node is named 'Bill.totl'; did you mean 'Bill.total'?",
        ),
        (
            "src/bill.py::pay",
            "src/bill.py: no node is named 'pay'; did you mean 'Bill.pay'?",
        ),
        (
            "src/bill.py::",
            (
                "src/bill.py: no node is named ''; there are Bill, Bill.total, "
                "Bill.pay, Bill.pay.inner, héllo, late"
            ),
        ),
        ("src/none.py::f", "src/none.py does not exist in the project"),
        ("empty.py::f", "empty.py: no node is named 'f'; there is none in it"),
    ],
    ids=["slip", "last-part", "no-name", "no-file", "empty"],
)
def test_error_not_found(project, spec, message):
    """A near match is the difference between a slip and a search."""
    (project / "empty.py").write_text("")

    with pytest.raises(InvalidRequest) as caught:
        find_node(spec, project)

    assert str(caught.value) == message


def test_error_outside_the_project(project, tmp_path):
    """Neither by `..` nor by an absolute path nor by a link."""
    outside = tmp_path / "secret.py"
    outside.write_text("def f(): pass\n")
    (project / "link.py").symlink_to(outside)

    for spec in ("../secret.py::f", f"{outside}::f", "link.py::f"):
        with pytest.raises(InvalidRequest) as caught:
            find_node(spec, project)
        file = spec.partition("::")[0]
        assert str(caught.value) == f"{file} lies outside the project {project}"


@pytest.mark.parametrize(
    ("file", "make", "message"),
    [
        ("b.py", lambda p: p.write_bytes(b"x = '\0'"), "b.py is binary"),
        ("d.py", lambda p: p.mkdir(), "d.py is not a plain file"),
        ("p.py", os.mkfifo, "p.py is not a plain file"),
        (
            "h.py",
            lambda p: p.write_bytes(b"#" * (MAX_FILE_BYTES + 1)),
            "h.py is too large: 2,097,153 bytes, over 2,097,152",
        ),
        (
            "r.rs",
            lambda p: p.write_text("fn f() {}"),
            (
                "r.rs: nodes are found in .py, .pyi, .js, .mjs, .cjs, .jsx; name the "
                "file alone for all of it"
            ),
        ),
    ],
    ids=["binary", "folder", "pipe", "huge", "language"],
)
def test_error_no_source(project, file, make, message):
    make(project / file)

    with pytest.raises(InvalidRequest) as caught:
        find_node(f"{file}::f", project)

    assert str(caught.value) == message


@pytest.mark.parametrize("spec", ["", "::f", "a\0b.py::f"])
def test_error_no_file_named(project, spec):
    with pytest.raises(InvalidRequest) as caught:
        find_node(spec, project)

    assert str(caught.value) == (
        "expected FILE::NAME, such as src/app.py::Class.method"
    )


def test_error_missing_grammar(project, monkeypatch):
    """Without the extra, the way out is one command."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)

    with pytest.raises(ExtraMissing) as caught:
        find_node("src/bill.py::Bill", project)

    assert str(caught.value) == (
        "reading python takes tree-sitter, which is not installed; "
        f"run: {how_to_add('local')}"
    )
