"""Repeated calls: refused while their result stands, until only the answer is left."""

from runworld import call, definition, runs, submit

ANSWER_ALONE = {"const": "submit_result"}


def repeated(number: int, earlier: int) -> str:
    return (
        f"Result of read_file (call-{number}):\nerror: this repeats call-{earlier}, "
        "whose result stands above. Do something else, or call submit_result"
    )


def offered(world) -> list[dict]:
    """The `tool` of each turn's shape, if there is one tool alone."""
    return [shape.get("properties", {}).get("tool") for shape in world.model.shapes]


def test_error_a_repeated_call(world):
    """A model that goes in circles gets an error, and then it may only answer."""
    world.write("a.txt", "one")
    again = call("read_file", path="a.txt")

    outcome = world.run(again, again, again, again, submit())

    assert world.model.results() == [
        "Result of read_file (call-1):\none",
        repeated(2, 1),
        repeated(3, 1),
        "error: no tool is named 'read_file'; there are submit_result",
    ]
    assert offered(world) == [None, None, None, ANSWER_ALONE, ANSWER_ALONE]
    assert outcome.verdict.code is None


def test_another_call_ends_the_repetition(world):
    """Two repeats count only if nothing new came between them."""
    world.write("a.txt", "one")
    read, listing = call("read_file", path="a.txt"), call("list_files")

    world.run(read, read, listing, read, submit())

    assert offered(world) == [None] * 5


def test_a_command_allows_what_was_read_to_be_read_again(world):
    """It may have changed the file; a second reading in a row says nothing new."""
    world.write("a.txt", "one")
    read = call("read_file", path="a.txt")
    remove = runs("rm a.txt")

    agent = definition(allow=["Bash(rm *)"])
    world.run(read, remove, read, read, submit(), agent=agent)

    assert world.model.results()[2:] == [
        "Result of read_file (call-3):\nerror: 'a.txt' does not exist",
        repeated(4, 3),
    ]


def test_a_small_model_may_make_the_same_call_twice(world):
    """Each of two commands allows the other again: its turns would run out."""
    both = [runs(f"echo {n}") for n in (1, 2)]
    agent = definition(allow=["Bash(echo *)"])

    outcome = world.run(*both, *both, both[0], submit(), agent=agent, is_small=True)

    assert outcome.verdict.code is None
    assert len(outcome.run.evidence) == 4
    assert offered(world)[-2:] == [None, ANSWER_ALONE]


def test_an_unverified_answer_gives_the_tools_back(world):
    """Without them the model could not run what it has to show."""
    world.write("a.txt", "one")
    again = call("read_file", path="a.txt")
    agent = definition(require_verified_evidence=True)

    world.run(again, again, again, submit(), submit("blocked"), agent=agent)

    assert offered(world) == [None, None, None, ANSWER_ALONE, None]
