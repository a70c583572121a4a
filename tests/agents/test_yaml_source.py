"""The YAML of a definition: plain values with their lines, or a problem."""

from pathlib import Path

import pytest
import yaml

from bridge.agents.yaml_source import MAX_DEPTH, Tree, read_tree

FILE = Path("f.yaml")


def read(text: str) -> Tree:
    return read_tree(text, FILE)


def problems(text: str) -> list[str]:
    return [f"{problem}".removeprefix("f.yaml:") for problem in read(text).problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -1.5e3\nb: .5\nc: 1e3", {"a": -1500.0, "b": 0.5, "c": 1000.0}),
        ("a: true\nb: FALSE\nc: ~\nd:", {"a": True, "b": False, "c": None, "d": None}),
        ("a: 2026-01-01\nb: 12:30", {"a": "2026-01-01", "b": "12:30"}),
        ("a: 123456789012345678", {"a": 123456789012345678}),
        ("a: 010\nb: 0x1F", {"a": "010", "b": "0x1F"}),
        ("a: 'yes'\nb: \"off\"\nc: '5'", {"a": "yes", "b": "off", "c": "5"}),
        ("1: a\nnull: b\non: c", {"1": "a", "null": "b", "on": "c"}),
        ("a: &x [1, {b: 2}]\nc: *x", {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_plain_values(text, value):
    """As in JSON: whatever YAML readers disagree about is a string or a problem."""
    tree = read(text)

    assert (tree.value, tree.problems) == (value, [])


TAG = "is not supported; write plain YAML"
BOOLEAN = "quote it if it is text, or else write true or false"
ERRORS = {
    "a: 1\nb: 2\na: 3": ["3: a: duplicate key; the first is on line 1"],
    "a:\n  b: 1\n  b: 2": ["3: a.b: duplicate key; the first is on line 2"],
    "x: !!python/object:os.x []": [f"1: x: the tag '!!python/object:os.x' {TAG}"],
    "x: [a, !secret b]": [f"1: x[1]: the tag '!secret' {TAG}"],
    "a: &b {c: 1}\nd:\n  <<: *b": [
        "3: d: merge keys are not supported; write the fields out"
    ],
    "a: 1\n---\nb: 2": ["2: a second document begins here; a file has one"],
    "": ["1: the file is empty"],
    "a: [1": ["1: not YAML: did not find expected ',' or ']'"],
    "a: yes\nb: Off": [f"1: a: yes: {BOOLEAN}", f"2: b: Off: {BOOLEAN}"],
    "a: *b": ["1: no value above has the name of this alias"],
    "a: &b [*b]": ["1: nested more than 50 levels deep"],
    "[" * 5000: ["1: nested more than 50 levels deep"],
    "? [a]\n: b": ["1: a key must be a plain word"],
    "a: 1\nb: !!int 4": [f"2: b: the tag '!!int' {TAG}"],
    "a: !!str 5": [f"1: a: the tag '!!str' {TAG}"],
    "a: ! x": [f"1: a: the tag '!' {TAG}"],
    "!!str a: 1": [f"1: the tag '!!str' {TAG}"],
    "a: 1234567890123456789012": ["1: a: the number has more than 18 digits"],
    "a: 1e999": ["1: a: the number is too large"],
    "a: &b 1\nc: &b 2": ["2: a value above has the same &name"],
    "\n" + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2): [
        "2: nested more than 50 levels deep"
    ],
}


@pytest.mark.parametrize("text", ERRORS, ids=lambda t: t[:30])
def test_errors(text):
    """All of them at once, each with its line and path."""
    assert problems(text) == ERRORS[text]


def test_error_alias_bomb():
    """Nine aliases of nine aliases of …: their values count each time."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]

    tree = read("\n".join(lines))

    [problem] = tree.problems
    assert tree.value is None
    assert str(problem).endswith("more than 20,000 values, including those of aliases")


def test_which_duplicate_key_counts():
    text = "a: 1\na: 3"

    first = read_tree(text, FILE)
    last = read_tree(text, FILE, last_counts=True)

    assert (first.value, first.line_of(("a",))) == ({"a": 1}, 1)
    assert (last.value, last.line_of(("a",))) == ({"a": 3}, 2)


def test_the_line_of_a_value_is_that_of_its_key():
    tree = read("a:\n  - b: 1\n\n    c: |\n\n      text\n")

    assert tree.line_of(("a", 0, "c")) == 4
    # For a missing value, the nearest one around it.
    assert tree.line_of(("a", 0, "nothing", 7)) == 2


def test_the_lines_of_a_block_begin_below_its_key():
    tree = read("a:\n  - b: 1\n\n    c: |\n\n      text\n")

    tree.error_on_line(("a", 0, "c"), 2, "wrong")
    tree.error_on_line(("a", 0, "b"), 1, "wrong")

    assert [problem.line for problem in tree.problems] == [6, 2]


def test_error_half_of_a_surrogate_pair_in_the_text():
    """It ended in a traceback."""
    tree = read('a: b\nc: "x\ud800"')

    assert tree.value is None
    expected = ["f.yaml:2: half of a surrogate pair is not a character"]
    assert list(map(str, tree.problems)) == expected


def test_error_half_of_a_surrogate_pair(monkeypatch):
    """PyYAML without libyaml accepts it."""
    pure = type("Pure", (yaml.SafeLoader,), {"resolve": lambda *_given: None})
    monkeypatch.setattr("bridge.agents.yaml_source._Loader", pure)

    tree = read('a: "x\\ud800"')

    assert tree.value == {"a": "x?"}
    expected = ["f.yaml:1: a: half of a surrogate pair is not a character"]
    assert list(map(str, tree.problems)) == expected


def test_error_nested_too_deep_without_libyaml(monkeypatch):
    pure = type("Pure", (yaml.SafeLoader,), {"resolve": lambda *_given: None})
    monkeypatch.setattr("bridge.agents.yaml_source._Loader", pure)

    assert problems("[" * 5000) == ["1: nested more than 50 levels deep"]
