"""Answers copied from an example are rejected; the same answer may also be right."""

import pytest
from runworld import call, definition, submit

from bridge.agents.definition import Example, ExampleCall


def example(prompt: str, summary: str, *calls: ExampleCall) -> Example:
    answer = {"status": "success", "summary": summary}
    return Example(prompt=prompt, calls=calls, answer=answer)


SAID = "etc/cron.conf makes the job sync run every 10 minutes."
FILE, HELD = {"path": "etc/cron.conf"}, "every = 10m\njob = sync"
READ = ExampleCall(tool="read_file", arguments=FILE, result=HELD)
EXAMPLE = example("Explain etc/cron.conf to me.", SAID, READ)
AGENT = definition(examples=(EXAMPLE,))
ASKED = "Which modules have no test?"


@pytest.mark.parametrize("is_small", [True, False], ids=["local", "endpoint"])
@pytest.mark.parametrize(
    "said",
    [SAID, f" {SAID.upper()}\n", f"**{SAID[:-1]}**!"],
    ids=["as-is", "case", "punctuation"],
)
@pytest.mark.parametrize("status", ["success", "failed", "blocked"])
def test_error_a_copied_answer(world, is_small, said, status):
    """Once this was a success, about a file that nobody had asked about."""
    asked = {"agent": AGENT, "asks": ASKED, "is_small": is_small}
    outcome = world.run(submit(status, said), **asked)

    assert outcome.verdict.code == "prompt_echo"
    assert outcome.verdict.parsed is None
    example = "the answer of the example 'Explain etc/cron.conf to me.'"
    assert outcome.verdict.detail == f"it is {example}"
    told = f"this is word for word {example}; answer the task: {ASKED!r}"
    assert told in world.model.results()[-1]
    assert outcome.run.turns == 3


def test_error_a_copy_of_a_default_example(world):
    said = "backup/weekly has two files: a.tar and b.tar."

    outcome = world.run(submit(summary=said), asks=ASKED, is_small=True)

    assert outcome.verdict.code == "prompt_echo"


def test_the_model_may_answer_again_in_its_own_words(world):
    said = submit(summary=SAID), submit(summary="billing has none")
    outcome = world.run(*said, agent=AGENT)

    assert outcome.verdict.parsed["summary"] == "billing has none"


@pytest.mark.parametrize(
    ("prompt", "asks", "code"),
    [
        (EXAMPLE.prompt, "Please: explain  etc/cron.conf to me. Be short.", None),
        # `latest` has the word `test` only as a part.
        ("test", "the latest?", "prompt_echo"),
    ],
)
def test_the_same_question_may_have_the_same_answer(world, prompt, asks, code):
    agent = definition(examples=(example(prompt, SAID, READ),))

    outcome = world.run(submit(summary=SAID), agent=agent, asks=asks)

    assert outcome.verdict.code == code


@pytest.mark.parametrize(
    ("holds", "code"),
    [("every = 10m\njob = sync\n", None), ("every = 1h\n", "prompt_echo")],
)
def test_the_same_result_may_give_the_same_answer(world, holds, code):
    world.write("etc/cron.conf", holds)

    outcome = world.run(call("read_file", **FILE), submit(summary=SAID), agent=AGENT)

    assert outcome.verdict.code == code


@pytest.mark.parametrize(("exit_code", "code"), [(0, None), (1, "prompt_echo")])
def test_the_same_exit_code_may_give_the_same_answer(world, exit_code, code):
    """The output itself may differ: it may hold the time."""
    command = {"command": "sh check.sh"}
    ran = ExampleCall(tool="run_command", arguments=command, result="exit code 0\nOK")
    said = "sh check.sh exited with 0: it succeeds."
    shown = example("Does sh check.sh succeed?", said, ran)
    world.write("check.sh", f"date; exit {exit_code}")

    outcome = world.run(
        call("run_command", **command),
        submit(summary=said),
        agent=definition(examples=(shown,), allow=("Bash(sh check.sh)",)),
    )

    assert outcome.verdict.code == code


@pytest.mark.parametrize("summary", ["all tests passed", "src/app/main.py", "none"])
def test_a_short_answer_may_be_the_same(world, summary):
    agent = definition(examples=(example("Which?", summary),))

    outcome = world.run(submit(summary=summary), agent=agent, asks=ASKED)

    assert outcome.verdict.code is None


LEVELS = {
    "type": "object",
    "properties": {
        "level": {"enum": ["all of it is fine", "some of it is odd"]},
        "why": {"type": "string"},
    },
}
LEVEL = Example(
    prompt="How is a.py?",
    answer={"level": "all of it is fine", "why": "it has nothing odd in it"},
)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"level": "all of it is fine"}, None),
        ({"level": "all of it is fine", "why": "every line of b.py was read"}, None),
        (LEVEL.answer, "prompt_echo"),
        (LEVEL.answer | {"level": "some of it is odd"}, "prompt_echo"),
    ],
    ids=["choice", "choice-and-own-reason", "all", "reason-of-the-example"],
)
def test_a_choice_of_the_schema_may_be_the_same(world, answer, code):
    outcome = world.run(
        call("submit_result", **answer),
        agent=definition(examples=(LEVEL,)),
        schema=LEVELS,
        asks="How is b.py?",
    )

    assert outcome.verdict.code == code


def test_an_example_that_was_not_shown_does_not_count(world):
    """It does not fit the caller's schema, so the model never saw it."""
    properties = {"summary": {"type": "string"}, "n": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["n"]}
    said = call("submit_result", summary=SAID, n=1)

    outcome = world.run(said, agent=AGENT, schema=schema)

    assert outcome.verdict.code is None
