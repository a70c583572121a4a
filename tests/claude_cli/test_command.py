"""The command line of `claude -p`: what is in it, and what is not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.agents.definition import Definition, Source
from bridge.claude_cli.command import command_line, prompt_of, structured_schema
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.contract import HEADING
from bridge.protocol.request import Request

MODULES = {"type": "object", "properties": {"modules": {"type": "array"}}}
ALWAYS = [
    "/bin/claude", "-p", "--output-format", "json", "--verbose",
    "--permission-mode", "dontAsk",
]  # fmt: skip


def asked(**fields: Any) -> Request:
    return Request(**{"request_id": "r", "prompt": "Which?", **fields})


def defined(**fields: Any) -> Definition:
    source = Source(file=Path("a.yaml"), layer="user", spelling="yaml", digest="0" * 64)
    return Definition(**{"name": "checker", "source": source, **fields})


def flags(request: Request, definition: Definition | None = None) -> list[str]:
    """What follows the flags that are always there, without the schema."""
    command = command_line("/bin/claude", request, definition)
    assert command[: len(ALWAYS)] == ALWAYS
    rest = command[len(ALWAYS) :]
    if "--json-schema" in rest:
        at = rest.index("--json-schema")
        del rest[at : at + 2]
    return rest


def test_the_schema_is_given_and_the_prompt_is_not():
    """Anybody on the machine can read a command line."""
    request = asked(prompt="a secret", schema=MODULES)

    command = command_line("/bin/claude", request)

    assert command == [*ALWAYS, "--json-schema", json.dumps(MODULES).replace(" ", "")]
    assert prompt_of(request) == "a secret"


def test_without_a_schema_it_is_an_agent_output():
    command = command_line("/bin/claude", asked())

    assert json.loads(command[-1]) == ANSWER_SCHEMA
    assert "letter for letter" in prompt_of(asked())
    assert HEADING not in prompt_of(asked())


def test_a_dialect_is_not_named():
    """The client refuses the 2020-12 one by its name, and its own is taken anyway."""
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", **MODULES}

    assert structured_schema(asked(schema=named)) == MODULES


BEYOND_THE_CLIENT = {
    "an array": {"type": "array"},
    "anything": {},
    "one of two": {"type": "object", "oneOf": [{}, {}]},
    "a reference": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    "too long": {"type": "object", "description": "x" * 100_000},
}


@pytest.mark.parametrize("schema", BEYOND_THE_CLIENT.values(), ids=BEYOND_THE_CLIENT)
def test_what_the_client_cannot_check_is_asked_for_in_words(schema):
    request = asked(schema=schema)

    assert "--json-schema" not in command_line("/bin/claude", request)
    assert prompt_of(request).startswith(f"Which?\n\n{HEADING}\n")
    assert json.dumps(schema) in prompt_of(request)


MODELS = {
    "haiku": ["--model", "haiku"],
    "claude-opus-5-5": ["--model", "claude-opus-5-5"],
    "inherit": [],
    "tiny.gguf": [],
    "openai:big": [],
}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_the_client_has_is_asked_for(model):
    assert flags(asked(model=model)) == MODELS[model]


def test_an_agent_of_the_client_is_named():
    assert flags(asked(agent_type="Explore")) == ["--agent", "Explore"]
    assert flags(asked(agent_type="general-purpose")) == []


DEFINED = {
    "nothing": ({}, []),
    "turns": ({"max_turns": 7}, ["--max-turns", "7"]),
    "tools": ({"tools": ("Read", "Grep")}, ["--tools", "Read,Grep"]),
    "no tools": ({"tools": ()}, ["--tools", ""]),
    "our tools": (
        {"tools": ("read_file", "run_command", "Read")},
        ["--tools", "Read,Bash"],
    ),
    "allow": (
        {"allow": ("Bash(git *)", "Edit")},
        ["--settings", '{"permissions":{"allow":["Bash(git *)","Edit"]}}'],
    ),
    "blocked": (
        {"blocked_tools": ("Bash", "list_files")},
        ["--disallowedTools", "Bash", "Glob"],
    ),
    "agent": ({"subagent_type": "Explore"}, ["--agent", "Explore"]),
}


@pytest.mark.parametrize("name", DEFINED)
def test_a_definition_becomes_flags(name):
    fields, expected = DEFINED[name]

    assert flags(asked(agent_type="checker"), defined(**fields)) == expected


def test_rules_that_name_options_go_to_our_own_hook():
    """The client would take the brackets for letters; it is not told them."""
    named = "Bash(pytest [-q] *)"
    definition = defined(allow=("Bash(make test)", named))

    command = command_line("/c", asked(), definition, hook=["/py", "/a b/h.py", "{}"])

    at = command.index("--settings")
    assert not any("[-q]" in word for word in command)
    settings = json.loads(command[at + 1])
    assert settings["permissions"] == {"allow": ["Bash(make test)"]}
    hooks = [h for (group,) in settings["hooks"].values() for h in group["hooks"]]
    ran = {(h["command"], *h["args"])[-3:] for h in hooks}
    assert ran == {("/py", "/a b/h.py", "{}")}


@pytest.mark.parametrize(
    ("event", "hook", "said"),
    [
        ("PreToolUse", ["/gone/python"], "deny"),
        ("PreToolUse", [sys.executable, "-c", "import gone"], "deny"),
        ("PreToolUse", ["/bin/sh", "-c", "kill -ALRM $$"], "deny"),
        ("PreToolUse", ["/bin/sh", "-c", "exit 2"], "deny"),
        ("PreToolUse", ["/bin/sh", "-c", "kill $PPID; exec sleep 60"], "deny"),
        ("PreToolUse", ["/bin/sh", "-c", "exit 0"], ""),
        ("PreToolUse", ["/bin/cat"], "event"),
        ("Stop", ["/bin/sh", "-c", "exit 0"], ""),
    ],
)
def test_a_hook_that_fails_denies_the_call(event, hook, said):
    command = command_line("/c", asked(), hook=hook)
    settings = json.loads(command[command.index("--settings") + 1])
    (entry,) = settings["hooks"][event][0]["hooks"]

    ended = subprocess.run(
        [entry["command"], *entry["args"]],
        input=b'{"hookSpecificOutput": {"permissionDecision": "event"}}',
        capture_output=True,
        check=True,
    )

    output = json.loads(ended.stdout or "{}").get("hookSpecificOutput", {})
    assert output.get("permissionDecision", "") == said


def test_one_with_bash_is_told_how_to_search():
    """Beside Bash the client has neither Grep nor Glob, whatever `--tools` names."""
    request = asked(schema=MODULES)

    said = prompt_of(request, defined(tools=("Grep", "Bash"), allow=("Bash(ls *)",)))

    assert said == (
        "Which?\n\nGrep and Glob are not among your tools here: search with `grep` and "
        "`find` in Bash, one plain command per call. Besides commands that only look, "
        "these forms are granted: `ls *`."
    )
    assert prompt_of(request, defined(tools=("Read", "Grep"))) == "Which?"


def test_a_fork_goes_on_with_a_closed_session_and_is_not_kept():
    session = "2a7e1085-53c1-4e35-b1f6-ba690b56d53d"

    given = flags(asked(route="claude", context_from="session", session=session))

    resumed = ["--resume", session, "--fork-session", "--no-session-persistence"]
    assert given == resumed
