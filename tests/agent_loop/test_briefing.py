"""What a model reads: instructions, tools, examples, task, results."""

import pytest
from runworld import FOUND, call, definition, submit

from bridge.agent_loop.briefing import call_text, signature
from bridge.agent_loop.examples import DEFAULT
from bridge.agent_loop.job import RunLimits
from bridge.agents.definition import Example, ExampleCall
from bridge.protocol.json_schema import problem_of

YES = {"status": "success", "summary": "yes"}


def test_a_long_result_is_cut_in_the_middle(world):
    world.write("a.txt", "x" * 10_000)

    limits = RunLimits(result_chars=100)
    world.run(call("read_file", path="a.txt"), submit(), limits=limits)

    text = world.model.results()[0]
    assert text == (
        "Result of read_file (call-1):\n"
        f"{'x' * 50}\n… 9,900 characters left out …\n{'x' * 50}"
    )


def test_examples_are_messages_shared_by_all_requests(world):
    read = ExampleCall(tool="read_file", arguments={"path": "b"}, result="text")
    example = Example(prompt="Is it short?", calls=(read,), answer=YES)

    world.run(submit(), agent=definition(examples=(example,)))

    messages = world.model.asked[0]
    assert [(m.role, m.content) for m in messages[1:]] == [
        ("user", "Is it short?"),
        ("assistant", call("read_file", path="b")),
        ("user", "Result of read_file (call-1):\ntext"),
        ("assistant", submit(summary="yes")),
        ("user", "Is all well?"),
    ]
    assert world.model.prefixes == [5]


def test_examples_that_do_not_fit_are_left_out(world):
    """A caller's own schema makes the definition's examples wrong."""
    ran = ExampleCall(tool="run_command", arguments={}, result="")
    runs = Example(prompt="p", calls=(ran,), answer=YES)
    agent = definition(examples=(Example(prompt="p", answer=YES), runs))

    world.run(call("submit_result", files=[]), agent=agent, schema=FOUND)
    shared = world.model.prefixes
    world.run(submit(), agent=agent)

    assert (shared, world.model.prefixes) == ([1], [3])


def test_letters_are_not_escaped():
    """A model knows `é`, and reads it as it is in a file."""
    text = '{"tool": "read_file", "arguments": {"path": "é.txt"}}'
    assert call_text("read_file", {"path": "é.txt"}) == text
    assert signature({"const": "é"}) == '"é"'


def test_the_prefix_is_the_same_for_any_prompt(world):
    """What a model keeps must hold nothing of the request."""
    seen = []
    for prompt in ("One?", "Two?"):
        world.run(submit(), asks=prompt)
        seen.append(world.model.asked[0][: world.model.prefixes[0]])

    assert seen[0] == seen[1]


def test_the_node_is_part_of_the_task(world):
    node = {"file": "a.py", "name": "f", "type": "function", "line": 3, "text": "def f"}

    world.run(submit(), asks="Lint.", request={"node": node})

    expected = "Lint.\n\na.py, line 3, function f:\n\ndef f"
    assert world.model.asked[0][-1].content == expected


def test_a_rendered_prompt_replaces_the_requests(world):
    world.run(submit(), prompt="Rendered.")

    assert world.model.asked[0][-1].content == "Rendered."


def test_the_answer_of_a_small_model_is_degraded(world):
    """And it is not even asked for evidence."""
    outcome = world.run(submit(), is_small=True, agent=definition(tools=()))

    assert outcome.degraded
    arguments = world.model.shapes[0]["properties"]["arguments"]
    assert set(arguments["properties"]) == {"status", "summary"}


def test_a_small_model_sees_examples_and_is_kept_short(world):
    """Few-shot by default; one repeat is enough; texts are limited."""
    again = call("list_files")

    world.run(again, again, submit(), is_small=True)

    assert world.model.prefixes == [25] * 3
    shown = [m.content for m in world.model.asked[0][1:24:4]]
    assert shown[0] == DEFAULT[0].prompt
    assert world.model.shapes[2]["properties"]["tool"] == {"const": "submit_result"}
    # Its repetition is left out: the last thing that it reads is the result.
    assert world.model.results() == ["Result of list_files (call-1):\nno files"]

    world.run(call("submit_result", files=[]), schema=FOUND, is_small=True)

    item = world.model.shapes[0]["anyOf"][3]["properties"]["arguments"]
    assert item["properties"]["files"]["items"] == {"type": "string", "maxLength": 120}
    assert world.model.prefixes == [1]


def test_the_default_examples_are_valid(world):
    """An example that its tool or the answer's schema refuses would teach nonsense."""
    agent = definition(allow=("Bash(flake8 *)", "Bash(gradle *)"))

    world.run(submit(), agent=agent, is_small=True)

    offered = [shape["properties"] for shape in world.model.shapes[0]["anyOf"]]
    schemas = {each["tool"]["const"]: each["arguments"] for each in offered}
    used = {made.tool for example in DEFAULT for made in example.calls}
    assert {*used, "submit_result"} == set(schemas)
    for example in DEFAULT:
        assert problem_of(schemas["submit_result"], example.answer) is None
        for made in example.calls:
            assert problem_of(schemas[made.tool], made.arguments) is None


def test_a_small_model_reads_its_instructions_apart_from_the_task(world):
    """They are in the system message, and the task looks as in the examples."""
    asked = {"asks": "Task.", "prompt": "Be good. Task.", "instructions": "Be good."}

    world.run(submit(), is_small=True, **asked)
    small = world.model.asked[0]
    world.run(submit(), **asked)
    other = world.model.asked[0]

    assert (small[-1].content, "Be good." in small[0].content) == ("Task.", True)
    assert other[-1].content == "Be good. Task."
    assert "Be good." not in other[0].content


NAMED = {"a": {"type": "string", "description": "the\nname"}, "b": {"type": "boolean"}}


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({}, "any"),
        (True, "any"),
        ({"const": "x"}, '"x"'),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "array", "items": {"type": "integer"}}, "[integer, …]"),
        ({"type": "array"}, "[any, …]"),
        ({"anyOf": [{"type": "null"}, {"const": 1}]}, "null | 1"),
        (
            {"type": "object", "properties": NAMED, "required": ["a"]},
            "{a: string /* the name */, b?: boolean}",
        ),
        ({"type": "object"}, '{"type": "object"}'),
        ({"$ref": "#/$defs/x"}, '{"$ref": "#/$defs/x"}'),
    ],
)
def test_the_signature_of_a_schema(schema, line):
    assert signature(schema) == line
