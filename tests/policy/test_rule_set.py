"""What rules decide about an event: which fire, in which order, and what follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_text import compile_text
from bridge.policy.rule_decision import decide_event
from bridge.policy.rule_set import Whose, any_fires, scope_of
from bridge.policy.shell_functions import shell

BASH = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t"}


def rule(when=None, **fields):
    code = {"name": "r", "layer": "user", "file": "/h/rules.yaml", "line": 3}
    if when is not None:
        code["when"] = compile_condition(when).code
    return code | fields


def call(command="pytest -q", **fields):
    return BASH | {"tool_input": {"command": command}} | fields


def fill(template, scope):
    """A template of these tests: `{name}`; `{bad}` cannot be filled in."""
    if "{bad}" in template:
        raise ValueError("no such name: bad")
    return template.format(**scope)


def decided(rules, raw=None, variables=(), **whose):
    return decide_event(
        rules,
        raw or call(),
        Whose(dict(variables), **whose),
        fill,
        shell(),
    )


SPAWN = {"agent": "runner", "prompt": "Run: {command}", "block": True}
CHECK = 'tool_name == "Bash" and ("pytest" in command or "ruff" in command)'


def test_a_rule_hands_the_call_over_with_its_text_as_data():
    decision = decided([rule(CHECK, spawn_agent=SPAWN)], call("pytest 'a {{ b }}'\n"))

    (spawn,) = decision.spawns
    assert (spawn.agent, spawn.prompt) == ("runner", "Run: pytest 'a {{ b }}'\n")
    assert spawn.is_handover


MISSING = {
    "another command": call("ls"),
    "no command": BASH | {"tool_name": "Edit", "tool_input": {"file_path": "pytest"}},
    "no input": BASH | {"tool_input": None},
    "null": BASH | {"tool_input": {"command": None}},
    "nothing": {"hook_event_name": "PreToolUse"},
}


@pytest.mark.parametrize("raw", MISSING.values(), ids=MISSING)
def test_what_is_missing_fires_nothing(raw):
    assert decided([rule(CHECK, spawn_agent=SPAWN)], raw).is_empty


def test_the_first_blocking_effect_ends_the_list():
    rules = [rule(inject_context="one"), rule(block="no"), rule(inject_context="two")]

    decision = decided(rules)

    assert decision.contexts == ["one"]
    assert decision.block == "no\n[rule r (/h/rules.yaml:3)]"


def test_a_handover_ends_the_list_too():
    decision = decided([rule(spawn_agent=SPAWN), rule(block="no")])

    assert len(decision.spawns) == 1
    assert decision.block is None


@pytest.mark.parametrize(
    "above", [("runner",), ("inner", "runner"), ("x", "y", "runner")]
)
def test_a_rule_never_delegates_inside_its_own_agent(above):
    """The loop of seed 000, whatever the variables say."""
    rules = [rule(CHECK, spawn_agent=SPAWN), rule(inject_context="after")]

    decision = decided(rules, above=above, agent=above[0], depth=len(above))

    assert (decision.spawns, decision.block) == ([], None)
    assert "did not start runner" in decision.notes[0]
    assert decision.contexts == ["after"]


def test_null_in_the_childs_variables_switches_a_rule_off():
    rules = [rule(f"validation_model and {CHECK}", spawn_agent=SPAWN)]

    assert decided(rules, variables={"validation_model": "haiku"}).spawns
    assert decided(rules, variables={"validation_model": None}).is_empty


def test_variables_that_a_rule_sets_are_seen_by_the_next():
    rules = [
        rule(set_variable={"task": compile_text("at ${{ cwd }}").code}),
        rule(increment_variable={"calls": 2}),
        rule(
            "task == 'at /p' and variables.calls == 3", inject_context="{task} {calls}"
        ),
    ]

    decision = decided(rules, call(cwd="/p"), {"calls": 1})

    assert decision.changes == {"task": "at /p", "calls": 3}
    assert decision.contexts == ["at /p 3"]


def test_a_name_of_the_event_is_never_a_variable():
    scope = scope_of(call(), Whose({"command": "x", "depth": 9, "mine": 1}))

    assert (scope["command"], scope["depth"], scope["mine"]) == ("pytest -q", 0, 1)
    assert scope["variables"] == {"command": "x", "depth": 9, "mine": 1}


PUSH = 'runs(command, "git push")'


SHELLS = [
    ("Bash", "cd x; git push", "yes"),
    ("Monitor", "cd x; git push", "yes"),
    ("Monitor", "echo git push", None),
    ("PowerShell", "cd x; Git.exe Pu`sh", "may"),
    ("PowerShell", "git pu`\nsh", "may"),
    ("PowerShell", "echo 'git push'", "may"),
    ("PowerShell", "git commit", None),
    ("mcp__x__y", "git push", None),
    (["Bash"], "git push", None),
]


def fired(one, raw):
    """How a rule fires, if it does."""
    return next((each.how for each in decided([one], raw).fired), None)


@pytest.mark.parametrize(("tool", "command", "how"), SHELLS)
def test_every_tool_that_has_a_shell_run_a_command_is_asked(tool, command, how):
    """PowerShell's language is not bash: what stands in it may run."""
    assert fired(rule(PUSH, block="no"), call(command, tool_name=tool)) == how


POWERSHELL = [
    ('command.startswith("git")', "yes"),
    ('"push" in command', "yes"),
    ('"push" in words(command)', "may"),
    ('"pull" in words(command)', None),
    ("len(words(command)) > 9", "may"),
]


@pytest.mark.parametrize(("when", "how"), POWERSHELL)
def test_a_command_of_powershell_is_a_text_as_any_other(when, how):
    raw = call("git push", tool_name="PowerShell")

    assert fired(rule(when, block="no"), raw) == how


@pytest.mark.parametrize("key", ["file_path", "notebook_path"])
@pytest.mark.parametrize(
    "path", ["/p/a.lock", "/p/a.lock/", "/p/a.lock//", "/p/a.lock/.", "/p/b/../a.lock"]
)
def test_a_file_has_one_path(path, key):
    """With a slash behind it the client writes it all the same."""
    rules = [rule(f'tool_input.{key} == "/p/a.lock"', block="no")]

    assert decided(rules, BASH | {"tool_input": {key: path}}).block is not None
    assert not decided(rules, BASH | {"tool_input": {key: "/p/b.lock/"}}).block


MAY_RUN = 'runs(command, "pytest")'


UNCLEAR = [
    ({"block": "no"}, "may"),
    ({"block": "no", "on_error": "skip"}, None),
    ({"inject_context": "x"}, None),
    ({"spawn_agent": SPAWN}, None),
    ({"spawn_agent": SPAWN, "required": True}, "may"),
    ({"spawn_agent": SPAWN | {"block": False}, "required": True}, None),
]


@pytest.mark.parametrize(("fields", "how"), UNCLEAR)
def test_what_may_run_counts_where_a_rule_refuses(fields, how):
    assert fired(rule(MAY_RUN, **fields), call('$TOOL pytest "$(x)"')) == how


def test_a_refusal_says_what_is_unclear_and_the_way_out():
    raw = call('cd x && $TOOL pytest "$(x)"')

    assert decided([rule(MAY_RUN, block="No.")], raw).block == (
        'No.\n(It may apply: what `$TOOL pytest "$(x)"` runs cannot be told from its '
        "text. If it is something else, write out what is run; or save that as a "
        "file, read it, and run the file.)\n[rule r (/h/rules.yaml:3)]"
    )


WRONG = "command < 3"


def test_a_blocking_rule_that_cannot_be_asked_blocks_and_says_where():
    decision = decided([rule(WRONG, block="no")])

    assert decision.block.startswith(
        "hostbridge: the rule r (/h/rules.yaml:3) cannot be asked: "
        "'<' cannot compare a text with a number\n"
    )


SKIPPED = [
    rule(WRONG, block="no", on_error="skip"),
    rule(WRONG, inject_context="x"),
    rule(WRONG, spawn_agent=SPAWN | {"block": False}),
    rule(broken="3:4: x", block="", on_error="skip"),
    rule(broken="3:4: x", inject_context=""),
]


@pytest.mark.parametrize("one", SKIPPED)
def test_any_other_rule_is_skipped(one):
    assert decided([one, rule(inject_context="on")]).contexts == ["on"]


def test_a_template_that_cannot_be_filled_in_blocks_only_where_the_rule_does():
    blocking = decided([rule(block="{bad}")])
    other = decided([rule(inject_context="{bad}")])

    assert "cannot be asked: no such name: bad" in blocking.block
    assert (other.block, other.fired[0].how) == (None, "skipped")


MENDS = {
    "check": call("hostbridge rules check"),
    "edit": {"tool_name": "Edit", "tool_input": {"file_path": "/p/.bridge/rules.yaml"}},
    "home": {"tool_name": "Read", "tool_input": {"file_path": "/h/.hostbridge/r.yaml"}},
}
HURTS = {
    "two commands": call("hostbridge where; rm -r /"),
    "elsewhere": {"tool_name": "Edit", "tool_input": {"file_path": "/p/.bridge"}},
    "out again": {"tool_name": "Edit", "tool_input": {"file_path": "/p/.bridge/../x"}},
    "no path": {"tool_name": "WebFetch", "tool_input": {"url": "/.bridge/x"}},
}


@pytest.mark.parametrize("raw", MENDS.values(), ids=MENDS)
def test_a_broken_rule_can_be_mended(raw):
    assert decided([rule(broken="1:1: x", block="")], BASH | raw).block is None
    assert decided([rule(WRONG, block="n")], BASH | raw).block is None


@pytest.mark.parametrize("raw", HURTS.values(), ids=HURTS)
def test_but_nothing_else_passes_a_broken_rule(raw):
    assert decided([rule(broken="1:1: x", block="")], BASH | raw).block is not None


def test_a_sound_rule_binds_its_own_files_too():
    assert decided([rule(block="no")], BASH | MENDS["edit"]).block is not None


def test_tools_are_names_or_globs():
    rules = [rule(tools=["mcp__*", "Edit"], inject_context="x")]

    def told(tool):
        return decided(rules, BASH | {"tool_name": tool}).contexts

    assert [told(t) for t in ("mcp__a__b", "Edit", "Bash")] == [["x"], ["x"], []]


def test_an_agent_may_have_another_rule_set_or_none():
    """Of the project's rules; the user's bind it unless it is the user's own."""
    rules = [
        rule(inject_context="mine"),
        rule(inject_context="project", layer="project"),
        rule(inject_context="strict", layer="project", set="strict"),
    ]

    assert decided(rules).contexts == ["mine", "project"]
    assert decided(rules, sets={"project": "strict"}).contexts == ["mine", "strict"]
    assert decided(rules, sets={"project": None}).contexts == ["mine"]
    assert decided(rules, sets={"project": None, "user": None}).contexts == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
_RULES = [
    rule(CHECK, spawn_agent=SPAWN),
    rule('tool_input.file_path.startswith("/etc")', block="no {tool_input}"),
    rule("prompt.lower() == 'x' or event.data.a.b", inject_context="{prompt}"),
    rule('"x" in words(command)', increment_variable={"n": 1}),
]


@given(
    st.dictionaries(
        st.sampled_from(
            ["tool_name", "tool_input", "prompt", "source", "cwd", "tool_response"]
        ),
        _VALUES,
    ),
    st.dictionaries(st.sampled_from(["n", "task", "command"]), _VALUES),
)
def test_no_event_is_too_strange(fields, variables):
    """Any JSON: a decision, and what the gate says agrees with it."""
    raw = {"hook_event_name": "PreToolUse"} | fields
    whose = Whose(variables)

    decision = decide_event(_RULES, raw, whose, fill, shell())

    scope = scope_of(raw, whose)
    fires = any_fires(_RULES, scope, whose, shell())
    assert fires is bool(decision.fired)
