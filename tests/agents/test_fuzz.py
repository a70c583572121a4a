"""Any file gives a definition or problems, never an exception."""

import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from bridge.agents.agent_names import declares
from bridge.agents.load import Loaded, load
from bridge.agents.templates import MAX_CHARS, TemplateFailed, render
from bridge.agents.yaml_agent import AgentFile
from bridge.agents.yaml_source import read_tree

QUICK = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck)
)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
# Our own fields with any values.
nearly = st.dictionaries(
    st.sampled_from([*AgentFile.model_fields, "initial_context", "promt"]),
    plain | st.sampled_from(["a", "haiku", "{{ task }}", "{% if", ["Read"], 3]),
    max_size=8,
)
words = st.text(
    st.sampled_from("ab:-[]{}&*!|>'\"%@?,#~<= \n\t0123.\\\u0000\u0085\ufeff"),
    max_size=60,
)


def loaded(data: bytes, suffix: str) -> Loaded:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"fuzzed{suffix}")
        file.write_bytes(data)
        found = load(file, "project")
    assert (found.definition is None) == bool(found.errors)
    assert all(problem.line >= 1 and str(problem) for problem in found.problems)
    if found.definition is not None:
        # A search by name finds what a list shows.
        assert declares(data, found.definition.name)
    return found


@QUICK
@given(st.binary(max_size=80), st.sampled_from([".yaml", ".md"]))
def test_any_bytes(data, suffix):
    loaded(data, suffix)


@QUICK
@given(words, st.sampled_from([".yaml", ".md"]))
@example("a: &a [*a, *b]", ".yaml")
@example("? ? a\n: b\n: c", ".yaml")
def test_any_words(text, suffix):
    loaded(text.encode(), suffix)
    loaded(f"---\n{text}\n---\nbody".encode(), suffix)


@QUICK
@given(nearly)
@example({"name": "a", "timeout": float("inf")})
@example({"name": "a", "output_schema": {"$ref": "http://x/"}})
def test_anything_in_our_fields(value):
    text = yaml.dump(value, allow_unicode=True)

    loaded(text.encode("utf-8", "replace"), ".yaml")


@QUICK
@given(plain.filter(lambda v: v is not None))
def test_quoted_strings_stay_strings(value):
    """Everything else is read as JSON would be."""
    text = yaml.dump(value, default_style='"', allow_unicode=False)

    tree = read_tree(text, Path("f"))

    if not tree.problems:
        assert tree.value == value


@QUICK
@given(
    st.text(st.sampled_from("{}%#ab.|~*+'\" _()[]0=\nrangesetforindif"), max_size=50)
)
@example("{% for a in b %}{{ a }}{% endfor %}")
def test_any_template(template):
    values = {"a": "x", "b": [1, {"c": "{{ a }}"}]}

    try:
        out = render(template, values)
    except TemplateFailed:
        return

    assert len(out) <= MAX_CHARS


@pytest.mark.parametrize("size", [256 * 1024, 256 * 1024 + 1])
def test_the_size_of_a_file_is_bounded(size):
    text = b"name: a\nprompt: say {{ task }}\n#"

    found = loaded(text + b"x" * (size - len(text)), ".yaml")

    assert [p.message for p in found.errors] == (
        [] if size == 256 * 1024 else ["larger than 256 KiB"]
    )
