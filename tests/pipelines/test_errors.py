"""What is wrong with a pipeline: every problem once, at its place, with a way out."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from bridge.pipelines.argv import NeedsShell, split_command
from bridge.pipelines.reader import read_pipeline

# Each a pipeline, and its problems below.
CASES = (Path(__file__).parent / "samples" / "errors.txt").read_text().split("\n\n")
FILE = Path("x.yaml")


def problems_of(source: str) -> list[str]:
    """Place and message of every problem."""
    shown = "\n".join(map(str, read_pipeline(source, FILE).problems))
    return re.findall(r"^x\.yaml:(.*)$", shown, re.M)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_error(case):
    lines = case.rstrip("\n").split("\n")
    wanted = [line[4:] for line in lines if re.match(r"    \d+:(\d+:)? ", line)]
    source = [line for line in lines if not re.match(r"    \d+:(\d+:)? ", line)]

    assert problems_of("\n".join(source) + "\n") == wanted


def test_an_error_shows_the_line_and_a_caret():
    line = "          ${{ inputs.banch }}, please."
    text = f"inputs: {{branch: main}}\nsteps:\n  - id: a\n    prompt: |\n{line}\n"

    [problem] = read_pipeline(text, FILE).problems

    told = "steps[0].prompt: no input is called 'banch'; did you mean 'branch'?"
    column = line.index("inputs.banch") + 1
    place = f"x.yaml:5:{column}: {told}"
    expected = [place, line.strip(), "^"]
    assert [each.strip() for each in str(problem).splitlines()] == expected


def test_an_alias_bomb_is_refused():
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"

    assert "more than 20,000 values, including those of aliases" in problems_of(bomb)[0]


@pytest.mark.parametrize("sign", ["\ue000", "\ue001", "\uf8ff"])
def test_a_private_character_stands_for_itself(sign):
    command = f"echo {sign} ${{{{ a }}}} '${{{{ b }}}} {sign}'"

    assert split_command(command) == ["echo", sign, "${{ a }}", "${{ b }} " + sign]
    with pytest.raises(NeedsShell, match=re.escape(f'"echo {sign} \\"${{1}}\\"')):
        split_command(f"{command} | cat")


@pytest.mark.parametrize("source", ["", "- a\n", "3", "[", "\0", "a: b: c"])
def test_what_is_no_pipeline_is_an_error(source):
    assert read_pipeline(source, FILE).errors


def test_others_names_for_what_an_agent_gets():
    """Servers that end in -ops are those without it."""
    source = dedent(
        """\
        steps:
          - id: a
            mcp:
              server: x-agents-ops
              tool: spawn_agent
              arguments:
                agent_definition: researcher
                prompt: Do it.
                assigned_task_id: "#1"
                task_id: "#1"
                session_variables: {careful: true}
          - id: b
            mcp: {server: x-tasks-ops, tool: get_task, arguments: {task_id: "#1"}}
        """
    )

    read = read_pipeline(source, FILE)

    assert read.problems == ()
    first, second = read.steps
    call = first.detail["call"]
    assert (call["agent"], call["task_id"]) == ("researcher", "#1")
    assert call["arguments"] == ["map", 0, "careful", True]
    assert (second.kind, second.detail["tool"]["name"]) == ("tool", "get_task")
