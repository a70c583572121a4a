"""Flows for property tests: trees as a parser makes them, and texts close to flows."""

from flow_inputs import PIECES
from hypothesis import strategies as st

from bridge.flow import syntax_tree as tree
from bridge.flow.condition import read_condition

_SIGNS = st.sampled_from(
    [*'{}"\\:?.,n\n\t []()#$@-|~> a', "{x}", "{{ y }}", "→", "\x85"]
)
_CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"))
plain = st.lists(_SIGNS | _CHARACTERS, max_size=4).map("".join)
names = st.sampled_from(
    ["a", "b-c", "retry", "if", "call", "x1--y", "größe", "tools", "no", "_"]
)
conditions = st.sampled_from(
    ["passed", "no issues", "all passed", "any issues && passed", '"(" != ")"',
     "!{x.y-z} and (x == 'a' || any failed)", '{x} contains "~>"']
).map(read_condition)  # fmt: skip
outputs = st.none() | names
references = st.builds(
    tree.Reference, names, st.lists(names, max_size=2).map(tuple), st.booleans()
)
parameters = st.builds(tree.Parameter, names, st.none() | plain)


def _joined(parts):
    """Parts as they are read: texts that touch are one, and none is empty."""
    joined = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return tuple(joined)


@st.composite
def _texts(draw):
    # Composite strategies have short names: hypothesis writes all of them out.
    return _joined(draw(st.lists(plain | references | parameters, max_size=3)))


texts = _texts()


@st.composite
def _said(draw):
    text = draw(st.none() | texts)
    return text, None if text is None else draw(outputs)


@st.composite
def _calls(draw):
    agent = draw(names | names.map("${}".format) | names.map("plug-in:{}".format))
    return tree.Call(agent, *draw(_said()))


@st.composite
def _marks(draw):
    bound = draw(st.none() | st.integers(1, 1000))
    name = draw(names.filter(lambda name: name != "call"))
    return tree.Mark(name, *draw(_said()), bound)


_arguments = st.dictionaries(names, texts, max_size=2).map(lambda d: tuple(d.items()))
leaves = _calls() | _marks() | st.builds(tree.SubFlow, names, _arguments, outputs)


@st.composite
def sequences(draw, steps, conditions=conditions):
    """Sequences of these steps: after the first, every segment has a guard."""
    guards = draw(st.lists(conditions, max_size=2))
    first = draw(st.none() | conditions)
    chains = st.lists(steps, min_size=1, max_size=3).map(tuple)
    return tree.Sequence(
        tuple(tree.Segment(draw(chains), guard) for guard in (first, *guards))
    )


def _is_needed(body):
    """Whether brackets around it say something."""
    first, *more = body.segments
    return bool(more or first.condition or len(first.steps) > 1)


def nested(leaves, conditions=conditions):
    """Steps with groups in groups."""

    def around(steps):
        branches = st.lists(steps, min_size=2, max_size=3).map(tuple)
        bodies = sequences(steps, conditions)
        found = st.builds(tree.Parallel, branches)
        found |= bodies.filter(_is_needed).map(tree.Group)
        return found | st.builds(tree.Retry, st.integers(1, 2), bodies)

    return st.recursive(leaves, around, max_leaves=6)


@st.composite
def _flows(draw):
    definitions = {
        name: tree.FlowAgent(name, base, prompt, model)
        for name, base, prompt, model in draw(st.lists(_DEFINITIONS, max_size=2))
    }
    declared = {
        name: tree.Declared(name, description, default)
        for name, description, default in draw(st.lists(_DECLARED, max_size=2))
    }
    head = tree.Head(draw(plain), draw(plain), tuple(declared.values()))
    body = draw(sequences(nested(leaves)))
    return tree.Flow(body, tuple(definitions.values()), head)


_WORDS = plain.filter(bool)
_DEFINITIONS = st.tuples(names, _WORDS, texts, st.none() | _WORDS)
_DECLARED = st.tuples(names, plain, st.none() | plain)
flows = _flows()

pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
