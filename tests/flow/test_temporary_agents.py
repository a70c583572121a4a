"""Agents that a flow defines, variables, and the graph: exactly what is shown."""

import pytest
from flow.simulation import plan_of

from bridge.flow.drawing import drawing_of, graph_of

SECURITY = "You are a security expert. Focus on OWASP top 10 vulnerabilities."
SCAN = "Scan authentication and authorization code"
FIXING = "Fix security issues while maintaining functionality."
EXAMPLE = f"""\
$security-scanner := {{
  base: "general-purpose",
  prompt: "{SECURITY}",
  model: "opus"
}}

$fixer := {{
  base: "expert-code-implementer",
  prompt: "{FIXING}",
  model: "sonnet"
}}

$security-scanner:"{SCAN}":issues ->
$fixer:"Fix the following issues: {{issues}}":fixes ->
general-purpose:"Verify fixes are complete"
"""


def graph(source):
    return graph_of(plan_of(source))


def nodes(source):
    return graph(source)["nodes"]


def agent(number, name, instruction, **more):
    of_agent = {"type": "agent", "agent": name, "instruction": instruction}
    return {"id": f"node-{number}", **of_agent, **more}


def test_the_example_gives_exactly_its_graph():
    """Node by node and key by key, as the page prints it."""
    fixes = f"{FIXING}\n\nFix the following issues: {{issues}}"
    made = {"outputVar": "fixes", "model": "sonnet", "templateVars": ["issues"]}
    scan = {"outputVar": "issues", "model": "opus"}

    assert graph(EXAMPLE) == {
        "nodes": [
            agent(0, "general-purpose", f"{SECURITY}\n\n{SCAN}", **scan),
            agent(1, "expert-code-implementer", fixes, **made),
            agent(2, "general-purpose", "Verify fixes are complete"),
        ],
        "edges": [
            {"from": "node-0", "to": "node-1"},
            {"from": "node-1", "to": "node-2"},
        ],
        "variables": {},
    }


def test_a_definition_may_stand_on_one_line():
    """As the page's first line has it; without a model, the graph has none."""
    one_line = '$my-agent := {base: "Explore", prompt: "Look."} $my-agent:"Here"'

    assert nodes(one_line) == [agent(0, "Explore", "Look.\n\nHere")]


@pytest.mark.parametrize(
    "call",
    ['Explore:"Look":found', 'Explore : "Look" : found', 'Explore:\n  "Look":found'],
)
def test_a_call_may_keep_what_is_said(call):
    """With an output, of a plain agent, too."""
    assert nodes(call)[0]["outputVar"] == "found"
    assert "outputVar" not in nodes('Explore:"Look"')[0]


@pytest.mark.parametrize("arrow", ["->", " -> ", " ->\n", "\n->\n\n", " # why\n -> "])
def test_an_arrow_stands_anywhere_between(arrow):
    """On the line, at its end, before the next one."""
    assert graph(f"a{arrow}b")["edges"] == [{"from": "node-0", "to": "node-1"}]


def test_a_variable_may_be_made_far_above():
    """What is used depends on who made it, next to it or not."""
    plan = plan_of('a:"":x -> b -> c:"{x} {x.files}"')

    assert graph_of(plan)["nodes"][2]["templateVars"] == ["x"]


def test_one_agent_called_twice_is_two_nodes():
    """Each with its own instruction; two calls that are the same, too."""
    own = '$own := {base: "Explore", prompt: "P"} '

    first, second, third = nodes(f'{own} $own:"one" -> $own:"two" -> $own:"two"')

    assert first["instruction"] == "P\n\none"
    assert second["instruction"] == third["instruction"] == "P\n\ntwo"
    assert (second["id"], third["id"]) == ("node-1", "node-2")


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        (r"\{x} and {not a name} and {}", "{x} and {not a name} and {}"),
        ("if (a) { b() }", "if (a) { b() }"),
        (r"say \"hi\" \\ twice", 'say "hi" \\ twice'),
        ("costs $5, $& and: a, b", "costs $5, $& and: a, b"),
    ],
)
def test_signs_in_a_prompt_are_text(text, instruction):
    """Braces of code, quotes, commas, colons, and what a replacement reads."""
    assert nodes(f'a:"{text}"')[0]["instruction"] == instruction
    own = f'$own := {{base: "a", prompt: "{text}"}} $own'
    assert nodes(own)[0]["instruction"] == instruction


@pytest.mark.parametrize("base", ["Explore", "code-reviewer", "tools:linter"])
def test_a_base_may_be_any_agent(base):
    """The client's, one with a definition, a plugin's."""
    assert nodes(f'$own := {{base: "{base}", prompt: "P"}} $own')[0]["agent"] == base


def test_the_graph_shows_what_really_runs():
    """Groups, guards, checkpoints, jumps, flows."""
    source = """
    a:"":x -> [b || c] -> @ok:"Go on?" -> (if failed)~> @ok(3)
    (if passed)~> @call:other(p="{x} {{q:1}}"):y
    """

    assert graph(source) == {
        "nodes": [
            agent(0, "a", "", outputVar="x"), agent(1, "b", ""), agent(2, "c", ""),
            {"id": "node-3", "type": "checkpoint", "label": "ok",
             "instruction": "Go on?"},
            {"id": "node-4", "type": "condition", "condition": "failed"},
            {"id": "node-5", "type": "jump", "label": "ok"},
            {"id": "node-6", "type": "condition", "condition": "passed"},
            {"id": "node-7", "type": "flow", "flow": "other",
             "arguments": {"p": "{x} {{q:1}}"}, "outputVar": "y",
             "templateVars": ["x"]},
        ],
        "edges": [
            {"from": "node-0", "to": "node-1"},
            {"from": "node-0", "to": "node-2"},
            {"from": "node-1", "to": "node-3"},
            {"from": "node-2", "to": "node-3"},
            {"from": "node-3", "to": "node-4"},
            {"from": "node-4", "to": "node-5", "condition": "failed"},
            {"from": "node-5", "to": "node-3", "max": 3},
            {"from": "node-5", "to": "node-6"},
            {"from": "node-4", "to": "node-6", "condition": "!(failed)"},
            {"from": "node-6", "to": "node-7", "condition": "passed"},
        ],
        "variables": {},
    }  # fmt: skip


def test_a_flow_of_everything():
    """A definition, a parameter, a group, a checkpoint, a loop, over several lines."""
    plan = plan_of("""
    # comments
    $security-scanner := {base: "general-purpose", prompt: "…", model: "opus"}
    $security-scanner:"Scan {{target:src}}":issues ->
      [fixer:"Fix {issues}":fixes || Explore:"Document {issues}":docs]
      -> @review:"Look at {fixes}" -> general-purpose:"Verify" -> (if failed)~> @review
    """)

    assert [str(line) for line in drawing_of(plan)] == [
        "node-0  $security-scanner (opus): Scan {{target:src}} -> issues",
        "node-1  ├─ fixer: Fix {issues} -> fixes",
        "node-2  ├─ Explore: Document {issues} -> docs",
        "node-3  @review: Look at {fixes}",
        "node-4  general-purpose: Verify",
        "node-5  if failed",
        "node-6  ├─ back to @review, 10 times at most",
    ]
