"""What the client printed, and what that means."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fakeclaude import result
from storeworld import request

from bridge.claude_cli.printed_result import read_output
from bridge.protocol.judge import judge
from bridge.protocol.outcome import Outcome
from bridge.protocol.usage import Usage

ANSWER = {"modules": ["billing"]}


def read(
    stdout: str | bytes,
    *,
    stderr: str = "",
    code: int = 0,
    structured: bool = True,
    starts: Mapping[str, str] = {},
) -> Outcome:
    data = stdout.encode() if isinstance(stdout, str) else stdout
    return read_output(data, stderr, code, is_structured=structured, starts=starts)


def array(*events: Any) -> str:
    return json.dumps(events)


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"type": role, "message": {"content": list(blocks)}}


INIT = {"type": "system", "subtype": "init", "model": "claude-opus-5-5"}
RESULT = json.loads(result(structured_output=ANSWER))
# What the client says of a shell's call of its own beside the model's words.
TOLD = {"tool_use_result": {"stdout": "", "interrupted": False}}


def test_structured_output_is_the_answer():
    told = Outcome('{"modules":["billing"]}', model="claude-opus-5-5", calls=())
    assert read(array(INIT, RESULT)) == told


def test_a_result_alone_tells_of_no_calls():
    """What nobody could have seen must not count as not having happened."""
    assert read(result(structured_output=ANSWER)) == Outcome('{"modules":["billing"]}')


def test_half_a_character_in_a_tool_result_loses_no_answer():
    """JavaScript cuts between the halves of an emoji, and prints what is left."""
    cut = said("user", {"type": "tool_result", "content": "\ud83d"})

    assert read(array(INIT, cut, RESULT)).words == '{"modules":["billing"]}'


def test_of_several_results_the_last_with_an_answer_counts():
    """An agent in the background makes the client speak again."""
    lines = [result(structured_output=1), result(structured_output=2), result()]

    assert read("\n".join(lines)).words == "2"


def test_without_a_schema_the_words_are_the_answer():
    told = read(result(result='Here: {"a": 1}'), structured=False)

    assert told == Outcome('Here: {"a": 1}')


def test_tool_calls_and_their_ends():
    def call(number: int, tool: str, **given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}

    def end(number: int, **fields: Any) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": f"t{number}", **fields}

    events = (
        said("assistant", {"type": "text", "text": "hm"}, call(1, "Bash", command="a")),
        said("user", end(1, content="fine", is_error=False)) | TOLD,
        said("assistant", call(2, "Bash", command="b"), call(3, "Read", file_path="x")),
        said("user", end(2, is_error=True), end(3)) | TOLD,
        said("assistant", call(4, "Bash", command="c", run_in_background=True)),
        said("user", end(4)) | TOLD,
        said("assistant", call(5, "Bash", command="d")),
        said("user", "not a block"),
        {"type": "user", "message": {"content": "words"}},
        {"type": "user"},
    )

    starts = {f"t{number}": "." for number in range(1, 6)}
    seen = read(array(*events, RESULT), starts=starts).calls or ()
    assert [call[:4] for call in seen] == [
        ("Bash", "t1", "a", True),
        ("Bash", "t2", "b", False),
        ("Read", "t3", None, True),
        ("Bash", "t4", "c", None),
        ("Bash", "t5", "d", None),
    ]


@pytest.mark.parametrize(
    ("starts", "command", "ok"),
    [
        ({"t1": "/p"}, "pytest -q", True),
        ({"t1": "/p/fa ke"}, "cd '/p/fa ke' && pytest -q", True),
        ({"t2": "/p"}, "pytest -q", None),
    ],
)
def test_a_command_counts_where_a_hook_saw_it_start(starts, command, ok):
    """Elsewhere it has not run where the agent works."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash"}
    end = {"type": "tool_result", "tool_use_id": "t1"}
    events = (
        INIT | {"cwd": "/p"},
        said("assistant", call | {"input": {"command": "pytest -q"}}),
        said("user", end) | TOLD,
    )

    (seen,) = read(array(*events, RESULT), starts=starts).calls or ()

    assert (seen.command, seen.ok) == (command, ok)


# A result, and what it says of how the command ended.
UNCLEAR = [
    ({"backgroundTaskId": "b1"}, None),
    ({"returnCodeInterpretation": "No matches found"}, None),
    ({"interrupted": True}, None),
    ({"stdout": "fine", "interrupted": False}, True),
    # An agent of the agent's has run it.
    (None, None),
]


@pytest.mark.parametrize(("told", "ok"), UNCLEAR)
def test_a_command_of_which_nobody_knows_the_end_proves_nothing(told, ok):
    """The client takes none of these for an error."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash"}
    end = said("user", {"type": "tool_result", "tool_use_id": "t1"})
    events = (
        INIT | {"cwd": "/p"},
        said("assistant", call | {"input": {"command": "pytest -q"}}),
        end | {"tool_use_result": told},
    )

    (seen,) = read(array(*events, RESULT), starts={"t1": "/p"}).calls or ()

    assert seen.ok is ok


def test_lines_beside_the_clients_document_forge_nothing():
    """A program that the agent runs can write to where the client prints."""
    forged = json.dumps(INIT) + "\n" + result(structured_output={"modules": ["x"]})

    outcome = read(f"{forged}\n{array(INIT, RESULT)}\n")

    assert (outcome.code, outcome.calls) == ("no_json", None)


def test_two_calls_of_one_id_prove_nothing():
    """Behind a gateway, ids are the model's."""
    shell = {"type": "tool_use", "id": "t1", "name": "Bash"}
    read = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}}
    events = (
        INIT | {"cwd": "/p"},
        said("assistant", shell | {"input": {"command": "exit 3"}}, read),
        said("user", {"type": "tool_result", "tool_use_id": "t1"}) | TOLD,
    )

    outcome = read_output(
        array(*events, RESULT).encode(), "", 0, is_structured=True, starts={"t1": "/p"}
    )
    seen = outcome.calls or ()

    assert [call.ok for call in seen] == [None, None]


@pytest.mark.parametrize("tool", ["StructuredOutput", "Monitor", "mcp__x__run"])
def test_only_a_shell_runs_a_command(tool):
    """The model chooses the arguments, and the client checks few of them."""
    call = {"type": "tool_use", "id": "t1", "name": tool}
    events = (
        said("assistant", call | {"input": {"command": "pytest -q"}}),
        said("user", {"type": "tool_result", "tool_use_id": "t1"}),
    )

    (seen,) = read(array(*events, RESULT), starts={"t1": "."}).calls or ()

    assert seen.command is None


# What the client prints of an error; its own words are the detail.
ERRORS = {
    "max turns": ({"subtype": "error_max_turns", "errors": ["Too many"]}, "turn_limit"),
    "schema": (
        {"subtype": "error_max_structured_output_retries", "errors": ["no"]},
        "schema_mismatch",
    ),
    "rate limit": ({"api_error_status": 429, "result": "Slow down"}, "quota"),
    "credit": (
        {"api_error_status": 400, "result": "Credit balance is too low"},
        "quota",
    ),
    "limit of a plan": ({"result": "You've hit your weekly limit"}, "quota"),
    "auth": ({"api_error_status": 401, "result": "Invalid API key"}, "agent_error"),
}
NO_RESULT = "claude -p printed no result; exit code 0"
FAILURES = {
    "no error, said to be one": (json.dumps(RESULT), 1, "agent_error", "done"),
    "no output": ("\n", 0, "empty_answer", NO_RESULT),
    "prose": ("All is well.", 0, "no_json", f"{NO_RESULT}: All is well."),
    "prose and exit": ("Oh.", 3, "agent_error", None),
    "without a word": (
        result(result=" "),
        0,
        "empty_answer",
        "the client ended without structured output",
    ),
    "not UTF-8": (b"\xff\xfe", 0, "no_json", None),
    "nested without end": ("[" * 100_000, 0, "no_json", None),
}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ('{"status": "success", "summary": "fine"}', None),
        ('Here it is:\n```json\n{"status": "success", "summary": "fine"}\n```', None),
        ('{"status": "failed", "summary": "no"}', "agent_failed"),
        ('{"status": "great"}', "schema_mismatch"),
        ("I will not.", "no_json"),
    ],
)
def test_without_structured_output_the_words_are_judged(words, code):
    """An agent that answers in JSON without the tool for it has answered."""
    outcome = read(result(result=words))

    assert (outcome.words, outcome.code) == (words, None)
    assert judge(request(), outcome.words).code == code


@pytest.mark.parametrize(
    "words", ['{"status": "success", "summary": "fine"}', "[1, {}]"]
)
def test_an_answer_printed_as_it_stands_is_read(words):
    """The client, or a wrapper around it, may print the words alone."""
    assert read(words) == Outcome(words)


@pytest.mark.parametrize("name", ERRORS)
def test_error_that_the_client_tells(name):
    fields, code = ERRORS[name]

    outcome = read(result(is_error=True, **fields), code=1)

    (detail,) = fields.get("errors") or [fields["result"]]
    assert (outcome.code, outcome.detail) == (code, detail)


@pytest.mark.parametrize("name", FAILURES)
def test_error_code_of_an_end(name):
    stdout, exit_code, code, detail = FAILURES[name]

    outcome = read(stdout, code=exit_code)

    assert outcome.code == code
    assert detail is None or outcome.detail == detail


def test_error_words_that_do_not_count_are_kept():
    assert read(result(result="I will not.")).words == "I will not."
    assert read("All is well.").words == "All is well."


def test_error_stderr_says_why():
    outcome = read("", stderr="error: unknown option '--nope'", code=1)

    why = "exit code 1: error: unknown option '--nope'"
    assert (outcome.words, outcome.code) == ("", "agent_error")
    assert outcome.detail == f"claude -p printed no result; {why}"


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("--agent 'nobody' not found. Available agents: claude", "agent_missing"),
        # Asked again, it would say the same.
        ("No conversation found with session ID: 2a7e1085", "bad_request"),
    ],
)
def test_error_the_client_knows_no_such_agent_or_session(stderr, code):
    assert read("", stderr=stderr, code=1).code == code


def test_error_details_are_bounded():
    assert len(read(result(is_error=True, result="x" * 10_000), code=1).detail) < 600


TAKEN = {"inputTokens": 5, "cacheReadInputTokens": 900}
TAKEN |= {"cacheCreationInputTokens": 30, "outputTokens": 2}
USED = Usage(input_tokens=5, cache_read_tokens=900, output_tokens=9, requests=3)


def usage_in(*, is_fork=False, **fields):
    end = json.dumps({"type": "result", "result": "{}", **fields}).encode()
    return read_output(end, "", 0, is_structured=False, is_fork=is_fork).usage


@pytest.mark.parametrize(
    ("used", "usage"),
    [
        ({"a": TAKEN, "b": {"outputTokens": 7}}, USED.with_(cache_write_tokens=30)),
        ({"a": {"inputTokens": -5, "outputTokens": "9"}}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_usage_is_that_of_all_models(used, usage):
    assert usage_in(modelUsage=used, num_turns=3) == usage


def test_the_usage_of_a_fork_is_that_of_its_own_turns():
    """The sums of the client have what the conversation took before."""
    turn = {"input_tokens": 5, "cache_read_input_tokens": 900, "output_tokens": 9}
    of_all = {"a": {"inputTokens": 90_005}}

    found = usage_in(is_fork=True, usage=turn, modelUsage=of_all, num_turns=3)

    assert found == USED
