"""A rules file is read whole: every problem at once, each at its place."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seedwords import RULE as SEED

from bridge.rules.rule_file import Below, read_rules

FILE = Path("rules.yaml")


def read(text, layer="user", below=None, **how):
    return read_rules(text, FILE, layer, below or Below(), **how)


def problems(text, **how):
    return [str(problem) for problem in read(text, **how).problems]


SAMPLES = Path(__file__).with_name("samples")
MANY = (SAMPLES / "many.yaml").read_text()


def test_error_every_problem_at_once():
    def unknown(name):
        return None if name == "x" else f"no agent is named {name!r}"

    said = "\n".join(problems(MANY, check_agent=unknown))
    assert said + "\n" == (SAMPLES / "many.txt").read_text()


NEAR = "'tool_name' or 'tool_input'"
MODELS = [
    ("haiku", ""),
    ("'{{ variables.x }}'", ""),
    ("hiaku", "6: no model is named 'hiaku'; did you mean 'haiku'?"),
    ("'{{ tool_nam }}'", f"6: unknown name 'tool_nam'; did you mean {NEAR}?"),
]


@pytest.mark.parametrize(("model", "said"), MODELS)
def test_the_model_of_an_agent_is_checked(model, said):
    found = read(SEED + f"      model: {model}\n").problems

    assert "".join(f"{each.line}: {each.message}" for each in found) == said


def test_a_broken_rule_blocks_only_if_it_was_to_block():
    codes = {rule.name: rule.code for rule in read(MANY).rules}

    assert codes["on_before_tool[1]"]["broken"].startswith("9:5: unknown field")
    assert codes["on_before_tool[2]"]["broken"].startswith("13:13: unknown name")
    assert "tools" not in codes["on_before_tool[2]"]
    assert codes["on_after_tool[0]"] is None


ONE = "on_before_tool: [{%s, block: x}]"


WRONG_FIELDS = [
    ("priority: high", "expected an integer, got a string ('high')"),
    ("priority: 5000", "must be less than or equal to 1000, got an integer (5000)"),
    ("enabled: maybe", "expected true or false, got a string ('maybe')"),
    ("on_error: ignore", "expected 'block' or 'skip', got a string ('ignore')"),
    ("when: 3", "expected a condition, got an integer (3)"),
    ("when: [x]", "expected a condition, got a list"),
    ("tools: {}", "expected names of tools, got a mapping"),
    ("required: 1", "expected true or false, got an integer (1)"),
    ("when: ''", "a condition is needed here"),
    (f"when: {'(' * 300}", "this ( is never closed"),
    (f"when: {'(' * 300}x{')' * 300}", "nested too deeply: at most 40 levels"),
    ("when: prompt + 1", "'+': conditions have no arithmetic"),
    ("when: open('x')", "unknown function 'open'"),
    ('when: \'runs(command, "ls", [" "])\'', "takes names of programs"),
    ("when: no", "no: quote it if it is text, or else write true or false"),
    ("spawn_agent: x", "expected a mapping, got a string ('x')"),
    ("spawn_agent: {agent: x}", "is missing"),
    ("increment_variable: [x]", "expected a variable, or numbers by variable"),
    ("set_variable: {a b: 1}", "'a b' is no name of a variable: it begins with"),
]


@pytest.mark.parametrize(("field", "said"), WRONG_FIELDS)
def test_error_a_field_of_the_wrong_kind(field, said):
    (problem, *_) = read(ONE % field).problems

    assert said in str(problem)
    assert problem.line == 1
    assert problem.column


def test_error_yes_is_one_problem():
    """It is not YAML 1.2's word for true, and what to write is said once."""
    (said,) = problems("on_stop: [{block: x, required: yes}]")

    assert "1:22: on_stop[0].required: yes: quote it if it is text" in said


NO_RULES = [
    ("- x", "rules.yaml:1:1: expected a mapping of fields, got a list"),
    ("on_stop: x", "rules.yaml:1:1: on_stop: expected a list, got a string ('x')"),
    ("on_stop: [x]", "rules.yaml:1:11: on_stop[0]: expected a mapping of fields"),
    ("on_stop: [{}]", "rules.yaml:1:11: on_stop[0]: does nothing: give it"),
    ("a: [", "rules.yaml:1: not YAML: "),
    ("a: !!python/object:x {}", "is not supported; write plain YAML"),
    ("on_stop: &a [*a]", "nested more than 50 levels deep"),
    ("[" * 100 + "]" * 100, "nested more than 50 levels deep"),
]


@pytest.mark.parametrize(("text", "said"), NO_RULES)
def test_error_a_file_that_holds_no_rules(text, said):
    assert said in "\n".join(problems(text))


def test_a_file_of_ten_thousand_rules_is_refused_by_name():
    text = "on_stop:\n" + "  - {when: depth, block: x}\n" * 10_000

    why = "more than 20,000 values, including those of aliases"
    assert problems(text)[0].endswith(why)


NAMED = {("on_stop", "done"): {"name": "done", "when": "depth", "block": "x"}}


def test_a_rule_of_the_layer_below_is_switched_on_by_its_name():
    below = Below(named=NAMED)

    (rule,) = read("on_stop: [{name: done, priority: 3}]", below=below).rules
    (other,) = read("on_stop: [{name: done, enabled: false}]", below=below).rules

    assert (rule.fields.enabled, other.fields.enabled) == (True, False)
    assert (rule.fields.priority, rule.code["block"]) == (3, "x")


def test_a_project_cannot_touch_the_users_variables():
    below = Below(variables={"mine": 1}, kept=frozenset({"mine"}))
    text = "variables: {mine: 2}\non_stop: [{set_variable: {mine: 3}}]"

    why = "your own rules.yaml sets this variable: a project cannot"

    assert problems(text, layer="project", below=below) == [
        f"rules.yaml:1:13: variables.mine: {why}",
        f"rules.yaml:2:27: on_stop[0].set_variable.mine: {why}",
    ]
    assert problems(text, below=below) == []


SCALARS = ["oops", "'oops'", '"a == \\"x\\" or oops"', "'a == ''x'' or oops'"]


@pytest.mark.parametrize("scalar", SCALARS)
def test_columns_are_those_of_the_file(scalar):
    line = f"on_stop: [{{ when: {scalar}, block: x}}]"

    (*_, problem) = read(f"variables: {{a: 1}}\n{line}").problems

    assert (problem.line, problem.column) == (2, line.index("oops") + 1)


KEYS = (
    "on_stop on_before_tool variables when block tools spawn_agent set_variable agent "
    "prompt name"
)
YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(YAML)
def test_nothing_that_yaml_can_hold_raises(value):
    import yaml

    found = read(yaml.safe_dump(value))

    for rule in found.rules:
        assert rule.code is None or found.errors or "broken" not in rule.code


FROM_ELSEWHERE = [
    ("PreToolUse: []", "unknown event; it is named on_before_tool here"),
    ("on_stop: [{name: nudge}]", "; the rule nudge is one of on_before_tool, not"),
    ("on_before_tool: [{name: nuge}]", "; did you mean 'nudge'?"),
    ("on_before_tool: [{tools: Edit|Write, block: x}]", "write [Edit, Write]"),
    ("on_stop:\n  - block: a: b", "': ' inside a text; put the text in quotes"),
    ("on_stop:\n\t- block: a", "only spaces may stand, no tab"),
    ("on_stop: [{when: variables.x == Bash, block: x}]", 'in quotes: "Bash"'),
    ("on_stop: [{when: variables.x == Null, block: x}]", "did you mean 'null'?"),
    ("on_stop: [{when: cwd ~= 'x', block: x}]", "matches(text, glob)"),
    ("on_stop: [{when: cwd.contains('x'), block: x}]", 'write "part" in text'),
    (
        'on_stop: [{when: \'cwd.endswith("a", "b")\', block: x}]',
        "several texts are a list: [a, b]",
    ),
]


@pytest.mark.parametrize(("text", "said"), FROM_ELSEWHERE)
def test_error_what_people_bring_from_elsewhere(text, said):
    named = {("on_before_tool", "nudge"): {"block": "x"}}

    assert said in problems(text, below=Below(named=named))[0]


NEVER_HOLDS = [
    ("when: tool_name == 'bash'", "no tool is named 'bash'; did you mean 'Bash'"),
    ("when: tool_name in ['Edti']", "no tool is named 'Edti'; did you mean 'Edit'"),
    ("when: tool_name == 'Edit|Write'", "write tool_name in ['Edit', 'Write']"),
    ("when: 'matches(command, \"git push\")'", "a part is '*git push*'"),
    ("required: true", "is about spawn_agent, which this rule does not have"),
    ("when: agent == 'researchr'", "no agent is named 'researchr'"),
    ("when: agent in ['a', 'researchr']", "no agent is named 'researchr'"),
    ('when: \'matches(command, ["a*", "b"])\'', "a part is '*b*'"),
    ("when: 'matches(command, \"^git .*$\")'", "not a regular expression"),
    ("when: 'runs(command, \"pytest -q\")'", "'-q' is no part of a name"),
    ("when: 'runs(command, [\"git*\"])'", "'*' is no part of a name"),
    ("when: variables.serious", "nothing declares or sets variables.serious; did"),
    ("when: 'runs(command, \"ls\")'\n    tools: [Edit]", "have a command"),
    ("when: tool_name == 'Edit' and command", "no tool that the rule is about"),
]


@pytest.mark.parametrize(("rule", "said"), NEVER_HOLDS)
def test_a_warning_of_what_can_never_hold(rule, said):
    def unknown(name):
        return f"no agent is named {name!r}" if name == "researchr" else None

    (found,) = read(
        f"on_before_tool:\n  - block: x\n    {rule}\n",
        below=Below(variables={"serious_": 1}),
        check_agent=unknown,
    ).problems

    assert (found.level, found.line) == ("warning", 3)
    assert said in found.message


@pytest.mark.parametrize(
    "when",
    [
        "variables.task", "tool_name != 'Edt'", "agent != 'other'", "command", "false",
        "matches(cwd, ['*/.*', 'a?'])", "runs(command, 'git push', variables.x)",
        "tool_name == 'mcp__x__y'", "tool_name == 'Edit' or command", "depth > 0",
        "1 < depth <= 2", "depth != 1 and depth < 2", "depth in [1, '1'] and depth",
        "event.data.effort.level == 'low'", "event.data.get('tool_use_id', 1)",
        "event.source == 'PreToolUse' and event.name != 'on_stop'",
        "agent == 'researcher' and agent.startswith('re')", "agent is None or agent",
        "command == 'x' and runs(command, 'x')", "session.permission_mode == 'plan'",
        "variables.a != 'x' and variables.a != 'y'", "variables.a is None",
        "0.1 < variables.a < 0.3", "variables.a > 1 and variables.a < 1.0001",
        "variables.a > 0 and variables.a < 1 and variables.a != 0.5",
        "variables.a > 1e300", "event.data.command_name == 'deploy'",
    ],
)  # fmt: skip
def test_no_warning_of_what_can_hold(when):
    assert problems(f'on_before_tool: [{{block: x, when: "{when}"}}]') == []


_DATA = "event.data has no"
_NEVER = "this is never true:"


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("event.data.tool", f"{_DATA} 'tool' in on_before_tool; did you mean 'tool_"),
        ("event.data.get('arguments').x", f"{_DATA} 'arguments' in on_before_tool"),
        ("not event['data'].prompt", f"{_DATA} 'prompt' in on_before_tool"),
        ("'result' in event.data", f"{_DATA} 'result' in on_before_tool"),
        ("event.type == 'x'", "event has no 'type' in on_before_tool"),
        ("session.mode", "session has no 'mode' in on_before_tool"),
        ("event.name == 'PreToolUse'", f"{_NEVER} event.name is 'on_before_tool' "),
        ("'resume' == event.source", f"{_NEVER} event.source is 'PreToolUse' there"),
        ("depth == '1'", f"{_NEVER} depth is a number there"),
        ("agent in [1, true]", f"{_NEVER} agent is a text there"),
        ("depth > 3 and agent and depth < 2", f"{_NEVER} no depth is all"),
        ("2 > depth > 2", f"{_NEVER} no depth is all that is asked of it"),
        ("agent == 'a' and (cwd and agent == 'b')", f"{_NEVER} no agent is all"),
        ("cwd or (agent == 'a' and agent != 'a')", f"{_NEVER} no agent is all"),
        ("agent in ['a', 'b'] and agent is None", f"{_NEVER} no agent is all"),
        ("agent == 'a' and agent.startswith('b')", f"{_NEVER} no agent is all"),
        ("agent in []", f"{_NEVER} no agent is all that is asked of it"),
        ("variables.a and not variables.a", f"{_NEVER} no variables.a is all"),
    ],
)
def test_a_warning_of_what_is_never_so(when, why):
    """Rules for other products ask for what no event of ours has."""
    (found,) = read(f'on_before_tool: [{{block: x, when: "{when}"}}]').problems

    assert (found.level, found.message[: len(why)]) == ("warning", why)


def test_a_warning_of_what_an_event_does_not_have():
    (found,) = read("on_stop:\n  - {block: x, when: command == 'ls'}\n").problems

    why = "on_stop has no command: it is null there"
    assert (found.level, found.message) == ("warning", why)


OTHER_FORMS = [
    "tags: [a]\nrules: {tidy: {event: stop}}\n",
    "name: tidy\nevent: stop\nwhen: x\n",
    "name: w\ntriggers: {on_stop: []}\n",
]


@pytest.mark.parametrize("text", OTHER_FORMS)
def test_rules_in_another_form_are_one_problem(text):
    (found,) = read(text).problems

    assert found.level == "error"
    assert found.message.startswith("this is a file of rules in another form: write ")


# Fields of tool_input that the tools of a rule do not have


def said(rule):
    text = f"on_before_tool:\n  - {rule}\n"
    return [str(p) for p in read_rules(text, Path("rules.yaml"), "user").problems]


NO_FIELD = [
    (
        '{when: "runs(command, \'x\')", block: "{{ tool_input.cmd }}"}',
        "block: tool_input of Bash has no field 'cmd'; did you mean 'command'?",
    ),
    (
        "{tools: [Edit, Write], when: tool_input.path == 'x', block: x}",
        "when: tool_input of Edit and Write has no field 'path'; did you mean 'file_",
    ),
    (
        '{when: \'tool_name in ["Read"] and tool_input.get("lines")\', block: x}',
        "when: tool_input of Read has no field 'lines'",
    ),
    (
        "{tools: Bash, spawn_agent: {agent: a, prompt: '{{ tool_input.comand }}'}}",
        "spawn_agent.prompt: tool_input of Bash has no field 'comand'",
    ),
]


@pytest.mark.parametrize(("rule", "problem"), NO_FIELD)
def test_a_field_that_no_tool_of_the_rule_has_is_a_warning(rule, problem):
    (warning,) = said(rule)

    assert f"warning: on_before_tool[0].{problem}" in warning


ANY_FIELD = [
    "{tools: [Edit, Bash], block: '{{ tool_input.command }}'}",
    "{tools: mcp__db__query, block: '{{ tool_input.sql }}'}",
    "{tools: 'mcp__*', when: tool_input.sql, block: x}",
    "{block: '{{ tool_input.sql }}'}",
    "{when: not tool_name == 'Bash' and tool_input.sql, block: x}",
    "{tools: Bash, block: '{{ tool_input }}'}",
]


@pytest.mark.parametrize("rule", ANY_FIELD)
def test_tools_that_nobody_knows_may_have_any_field(rule):
    assert said(rule) == []
