"""What a flow means: which agents run, for which answers."""

import json

import pytest
from flow.simulation import plan_of, went

from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow


@pytest.mark.parametrize(
    ("flow", "answers", "expected"),
    [
        ("a -> b -> c", {}, "a b c"),
        ("a -> b", {"a": "failed"}, "a !node-0"),
        ("a -> [b || c] -> d", {}, "a b c d"),
        ("a || b -> c", {}, "a b c"),
        ("[a || b] -> [c || d]", {}, "a b c d"),
        # A guard is for what follows it, up to the next guard or the group's end.
        ("a (if passed)~> b -> c", {}, "a b c"),
        ("a (if failed)~> b -> c", {}, "a"),
        ("a (if failed)~> b -> c", {"a": "failed"}, "a b c"),
        ("x -> [(if failed)~> a -> b] -> d", {}, "x d"),
        ("x -> [(if failed)~> a -> b] -> d", {"x": "failed"}, "x a b d"),
        ("a (if failed)~> b (if passed)~> c", {}, "a c"),
        ("a (if failed)~> b (if passed)~> c", {"a": "failed"}, "a b c"),
        ("a (if failed)~> b (if failed)~> c", {"a": "failed", "b": "failed"}, "a b c"),
        # The words are about the last step that ran.
        ("a (if issues)~> b (if issues)~> c", {"a": "issues"}, "a b"),
        ("a -> b (if issues)~> c", {"a": "issues"}, "a b"),
        ("a (if no issues)~> b", {"a": "issues"}, "a"),
        # Or about the last group.
        ("[a || b] -> (if all passed)~> c", {"b": "failed"}, "a b"),
        ("[a || b] -> (if any failed)~> c", {"b": "failed"}, "a b c"),
        ("[a || b] -> (if passed)~> c", {}, "a b c"),
        ("[a || b] -> (if failed)~> c", {"a": "failed"}, "a b c"),
        ("x -> [[(if failed)~> a] || b] (if any issues)~> c", {"x": "issues"}, "x b"),
        ("[x -> [a || [(if failed)~> b]]] (if issues)~> c", {"x": "issues"}, "x a"),
        ("x -> [(if issues)~> a || b] (if all issues)~> c", {"x": "issues"}, "x a b"),
        ("x -> [(if failed)~> a] (if issues)~> c", {"x": "issues"}, "x c"),
        # All of a group, not only its last steps.
        ("[a -> b] (if failed)~> c", {"a": "failed"}, "a c"),
        ("[a -> b || x] (if any failed)~> c", {"a": "failed"}, "a c"),
        ("[[a -> b] || x] (if any failed)~> c", {"a": "failed"}, "a x c"),
        ("[[a -> b] || x] (if passed)~> c", {"a": "failed"}, "a x"),
        ("x -> [a -> b] (if failed)~> c", {"x": "failed"}, "x !node-0"),
        ("[a -> b] (if failed)~> c", {"a": "error"}, "a !node-0"),
        ('v:"":v -> [a (if {v})~> b] (if failed)~> c', {"a": "failed"}, "v a c"),
        # Who fails goes on to the first that asks how it ended.
        ("a (if issues)~> b (if failed)~> c", {"a": "failed"}, "a c"),
        ("a (if no issues)~> b (if failed)~> c", {"a": "failed"}, "a c"),
        ("a (if no issues)~> b (if failed)~> c", {"b": "failed"}, "a b c"),
        ("[a -> x (if no issues)~> b] (if failed)~> c", {"a": "failed"}, "a c"),
        # To ask about issues is not to ask about failures.
        ("a (if no issues)~> b", {"a": "failed"}, "a !node-0"),
        ("[a -> b] (if no issues)~> c", {"b": "failed"}, "a b !node-1"),
        # A failure that no condition asks about is the run's.
        ("[a || b] -> c (if failed)~> d", {"a": "failed"}, "a !node-0"),
        ("a (if failed)~> b", {"a": "error"}, "a !node-0"),
    ],
)  # fmt: skip
def test_what_runs(flow, answers, expected):
    assert went(flow, **answers) == expected


@pytest.mark.parametrize(
    ("flow", "answers", "expected"),
    [
        ("@x -> a -> b (if failed)~> @x", {"b": "failed ok"}, "a b a b"),
        ("@x -> a (if failed)~> @x(2)", {"a": "failed"}, "a a a !node-3"),
        ("@x -> a (if failed)~> @x(2) -> b", {"a": "failed"}, "a a a b"),
        ("@x -> a (if failed)~> @x(2) -> b", {"a": "failed ok"}, "a a"),
        ("@x -> a (if failed)~> @x(1) (if failed)~> b", {"a": "failed"}, "a a b"),
        ("@x -> a (if failed)~> @x (if passed)~> b", {"a": "failed ok"}, "a a b"),
        ("@x -> a -> @x(2) -> b", {}, "a a a b"),
        ('a -> @ok:"Go on?" -> b (if failed)~> @ok',
         {"b": "failed ok"}, "a @ok b @ok b"),
        ("a (if passed)~> [[@y -> b -> @y(1)] || c] -> d", {}, "a b b c d"),
        # A loop in a loop counts anew.
        ("@x -> a -> @y -> b (if failed)~> @y(1) -> c (if issues)~> @x(1)",
         {"b": "failed ok failed ok", "c": "ok"}, "a b b"),
        ("@x -> @y -> b -> @y(1) -> c -> @x(1) -> d", {}, "b b c b b c d"),
        # What a guard skipped can still be jumped to.
        ("t (if failed)~> @f -> f -> u (if failed)~> @f",
         {"t": "failed", "u": "failed ok"}, "t f u f u"),
        ("[[@x -> a (if failed)~> @x] || b] -> c", {"a": "failed ok"}, "a a b c"),
    ],
)  # fmt: skip
def test_jumps(flow, answers, expected):
    assert went(flow, **answers) == expected


@pytest.mark.parametrize(
    ("flow", "answers", "expected"),
    [
        ("retry(2) { a } -> b", {"a": "failed ok"}, "a a b"),
        ("retry(2) { a } -> b", {"a": "failed"}, "a a a !node-0"),
        ("retry(2) { a -> b } -> c", {"b": "failed ok"}, "a b a b c"),
        ("retry(2) { a -> b } -> c", {"a": "error failed ok"}, "a a a b c"),
        ("retry(1) { a -> b } -> c", {"a": "failed"}, "a a !node-3"),
        ("retry(1) { a -> b } (if failed)~> c", {"a": "failed"}, "a a c"),
        ("retry(1) { [a || b] -> c } -> d", {"a": "failed ok"}, "a b a b c d"),
        ("retry(1) { [[a -> x] || b] -> c } -> d", {"a": "failed ok"},
         "a b a x b c d"),
        # What failed before is not tried again.
        ("x (if failed)~> retry(1) { (if passed)~> a -> b } -> c", {"x": "failed"},
         "x c"),
        # A condition that asks about a failure catches it, inside a retry, too.
        ("retry(1) { a (if failed)~> b } -> c", {"a": "failed"}, "a b c"),
        ("retry(1) { [a (if failed)~> b] -> c } -> d",
         {"a": "failed", "b": "failed ok"}, "a b a b c d"),
        ("retry(1) { retry(1) { a -> b } -> c }", {"b": "failed"},
         "a b a b a b a b !node-6"),
    ],
)  # fmt: skip
def test_retries(flow, answers, expected):
    assert went(flow, **answers) == expected


def test_a_plan_keeps_what_is_big_apart():
    """An engine loads the nodes at each step, and prompts only where one starts."""
    plan = plan_of(
        '$own := {base: "Explore", prompt: "P {{depth:2}}", model: "opus"}\n'
        '$own:"Look at {{where}}":found -> Plan:"Plan {found.files}":plan'
    )

    assert plan["nodes"] == {
        "node-0": {"kind": "agent", "in": [], "var": "found"},
        "node-1": {"kind": "agent", "in": [("node-0", None)], "var": "plan"},
    }
    assert plan["details"] == {
        "node-0": {
            "agent": "Explore", "own": "own", "model": "opus",
            "prompt": [
                "text", 0, "Look at ", ["get", 0, ["name", 0, "inputs"], "where"]
            ],
            "line": 2, "column": 1, "depth": 0,
        },
        "node-1": {
            "agent": "Plan",
            "prompt": [
                "text", 0, "Plan ", ["get", 0, ["name", 0, "said"], "found.files"]
            ],
            "line": 2, "column": 35, "depth": 0,
        },
    }  # fmt: skip
    depth = ["get", 0, ["name", 0, "inputs"], "depth"]
    is_given = ["compare", 0, depth, "is", None]
    assert plan["agents"]["own"]["prompt"] == [
        "text", 0, "P ", ["if", 0, is_given, "2", depth]
    ]  # fmt: skip
    assert plan["inputs"] == {
        "depth": {"type": "string"}, "where": {"type": "string", "required": True}
    }  # fmt: skip
    assert plan["out"] == [("node-1", None)]


def test_variables_are_asked_for_by_name():
    """A variable may be called like a word: in braces it is the variable."""
    plan = plan_of('a:"":issues (if {issues.count} > 1 && issues)~> b')

    assert plan["nodes"]["node-2"]["in"][0][1] == [
        "and", 0,
        ["compare", 0,
         ["get", 1, ["get", 1, ["name", 1, "answers"], "issues"], "count"], ">", 1],
        ["name", 22, "issues"],
    ]  # fmt: skip


def test_fields_are_asked_of_answers_and_the_rest_of_texts():
    """`contains` looks into what is put into texts, not among an answer's fields."""
    plan = plan_of('a:"":x (if {x} contains "y" || {x["a b"]} == 1)~> b')

    assert plan["nodes"]["node-2"]["in"][0][1] == [
        "or", 0,
        ["compare", 0, "y", "in", ["get", 1, ["name", 1, "variables"], "x"]],
        ["compare", 20,
         ["get", 21, ["get", 21, ["name", 21, "answers"], "x"], "a b"], "==", 1],
    ]  # fmt: skip


def test_many_branches_after_many_have_few_edges():
    """From each to each would be a million for a thousand."""
    branches = " || ".join(["a"] * 100)

    plan = plan_of(f"[{branches}] -> [{branches}] -> [{branches}]")

    assert sum(len(node["in"]) for node in plan["nodes"].values()) == 400


def test_a_plan_is_json():
    plan = plan_of("retry(2) { [a || b] (if failed)~> c -> d } (if issues)~> f")

    again = json.loads(json.dumps(plan))

    assert list(again["nodes"]) == list(plan["nodes"])


def test_called_flows_come_with_the_plan():
    """A file that changes while the flow runs changes nothing in the run."""
    flows = {"one": parse_flow("@call:two"), "two": parse_flow("a")}

    plan = compile_flow(parse_flow("@call:one -> @call:two"), flows.__getitem__)

    sizes = {name: len(each["nodes"]) for name, each in plan["flows"].items()}
    assert sizes == {"one": 1, "two": 1}
