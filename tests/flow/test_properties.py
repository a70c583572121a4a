"""What holds for every flow, and for every text that is not one."""

from random import Random

import pytest
from flow.flow_strategies import flows, names, nested, pieces, sequences
from flow.simulation import WORDS, Run
from flow_printer import print_flow
from fuzz_flows import use
from hypothesis import given
from hypothesis import strategies as st

from bridge.flow import syntax_tree as tree
from bridge.flow.compiler import compile_flow
from bridge.flow.condition import read_condition
from bridge.flow.parser import parse_flow
from bridge.policy.condition import decide

pytestmark = pytest.mark.slow

DICE = Random(13)  # noqa: S311 - no secret


@given(flow=flows)
def test_a_tree_printed_and_parsed_again_is_the_same_tree(flow):
    assert parse_flow(print_flow(flow)) == flow


@given(source=st.text() | pieces)
def test_any_text_is_a_flow_or_says_what_is_wrong(source):
    use(source, DICE)


@given(flow=flows, data=st.data())
def test_a_flow_with_a_hole_in_it_says_what_is_wrong(flow, data):
    source = print_flow(flow)
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))

    use(source[:start] + data.draw(pieces) + source[end:], DICE)


@pytest.mark.parametrize(
    "piece",
    ["{ ", '"', '\\"\n', '"x"b', '"\n"a', "[", "]", "(", "{", "a(", "a:", "a ", "-",
     "$a:=", "@a", "@a->", "a||", "a->", "a (if x)~> ", "'", "{{a:", '"{{a:" ',
     '"{a.b" ', "---\n", "a:b:", "(if (", "retry(2){", "#\n", "\\", "\ufeff", "\r",
     "a.b", "[a||", '$a:="x" ', "@a(2)->", "@call:a(", 'a:"{a}":a->'],
)  # fmt: skip
def test_no_text_takes_long(piece):
    """However often it stands there: the rest is never read again and again."""
    use(piece * (30_000 // len(piece)), DICE)
    inside = piece.replace('"', "") * (100_000 // len(piece))
    use(f'a:"{inside}"', DICE)
    use("a -> " + piece * (10_000 // len(piece)) + ' -> b:"c"', DICE)


def asked(body, answers, last, *, is_caught):
    """The agents that a tree asks, and the last of them: told from the tree alone."""
    went = []
    asks = [bool(each.condition and each.condition.catches) for each in body.segments]
    for index, segment in enumerate(body.segments):
        is_caught_here = is_caught or any(asks[index + 1 :])
        is_gated = segment.condition and not asks[index] and index and is_caught_here
        if is_gated and has_failed(answers, last):
            continue
        if segment.condition and not holds(segment.condition.code, answers, last):
            continue
        for number, step in enumerate(segment.steps):
            is_last = step is segment.steps[-1]
            if number and is_caught and has_failed(answers, last):
                break
            here, last = asked_by(
                step, answers, last, is_caught=is_caught_here if is_last else is_caught
            )
            went += here
    return went, last


def asked_by(step, answers, last, *, is_caught):
    match step:
        case tree.Group(body):
            return asked(body, answers, last, is_caught=is_caught)
        case tree.Retry(times, body):
            return tried(times, body, answers, last)
        case tree.Parallel(branches):
            done = [asked_by(b, answers, last, is_caught=is_caught) for b in branches]
            lasts = [ends for went, ends in done if went]
            after = frozenset().union(*lasts) if lasts else last
            return [name for went, _ in done for name in went], after
    return [step.agent], frozenset([step.agent])


def tried(times, body, answers, last):
    """All of it again while it fails."""
    went = []
    for _ in range(1 + times):
        here, after = asked(body, answers, last, is_caught=True)
        went += here
        if not (here and has_failed(answers, after)):
            break
    return went, after


def has_failed(answers, last):
    return any(answers[agent] == "failed" for agent in last)


def holds(code, answers, last):
    ends = [answers[agent] for agent in last]
    words = {"passed": {"ok", "issues"}, "failed": {"failed"}, "issues": {"issues"}}
    words["success"] = words["passed"]
    every = {word: all(end in ways for end in ends) for word, ways in words.items()}
    some = {word: any(end in ways for end in ends) for word, ways in words.items()}
    scope = {**every, "failed": some["failed"], "issues": some["issues"]}
    return decide(code, scope | {"all": every, "any": some}) == "yes"


def numbered(body):
    """The same tree with an agent of its own for each call."""
    agents = (f"agent{number}" for number in range(1_000))

    def sequence(body):
        return tree.Sequence(
            tuple(
                tree.Segment(tuple(map(step, each.steps)), each.condition)
                for each in body.segments
            )
        )

    def step(each):
        match each:
            case tree.Group(body):
                return tree.Group(sequence(body))
            case tree.Retry(times, body):
                return tree.Retry(times, sequence(body))
            case tree.Parallel(branches):
                return tree.Parallel(tuple(map(step, branches)))
            case tree.Mark():
                return each
        return tree.Call(next(agents))

    return sequence(body)


QUESTIONS = st.sampled_from(
    [f"{group} {word}".strip() for word in WORDS for group in ("", "no", "all", "any")]
).map(read_condition)
CALLS = st.builds(tree.Call, names)
BODIES = sequences(nested(CALLS, QUESTIONS), QUESTIONS).map(numbered)


ANSWERS = st.lists(st.sampled_from(["ok", "issues", "failed"]), min_size=20)
CAUGHT = tree.Segment((tree.Call("agent999"),), read_condition("failed"))


@given(body=BODIES, answers=ANSWERS)
def test_a_plan_asks_whom_its_tree_asks(body, answers):
    """Edges, tokens and last steps come to the same as reading the tree aloud."""
    whole = tree.Sequence((tree.Segment((tree.Group(body),)), CAUGHT))
    said = {f"agent{n}": answers[n % len(answers)] for n in range(1_000)}
    run = Run(compile_flow(tree.Flow(whole)), {n: [a] for n, a in said.items()})

    run.go()

    assert run.asked == asked(whole, said, frozenset(), is_caught=False)[0]
    assert run.ended.keys() == run.plan["nodes"].keys()
