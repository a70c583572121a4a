"""What pytest prints of a program with a mistake: the smallest answer that shows it."""

import os
import re
import sys

import pytest
import samples
from programs import ran

pytestmark = pytest.mark.slow

ANSWER = "answer({'status': 'success', 'summary': '0'})\n"
ASKED = "E       general-purpose was asked "
EMPTY = "'Which modules lack tests?': answer({'modules': []})"
# By its test: what a program raises, and the answer that is named.
MISTAKES = {
    "test_it_names_one": (
        samples.EMPTY,
        "IndexError: list index out of range",
        f"E       Explore was asked 'Is it ready?': {ANSWER}{ASKED}{EMPTY}",
    ),
    "test_it_always_says_something": (
        samples.QUOTA,
        "failed: the model refused because of usage limits",
        "outcome=failure('quota'),\n",
    ),
    "test_it_prints_or_not": (
        samples.QUESTION,
        "KeyError: 'enum'",
        f"{ASKED}'Print the prices.': asks('0', {{'type': 'string'}})",
    ),
    "test_it_takes_time": (
        samples.CACHED,
        "assert took_ms() >= 0",
        f"{ASKED}'Is it ready?': {ANSWER}",
    ),
}


def found_in(folder, *programs, options=()):
    """What pytest says of programs, in a folder of their own and with no memory."""
    folder.mkdir()
    samples.lend_tables(folder)
    for number, program in enumerate(programs):
        (folder / f"test_{number}.py").write_text(program)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *options)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = ran(sys.executable, *words, cwd=folder, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_a_mistake_is_found_by_the_smallest_answer(tmp_path):
    said = found_in(tmp_path / "p", *(program for program, *_ in MISTAKES.values()))

    _, *parts = re.split(r"^_+ (test_\w+) _+$", said, flags=re.M)
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    assert found.keys() == MISTAKES.keys()
    for test, (_, raised, smallest) in MISTAKES.items():
        assert raised in found[test]
        assert smallest in found[test]
    assert "passed" not in said


def test_the_same_seed_finds_the_same(tmp_path):
    """Even before it is made smaller: what is drawn depends on the seed alone."""
    program = samples.EMPTY.replace(
        "max_examples=60", "max_examples=60, database=None, phases=[Phase.generate]"
    ).replace("from pydantic", "from hypothesis import Phase\nfrom pydantic")

    seed = ["--hypothesis-seed=7"]
    said = [found_in(tmp_path / name, program, options=seed) for name in ("a", "b")]
    first, second = (re.findall("^E .* was asked .*", each, re.M) for each in said)

    assert len(first) >= 2
    assert first == second
