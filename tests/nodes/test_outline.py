"""The pieces of a source: whatever the source, found once and in bounded work."""

from collections import Counter
from typing import Any

import pytest
from counted import lines_of
from hypothesis import given
from hypothesis import strategies as st

from bridge.nodes import outline as outlining
from bridge.nodes.outline import MAX_NAME_BYTES, MAX_NESTED, _parser, outline

pytestmark = pytest.mark.slow


def test_a_broken_source_still_has_names():
    """A file that is being written has syntax errors more often than not."""
    broken = b"def whole():\n    return 1\n\ndef half(:\n    x = (\n"

    assert outline(broken, "python")[0].name == "whole"


@given(st.binary(max_size=300), st.sampled_from(["python", "javascript"]))
def test_any_bytes_have_an_outline(source, language):
    """Whatever is in a file, looking into it ends well."""
    for piece in outline(source, language):
        assert piece.line >= 1
        assert piece.name


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (b"(" * 50_000, "python"),
        (b"class A:\n" * 300, "python"),
        (b"{" * 50_000, "javascript"),
    ],
)
def test_a_deep_source_is_read(source, language):
    """Nesting is not recursion here."""
    outline(source, language)


@pytest.mark.parametrize(
    ("piece", "language"),
    [
        pytest.param(b"def a():\n    pass\n", "python", id="generated"),
        pytest.param(b"var a=function(){return 1};", "javascript", id="minified"),
    ],
)
def test_the_work_grows_with_the_source_and_not_with_its_square(piece, language):
    """What a tool wrote may have ten thousand pieces: a minute, when each saw all."""
    outline(piece, language)  # loads the grammar
    few = lines_of(outline, piece * 200, language)

    assert lines_of(outline, piece * 2_000, language) < 11 * few


DEEP = 20_000
# What a tree can be asked without walking down to the node again, as `parent` does.
DOWNWARDS = frozenset(
    {"parse", "root_node", "named_children", "child_by_field_name", "type", "text"}
    | {"start_byte", "end_byte", "start_point"}
)


class Watched:
    """A parser, a tree or a node; counted is what it is asked for."""

    def __init__(self, real: Any, seen: Counter[str]) -> None:
        self._real, self._seen = real, seen

    def __getattr__(self, name: str) -> Any:
        self._seen[name] += 1
        found = getattr(self._real, name)
        if callable(found):
            return lambda *args: self._with(found(*args))
        return self._with(found)

    def _with(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self._with(each) for each in found]
        is_part = hasattr(found, "named_children") or hasattr(found, "root_node")
        return Watched(found, self._seen) if is_part else found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("const a = () => {" * DEEP + "}" * DEEP, MAX_NESTED),
        pytest.param(
            *("class A{m(){" * DEEP + "}}" * DEEP, MAX_NESTED), marks=pytest.mark.full
        ),
        pytest.param(
            *("x = {" + "a: () => ({" * DEEP + "})" * DEEP + "}", MAX_NESTED),
            marks=pytest.mark.full,
        ),
        ("(" * DEEP + "a" + " = function () {}).b" * DEEP, 10),
        ("const a = () => 1;" * DEEP, DEEP),
    ],
    ids=["functions", "classes", "pairs", "names within names", "one line"],
)
def test_however_deep_a_source_it_is_walked_once(source, count, monkeypatch):
    """Each piece asked the tree for its parent, which walks down from the top."""
    parsed = _parser("javascript")
    seen = Counter()
    monkeypatch.setattr(outlining, "_parser", lambda _: Watched(parsed, seen))

    pieces = outline(source.encode(), "javascript")

    assert len(pieces) == count
    assert set(seen) <= DOWNWARDS
    # Once for its own sake, once where it may belong to a definition in it.
    assert seen["named_children"] <= 2 * seen["type"]


def test_what_nests_too_deeply_is_no_piece():
    source = "function f() {\n" * 60 + "}\n" * 60

    names = [piece.name for piece in outline(source.encode(), "javascript")]

    assert names == [".".join("f" * n) for n in range(1, MAX_NESTED + 1)]


def test_what_has_no_short_name_is_no_piece():
    source = f"{'a' * (MAX_NAME_BYTES + 1)} = () => 1; b = () => 2"

    names = [piece.name for piece in outline(source.encode(), "javascript")]

    assert names == ["b"]
