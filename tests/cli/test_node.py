"""`--node`: the piece of source that a request is about goes along with it."""

from __future__ import annotations

import json

from bridge.extras import how_to_add

SOURCE = """\
class Cart:
    def total(self):
        return 0
"""


def put(project):
    (project.folder / "src").mkdir()
    (project.folder / "src" / "cart.py").write_text(SOURCE)


def test_the_request_carries_the_node(project):
    put(project)

    ran = project.run("submit", "Is it right?", "--node", "src/cart.py::Cart.total")

    (file,) = project.state.glob("requests/*.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(file.read_text())["node"] == {
        "file": "src/cart.py",
        "name": "Cart.total",
        "type": "method",
        "line": 2,
        "text": "def total(self):\n    return 0",
    }


def test_error_no_such_node_asks_nothing(project):
    put(project)

    ran = project.run("submit", "Is it right?", "--node", "src/cart.py::Cart.totl")

    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'Cart.total'?" in ran.err
    assert not list(project.state.glob("requests/*.json"))


def test_error_a_node_without_the_extra_asks_nothing(project, tmp_path):
    """Something must be corrected first, so exit 2: see state/FAILURES.md."""
    put(project)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "tree_sitter.py").write_text("raise ImportError\n")

    ran = project.run(
        "submit", "Is it right?", "--node", "src/cart.py::Cart",
        env={"PYTHONPATH": str(tmp_path / "bare")},
    )  # fmt: skip

    ran.fails(
        2,
        "reading python takes tree-sitter, which is not installed; "
        f"run: {how_to_add('local')}",
    )
    assert not list(project.state.glob("requests/*.json"))


def test_an_agent_without_a_definition_reads_the_node(project):
    put(project)
    project.run("submit", "Is it right?", "--node", "src/cart.py::Cart.total")

    (request,) = project.bridge.store.waiting()

    found = project.bridge.store.find(request)
    assert found.request.spoken == (
        "Is it right?\n\nsrc/cart.py, line 2, method Cart.total:\n\n"
        "def total(self):\n    return 0"
    )
