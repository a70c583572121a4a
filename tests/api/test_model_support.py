"""Which model names a route takes, judged by the name alone."""

import pytest

from bridge.api.model_support import check_here, check_model, check_schema
from bridge.config import Settings
from bridge.errors import ExtraMissing, InvalidRequest
from bridge.protocol.request import Request

TAKEN = [
    ("host", "haiku", True),
    ("host", "inherit", False),
    ("claude", "claude-opus-5-5", True),
    ("local", "inherit", True),
    ("local", "x.gguf", True),
    ("endpoint", "openai:q", True),
    ("endpoint", "haiku", True),
    # A definition only prefers its model; another answers degraded.
    ("claude", "x.gguf", False),
    ("endpoint", "x.gguf", False),
]
REFUSED = [
    ("local", "openai:q", False, "a model of a server is for --route endpoint"),
    ("host", "openai:q", True, "a model of a server is for --route endpoint"),
    ("endpoint", "x.gguf", True, "a model file is for --route local"),
    ("local", "haikuu", True, "; did you mean 'haiku'?"),
    ("endpoint", "qwen", True, " or openai:NAME"),
    ("host", "haikuu", False, "did you mean haiku?"),
]


@pytest.mark.parametrize(("route", "model", "is_asked"), TAKEN)
def test_a_model_that_a_route_takes(route, model, is_asked):
    check_model(route, model, is_asked=is_asked)


@pytest.mark.parametrize(("route", "model", "is_asked", "end"), REFUSED)
def test_error_a_model_that_a_route_does_not_take(route, model, is_asked, end):
    """The message names what the route takes, where that is known."""
    with pytest.raises(InvalidRequest) as caught:
        check_model(route, model, is_asked=is_asked)

    assert str(caught.value).endswith(end)


def test_without_the_extra_any_schema_passes(monkeypatch):
    """Another process may have the extra; this one cannot tell."""

    def missing():
        raise ExtraMissing("local", "llama-cpp-python")

    monkeypatch.setattr("bridge.llama.model_files.require_extra", missing)
    schema = {"type": "string", "pattern": "(?<=a)b"}

    check_schema("local", Request(prompt="x", request_id="a", schema=schema), None)


def test_error_what_a_local_model_cannot_serve(tmp_path):
    """It is said before anything is asked."""
    gone = tmp_path / "x.gguf"
    asked = Request(prompt="x", request_id="a", model=str(gone))

    with pytest.raises(InvalidRequest) as caught:
        check_here("local", asked, None, Settings(home=tmp_path))
    assert str(caught.value) == f"model '{gone}': {gone}: no such file"

    lookbehind = {"properties": {"a": {"pattern": "(?<=a)b"}}}
    asked = Request(prompt="x", request_id="a", schema=lookbehind)
    with pytest.raises(InvalidRequest) as caught:
        check_here("local", asked, None, Settings(home=tmp_path))
    assert str(caught.value).startswith(
        "schema.properties.a: a local model cannot be held to it: the schema cannot be "
    )
