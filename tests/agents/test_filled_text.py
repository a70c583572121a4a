"""Texts of rules say what jinja2 would say, whether it is asked or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.agents.filled_text import filled_in
from bridge.agents.templates import render

SCOPE = {
    "command": "x {{ command }} {% y %}\n",
    "tool_input": {"command": "a", "n": 3, "none": None, "items": "i"},
    "agent": None,
}
SAME = [
    "plain", "line\n", "two\n\n", "{{ command }}", "{{command}}!", "{{ tool_input.n }}",
    "a {{ tool_input.command }} b {{ command }}\n", "{% if agent %}x{% endif %}",
    "{{ command|upper }}", "{# x #}", "{{ tool_input.items }}", "{{ agent }}", "{",
    "{{ tool_input.none }}", "}}", "{{ tool_input }}", "{{ tool_input['n'] }}",
    "{{\tcommand }}", "{{- command }} x",
]  # fmt: skip


@pytest.mark.parametrize("template", SAME)
def test_as_jinja2_writes_it(template):
    assert filled_in(template, SCOPE) == render(template, SCOPE)


@pytest.mark.parametrize(
    "template", ["{{ nothing }}", "{{ tool_input.gone }}", "{{ x", "{{ command.y.z }}"]
)
def test_error_what_cannot_be_filled_in(template):
    with pytest.raises(ValueError, match="its template cannot be filled in: "):
        filled_in(template, SCOPE)


@given(st.text(alphabet="{}% #a.\ncommand", max_size=30))
def test_any_template(template):
    try:
        wanted = render(template, SCOPE)
    except Exception:  # noqa: BLE001 - whatever it is, it is the same here
        with pytest.raises(ValueError):  # noqa: PT011
            filled_in(template, SCOPE)
        return
    assert filled_in(template, SCOPE) == wanted
