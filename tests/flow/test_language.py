"""The flow language, row by row: what is read, and as what."""

import pytest
from flow_printer import print_flow

from bridge.flow import syntax_tree as tree
from bridge.flow.parser import parse_flow
from bridge.flow.syntax_tree import Declared, Parameter, Reference


def printed(source: str) -> str:
    """A flow as we print it, without definitions, on one line."""
    return " ".join(print_flow(parse_flow(source)).split())


def steps(source: str) -> tuple[object, ...]:
    """The steps of a flow of one segment."""
    (segment,) = parse_flow(source).body.segments
    return segment.steps


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("a || b -> c", "[a || b] -> c"),
        ("a -> b || c -> d", "a -> [b || c] -> d"),
        ("[a -> b] || c", "[[a -> b] || c]"),
        ("[a]", "a"),
        ("[[a || b] || c]", "[[a || b] || c]"),
        ("a (if passed)~> b || c -> d", "a -> (if passed)~> [b || c] -> d"),
    ],
)
def test_binding(source, same):
    """`[ ]` binds tightest, then `||`, `->`; `~>` is the loosest."""
    assert printed(source) == same
    assert parse_flow(source) == parse_flow(same)


@pytest.mark.parametrize(
    "source",
    [
        "a (if failed)~> b",
        "a -> (if failed)~> b",
        "a (failed)~> b",
        "a ~> (if failed) b",
        "a ~> (if failed) -> b",
        "a ~> ( failed ) b",
        "a -> ( if\n failed ) ~> b",
    ],
)
def test_guards_have_several_spellings_and_one_print(source):
    assert printed(source) == "a -> (if failed)~> b"


def test_a_guard_reaches_to_the_next_guard_or_the_groups_end():
    source = "a (if failed)~> b -> c (if passed)~> [(if issues)~> d] -> e"

    first, second, third = parse_flow(source).body.segments

    assert (first.condition, len(first.steps)) == (None, 1)
    assert (second.condition.source, len(second.steps)) == ("failed", 2)
    assert (third.condition.source, len(third.steps)) == ("passed", 2)
    assert isinstance(third.steps[0], tree.Group)


@pytest.mark.parametrize(
    ("condition", "words", "variables"),
    [
        ("passed", ["passed"], []),
        ("no issues", ["issues"], []),
        ("all success", ["success"], []),
        ("any failed && !issues", ["failed", "issues"], []),
        ('{fixes} contains "none"', [], ["fixes"]),
        ("scan.found > 3 || {scan-2.ok}", [], ["scan", "scan-2"]),
        ("{failed} == 1 and failed", ["failed"], ["failed"]),
        ("(passed && (issues || failed))", ["passed", "issues", "failed"], []),
        ("${{ verdict == 'yes (really)' }}", [], ["verdict"]),
    ],
)
def test_conditions(condition, words, variables):
    """Words are about the last step; every other name is a variable."""
    found = parse_flow(f"a (if {condition})~> b").body.segments[1].condition

    assert found.source == condition
    assert [word for word, _ in found.words] == words
    assert [name for name, _ in found.variables] == variables


def test_marks_are_places_and_jumps():
    asks, back = tree.Mark("ok", ("Go on?",), "said"), tree.Mark("top", bound=3)

    found = steps('@top -> a -> @ok:"Go on?":said -> @top(3)')

    assert found == (tree.Mark("top"), tree.Call("a"), asks, back)


def test_retries_and_sub_flows():
    source = 'retry(2) { a -> b } -> @call:other(v="{x}", w="") -> @call:c:out'
    assert steps(source) == (
        tree.Retry(2, parse_flow("a -> b").body),
        tree.SubFlow("other", (("v", (Reference("x"),)), ("w", ()))),
        tree.SubFlow("c", (), "out"),
    )
    assert steps("retry -> a") == (tree.Call("retry"), tree.Call("a"))


@pytest.mark.parametrize(
    ("source", "agents"),
    [
        ("a->b", ["a", "b"]),
        ("code-reviewer->b-2->c--d", ["code-reviewer", "b-2", "c--d"]),
        ('tools:linter:"x":out', ["tools:linter"]),
        ("tools:linter -> a", ["tools:linter", "a"]),
        ("größe -> 検査", ["größe", "検査"]),
        ("_x -> if -> call", ["_x", "if", "call"]),
        ("$own-agent", ["$own-agent"]),
    ],
)
def test_names(source, agents):
    """A hyphen belongs to a name only before a word character."""
    assert [step.agent for step in steps(source)] == agents


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Fix {issues}", ("Fix ", Reference("issues"))),
        ("{a.b.c}{d?}", (Reference("a", ("b", "c")), Reference("d", is_optional=True))),
        ("{{src}} {{ dst : x y }}", (Parameter("src"), " ", Parameter("dst", " x y "))),
        ('{\\"id\\": 1, \\"of\\": {}}', ('{"id": 1, "of": {}}',)),
        ("f(x) { return x }", ("f(x) { return x }",)),
        (r"\{name} \\ \n\t\" \d", ('{name} \\ \n\t" \\d',)),
        ("a, b: c $& $1 -> [x] # no comment", ("a, b: c $& $1 -> [x] # no comment",)),
        ("two\nlines", ("two\nlines",)),
        ("", ()),
    ],
)
def test_texts(text, parts):
    """Braces around a name refer to something; all others are text."""
    assert steps(f'a:"{text}"') == (tree.Call("a", parts),)


def test_definitions():
    flow = parse_flow(
        "# An agent of this flow alone.\n"
        '$in-depth := {base: "Explore", prompt: "Look {{deep:twice}}.\nA } too.",}\n'
        '$a:="b" a:$a'
    )

    prompt = ("Look ", Parameter("deep", "twice"), ".\nA } too.")
    assert flow.definitions == (tree.FlowAgent("in-depth", "Explore", prompt),)


@pytest.mark.parametrize(
    "source",
    [
        '$WHAT := "Look at {{src}}"\na:$WHAT',
        '@define-agents {$WHAT := "Look at {{src}}"}\na:$WHAT',
        'a:"Look at {{src}}" ->',
        'a:"Look at {{src}}",',
        '\ufeffa:"Look at {{src}}" -> # the end',
        'a:"Look at {{src}}"\r\n',
    ],
)
def test_what_public_files_have(source):
    assert parse_flow(source) == parse_flow('a:"Look at {{src}}"')


def test_definitions_may_stand_anywhere_around_the_steps():
    own = '$a := {"base": "x", "prompt": "p"},'

    assert parse_flow(f"$a -> {own}") == parse_flow(f"{own} $a")


def test_frontmatter():
    fields = "name: review\ndescription: 'Look, and say'"
    given = "src: {description: Where, default: .}\n  deep: 2\n  goal:"
    head = parse_flow(f"---\n{fields}\nparams:\n  {given}\n---\na").head

    src, deep = Declared("src", "Where", "."), Declared("deep", "", "2")
    assert head == tree.Head("review", "Look, and say", (src, deep, Declared("goal")))
    short = parse_flow("---\nparams: [a, b]\n---\na").head
    assert short.params == (Declared("a"), Declared("b"))


OWN = '$a := {base: "x", prompt: "p"} $b-c := {base: "y", prompt: "q"}'
BLOCK = '{\n a: {base: "x", prompt: "p"},\n b-c: {base: "y", prompt: "q"}\n}'
NAMED = '$N := "{{N:10}}", $T := "x" a:"Get $N of $T, not $TT, \\$N, $5 or $N$T"'
DESCRIBED = "{a: {description: What}, b: {description: In, default: src}}"


@pytest.mark.parametrize(
    ("found", "ours"),
    [
        (f"@define-agents {BLOCK} $a -> $b-c", f"{OWN} $a -> $b-c"),
        (NAMED, 'a:"Get {{N:10}} of x, not $TT, \\$N, $5 or {{N:10}}x"'),
        ("a -> @ l ->\nb (if failed)~> @l", "a -> @l -> b (if failed)~> @l"),
        ("---\nname: n\nauthor: me\ntags: [x]\n---\n\nWorkflow:\na",
         "---\nname: n\n---\na"),
        ('---\nparams: {a: What, b: "In (default: src)"}\n---\nx',
         f"---\nparams: {DESCRIBED}\n---\nx"),
    ],
    ids=["block", "constant-in-a-text", "space", "heading", "params"],
)  # fmt: skip
def test_what_public_files_have_besides(found, ours):
    assert parse_flow(found) == parse_flow(ours)


def test_a_page_of_everything_is_printed_as_it_is_written():
    """The printer's own form, which a person would write, too."""
    source = """\
---
name: "review"
description: "Look, and say"
params:
  src: {description: "Where", default: "."}
  goal:
---

$own := {
  base: "Explore",
  prompt: "Look\nclosely at {{src}}",
  model: "opus"
}

@top ->
$own:"Scan":found ->
[fixer:"Fix {found}":fixes || Explore:"Write {} {found.files}"] ->
@ok:"Is {fixes} fine?" ->
retry(2) { a -> b } ->
@call:deploy(to="x"):done ->
(if failed && {done} != "x")~> @top(3) ->
(if passed)~> [a (if issues)~> b]
"""
    assert print_flow(parse_flow(source)) == source.replace("[a (if", "[a -> (if")
