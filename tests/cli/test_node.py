"""`--node`: the piece of source that a request is about goes along with it."""

import json

from bridge.extras import how_to_add

SOURCE = """\
class Cart:
    def total(self):
        return 0
"""


def test_the_request_carries_the_node(project):
    project.write("src/cart.py", SOURCE)

    ran = project.run("submit", "Is it right?", "--node", "src/cart.py::Cart.total")

    text = "def total(self):\n    return 0"
    place = {"file": "src/cart.py", "line": 2}
    name = {"name": "Cart.total", "type": "method"}
    (file,) = project.state.glob("requests/*.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(file.read_text())["node"] == {**place, **name, "text": text}
    # An agent without a definition reads it, too.
    spoken = project.bridge.status(ran.out.strip()).request.spoken
    assert (
        spoken == f"Is it right?\n\nsrc/cart.py, line 2, method Cart.total:\n\n{text}"
    )


def test_error_no_such_node_asks_nothing(project):
    project.write("src/cart.py", SOURCE)

    ran = project.run("submit", "Is it right?", "--node", "src/cart.py::Cart.totl")

    ran.refuses(2, "did you mean 'Cart.total'?")
    assert not list(project.state.glob("requests/*.json"))


def test_error_a_node_without_the_extra_asks_nothing(project, tmp_path):
    """Something must be corrected first, so exit 2: see state/FAILURES.md."""
    project.write("src/cart.py", SOURCE)
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


def test_a_node_is_enough_for_an_agent_whose_template_says_the_rest(project):
    project.write("src/cart.py", SOURCE)
    text = "name: reviewer\nprompt: 'Review this:\n  {{ node_text }}'\n"
    project.write("agents/reviewer.yaml", text, own=True)

    ran = project.run("submit", "reviewer", "--node", "src/cart.py::Cart.total")

    assert ran.code == 0, ran
    spoken = project.bridge.status(ran.out.strip()).request.spoken
    assert spoken.startswith("Review this: def total(self):")
