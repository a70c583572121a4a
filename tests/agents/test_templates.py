"""Templates: what they can do, and what they cannot reach."""

import tracemalloc

import pytest
from counted import at_most

from bridge.agents import templates
from bridge.agents.templates import (
    _ENVIRONMENT,
    MAX_CHARS,
    TemplateFailed,
    keys_in,
    names_in,
    render,
)

VALUES = {
    "task": "{{ secret }} {% raw %}",
    "list": [1, 2, {"b": "c"}],
    "map": {"items": 5, "k": None},
    "off": None,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ task }}", "{{ secret }} {% raw %}"),
        ("{{ map.items }} {{ map['items'] }}", "5 5"),
        ("{{ list[2].b }}{{ list[-1]['b'] }}", "cc"),
        ("{% for x in list %}{{ loop.index }}.{% endfor %}", "1.2.3."),
        ("{{ off is none }} {{ map.x | default('y') }}", "True y"),
        ("{{ 2 * 3 + 1 }} {{ 'a' + 'b' ~ 1 }} {{ 7 % 4 }}", "7 ab1 3"),
        ("{{ ['a', 'b'] | join('-') }}", "a-b"),
        ("{{ 'aXa' | replace('X', '{{ y }}') }}", "a{{ y }}a"),
        ("{{ map | tojson }}", '{"items": 5, "k": null}'),
        ("{{ [1] | tojson(indent=900000000) }}", "[\n        1\n]"),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{{ range(3) | list }}", "[0, 1, 2]"),
        ("{{ 4611686018427387904 * 2 }}", f"{2**63}"),
        ("{{ task[3:9] }}", "secret"),
        ("{% set x %}a{{ off }}{% endset %}{{ x }}", "aNone"),
    ],
)
def test_what_a_template_can_do(template, text):
    """Template syntax inside a value stays as it is."""
    assert render(template, VALUES) == text


ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ ().__class__.__bases__[0].__subclasses__() }}",
    "{{ task.format(1) }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ ''|attr('__class__') }}",
    "{{ list|map(attribute='__class__')|list }}",
    "{{ list|selectattr('__class__')|list }}",
    "{{ [list]|sum(attribute='__class__') }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ lipsum.__globals__['os'] }}",
    "{{ namespace }}",
    "{{ range.__self__ }}",
    "{% for x in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}",
    "{% for x in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% macro m() %}{{ caller.__globals__ }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{% endmacro %}{{ m.__init__ }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends '/etc/passwd' %}",
    "{{ list.append(1) }}",
    "{{ map.update({'a': 1}) }}",
    "{{ context }}",
    "{{ '%c' % 65 }}",
]


@pytest.mark.parametrize("template", ESCAPES)
def test_error_a_template_cannot_leave_the_sandbox(template):
    with pytest.raises(TemplateFailed):
        render(template, VALUES)

    assert VALUES["list"] == [1, 2, {"b": "c"}]


BOMBS = [
    "{{ 'a' * 10**10 }}",
    "{{ 9 ** 9 ** 9 }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
    "{% set a = [1, 2, 3, 4] %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
    "{% set a = 9999999 %}" + "{% set a = a * a %}" * 40 + "{{ a }}",
    "{% set a %}aa{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40,
    "{% macro m(a) %}{{ a }}{{ a }}{% endmacro %}{% set a = 'aaaaaaaaaa' %}"
    + "{% set a = m(a) %}" * 40,
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = [a, a]|join %}" * 40 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a|replace('a', 'aa') %}" * 40,
    "{{ range(1000000000) | list }}",
    "{{ range(10000) | join('" + "x" * 1000 + "') }}",
    "{{ 'x' | center(1000000000) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ 'x' | format }}",
    "{% for x in range(10000) %}" + "x" * 1000 + "{% endfor %}",
    "{% for x in range(10000) %}{% for y in range(10000) %}{% endfor %}{% endfor %}",
    "{% for x in range(9) recursive %}{{ loop(range(9)) }}{% endfor %}",
    "{% macro m(n) %}{{ m(n - 1) ~ m(n - 1) if n else n }}{% endmacro %}{{ m(60) }}",
    "{% set a %}{% for x in range(9999) %}{{ text }}{% endfor %}{% endset %}",
]


@pytest.mark.parametrize("template", BOMBS, ids=lambda t: t[:40])
def test_error_too_much(template, monkeypatch):
    """It is stopped before it takes much memory or work."""
    monkeypatch.setattr(templates, "MAX_CHARS", 40_000)
    monkeypatch.setattr(templates, "_MAX_WORK", 200_000)
    values = {**VALUES, "text": ["x" * 1000]}
    tracemalloc.start()
    try:
        with at_most(lines=1_000_000), pytest.raises(TemplateFailed):
            render(template, values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 5_000_000


def test_reading_a_template_evaluates_nothing(monkeypatch):
    """A list of agents reads templates that nobody has trusted."""
    computed = []
    for name in ("replace", "title"):
        monkeypatch.setitem(_ENVIRONMENT.filters, name, lambda *a: computed.append(a))

    found = names_in("{{ 'a' | replace('a', 'aaaaaaaaaa') | title }}")

    assert (found, computed) == (frozenset(), [])


def test_a_long_result():
    assert len(render("{{ x }}", {"x": "y" * MAX_CHARS})) == MAX_CHARS


@pytest.mark.parametrize(
    ("template", "message", "line"),
    [
        ("{{ tsk }}", "'tsk' is undefined", None),
        ("{{ map.x }}", "there is no 'x' in it", None),
        ("a\n{% if %}", "Expected an expression, got 'end of statement block'", 2),
        ("{{ x|nothing }}", "No filter named 'nothing'.", 1),
    ],
)
def test_error_with_its_line(template, message, line):
    with pytest.raises(TemplateFailed) as failed:
        render(template, VALUES)

    assert (str(failed.value), failed.value.line) == (message, line)


def test_the_names_in_a_template():
    template = "{{ a.b }}{% for x in c %}{{ x }}{% endfor %}{% set d = 1 %}{{ d }}"

    assert names_in(template) == {"a", "c"}


@pytest.mark.parametrize(
    ("template", "keys"),
    [
        ("{{ a.x }}{{ a['y'] }}{{ a.z.more }}", {"x", "y", "z"}),
        ("{% if a.x is defined %}{{ b.y }}{% endif %}", {"x"}),
        ("{{ b.a }}{{ x }}", set()),
        ("{{ a }}", None),
        ("{{ a.x }}{{ a[b] }}", None),
        ("{% set c = a %}{{ c.x }}", None),
        ("{{ a.get('x') }}", None),
    ],
)
def test_the_keys_that_a_template_reads(template, keys):
    """None means that it may read any key."""
    assert keys_in(template, "a") == keys
