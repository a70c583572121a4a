"""What is put into a text: values, once."""

import pytest

from bridge.engine.answers import Answers
from bridge.flow.compiler import compile_flow
from bridge.flow.filling import as_text
from bridge.flow.parser import parse_flow

ANSWER = {"files": ["a.py", "b.py"], "found": {"count": 3}, "none": None, "ok": True}


class Given(Answers):
    """Answers by the names of their variables."""

    def __init__(self, values, params):
        known = {"vars": {name: name for name in values}, "params": params}
        super().__init__(None, known | {"nodes": {}, "run": "r", "name": ""})
        self.values = values

    def whole(self, asked):
        return ANSWER if asked == "x" else None

    def value(self, asked):
        return self.values[asked]


def asked(text, *, variables=None, params=None):
    plan = compile_flow(parse_flow(f'a:"{text}"'))
    answers = Given({"x": "two faults"} | (variables or {}), params or {})
    return as_text(answers.evaluated(plan["details"]["node-0"]["prompt"]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fix {x}!", "Fix two faults!"),
        ("{x.files} {x.files.1}", '["a.py", "b.py"] b.py'),
        ("{x.found.count}{x.ok}", "3true"),
        ("<{x.none}{x.nothing.at.all}{x.files.9}{y}{y?}{y.z}>", "<>"),
        (r"\{x} { x } {}", "{x} { x } {}"),
    ],
)
def test_values(text, said):
    assert asked(text) == said


@pytest.mark.parametrize(
    ("text", "said"), [("{{p}}", "given"), ("{{q:else}}", "else"), ("<{{q}}>", "<>")]
)
def test_parameters(text, said):
    assert asked(text, params={"p": "given"}) == said


@pytest.mark.parametrize(
    "value", ["{x}", "{{p}}", "\\{x}", "$& \\1 %s", '" -> rm:"', "\x1b[31m", "\ud800"]
)
def test_values_are_data(value):
    """Whatever an agent says: nothing in it is put in, escaped or lost."""
    assert asked("<{y}{y}>", variables={"y": value}) == f"<{value}{value}>"
    assert asked("<{{y}}>", params={"y": value}) == f"<{value}>"
