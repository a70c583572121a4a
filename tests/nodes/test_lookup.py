"""A node is real: found by its name, or refused with the nearest one."""

import os
import sys

import pytest

from bridge.errors import ExtraMissing, InvalidRequest
from bridge.extras import how_to_add
from bridge.nodes.lookup import MAX_FILE_BYTES, find_node
from bridge.protocol.request import Node

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
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/bill.py").write_text(PYTHON)
    (folder / "src/bill.js").write_text(JAVASCRIPT)
    return folder


def test_finds_a_method_with_its_decorators(project):
    """The text is what a reader sees, moved to the margin; the line is where it is."""
    node = find_node("src/bill.py::Bill.total", project)

    text = "@property\ndef total(self):\n    return self._total"
    of_method = {"name": "Bill.total", "type": "method", "line": 6, "text": text}
    assert node == Node(file="src/bill.py", **of_method)


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
        ("Bill.prototype.late", "function", 10, "Bill.prototype.late = function () {}"),
    ],
)
def test_finds_in_javascript(project, name, kind, line, text):
    node = find_node(f"src/bill.js::{name}", project)

    assert (node.type, node.line) == (kind, line)
    assert text is None or node.text == text


def test_a_file_alone_is_all_of_it(project):
    """A linter of whole files needs no name to make up."""
    node = find_node("src/bill.py", project)

    of_file = {"name": "bill.py", "type": "file", "line": 1, "text": PYTHON}
    assert node == Node(file="src/bill.py", **of_file)


def test_an_absolute_path_inside_the_project_will_do(project):
    """Editors hand out absolute paths."""
    node = find_node(f"{project}/src/bill.py::Bill", project)

    assert node.file == "src/bill.py"


def refused(spec, project):
    with pytest.raises(InvalidRequest) as caught:
        find_node(spec, project)
    return str(caught.value)


NAMED = "src/bill.py: no node is named "
ALL = "Bill, Bill.total, Bill.pay, Bill.pay.inner, héllo, late"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("src/bill.py::Bill.totl", f"{NAMED}'Bill.totl'; did you mean 'Bill.total'?"),
        ("src/bill.py::pay", f"{NAMED}'pay'; did you mean 'Bill.pay'?"),
        ("src/bill.py::", f"{NAMED}''; there are {ALL}"),
        ("src/none.py::f", "src/none.py does not exist in the project"),
        ("empty.py::f", "empty.py: no node is named 'f'; there is none in it"),
    ],
    ids=["slip", "last-part", "no-name", "no-file", "empty"],
)
def test_error_not_found(project, spec, message):
    """A near match is the difference between a slip and a search."""
    (project / "empty.py").write_text("")

    assert refused(spec, project) == message


def test_error_outside_the_project(project, tmp_path):
    """Neither by `..` nor by an absolute path nor by a link."""
    outside = tmp_path / "secret.py"
    outside.write_text("def f(): pass\n")
    (project / "link.py").symlink_to(outside)

    for spec in ("../secret.py::f", f"{outside}::f", "link.py::f"):
        why = f"{spec.partition('::')[0]} lies outside the project {project}"
        assert refused(spec, project) == why


def too_large(file):
    file.write_bytes(b"#" * (MAX_FILE_BYTES + 1))


ELSEWHERE = (
    "nodes are found in .py, .pyi, .js, .mjs, .cjs, .jsx; name the file alone for all "
    "of it"
)


@pytest.mark.parametrize(
    ("file", "make", "message"),
    [
        ("b.py", lambda p: p.write_bytes(b"x = '\0'"), "b.py is binary"),
        ("d.py", lambda p: p.mkdir(), "d.py is not a plain file"),
        ("p.py", os.mkfifo, "p.py is not a plain file"),
        ("h.py", too_large, "h.py is too large: 2,097,153 bytes, over 2,097,152"),
        ("r.rs", lambda p: p.write_text("fn f() {}"), f"r.rs: {ELSEWHERE}"),
    ],
    ids=["binary", "folder", "pipe", "huge", "language"],
)
def test_error_no_source(project, file, make, message):
    make(project / file)

    assert refused(f"{file}::f", project) == message


@pytest.mark.parametrize("spec", ["", "::f", "a\0b.py::f"])
def test_error_no_file_named(project, spec):
    form = "expected FILE::NAME, such as src/app.py::Class.method"
    assert refused(spec, project) == form


def test_error_missing_grammar(project, monkeypatch):
    """Without the extra, the way out is one command."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)

    with pytest.raises(ExtraMissing) as caught:
        find_node("src/bill.py::Bill", project)

    assert str(caught.value) == (
        "reading python takes tree-sitter, which is not installed; "
        f"run: {how_to_add('local')}"
    )
