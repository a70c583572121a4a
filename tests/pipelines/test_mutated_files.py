"""Damaged pipelines: problems, each with a line, or a plan; never a crash."""

import random
import re
from pathlib import Path

import pytest
from thoroughness import due, rounds

from bridge.pipelines.compiler import compile_pipeline
from bridge.pipelines.reader import read_pipeline
from bridge.shipped import optional_folder

pytestmark = pytest.mark.slow

FOLDER = optional_folder("workflows")
assert FOLDER is not None
SHIPPED = (FOLDER / "coordinator.yaml").read_text()
SMALL = """\
name: nightly
inputs: {rounds: 3, who: {type: string, required: true}}
allow: ["Bash(pytest [-q])"]
steps:
  - {id: tests, exec: [pytest, -q], on_failure: skip, timeout: 5m}
  - {id: pause, wait: 30s}
  - id: mend
    condition: steps.tests.status == "failed"
    agent: general-purpose
    prompt: "Mend ${{ steps.tests.output.stdout }} for ${{ inputs.who }}"
    repeat: {from: tests, while: steps.tests.status == "failed", max: 3}
  - {id: kept, set: {a: 1, b: [x, {c: null}]}}
  - {id: asked, approval: {message: "Go on?", timeout: 60}}
outputs: {mended: "${{ steps.mend.output }}"}
"""
PARTS = [
    "null", "{}", "[]", "~", "-1", "1e999", ".nan", "true", "2026-01-01", "!!binary x",
    "&a", "*a", "<<: *a", "${{", "}}", "${{ }}", "${{ steps }}", "\t", "\0",
    "💥", "'", '"', ": ", "- ", "  ", "\n", "|", "? ", "0x10", "9" * 400, "(" * 300,
]  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """A text in which a few places are cut out, doubled or written over."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        to = min(len(text), at + chance.randint(0, 40))
        lines = text.split("\n")
        match chance.randrange(4):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + chance.choice(PARTS) + text[to:]
            case 2:
                words = [*re.finditer(r"[\w.]+", text)]
                word = chance.choice(words)
                other = chance.choice([*PARTS, chance.choice(words)[0]])
                text = text[: word.start()] + other + text[word.end() :]
            case _:
                line = chance.randrange(len(lines))
                lines.insert(chance.randrange(len(lines)), lines[line])
                text = "\n".join(lines)
    return text


def test_a_damaged_file_has_problems_or_a_plan():
    chance = random.Random(due())  # noqa: S311 - no secret
    number, plans = rounds(1000), 0
    for source in [SHIPPED, SMALL] * number:
        text = mutated(source, chance)
        pipeline = read_pipeline(text, Path("x.yaml"))
        if pipeline.errors:
            for each in pipeline.errors:
                assert re.match(r"x\.yaml:\d+", str(each)), (each, text)
        else:
            plans += 1
            assert compile_pipeline(pipeline)["nodes"], text
    assert 0 < plans < 2 * number
