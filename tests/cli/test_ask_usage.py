"""`hostbridge ask` called in a way that means nothing: exit 2, and what to do."""

from __future__ import annotations

import os

import pytest

HELP = "see `hostbridge ask --help`"
USAGE = {
    "": 'no prompt; try: hostbridge ask "Which modules lack tests?"',
    "x --route moon": "route 'moon': expected one of auto, host, claude, local, "
    "endpoint",
    "x --timeout inf": "timeout inf: expected seconds, more than 0 and not for ever",
    "x --timeout -1": "timeout -1: expected seconds, more than 0 and not for ever",
    "x --timeout 0": "timeout 0: expected seconds, more than 0 and not for ever",
    "x --timeout nan": "timeout_s nan: expected a number of seconds, or a timedelta",
    "x --timeout soon": f"ask: --timeout: expected a number, got 'soon'; {HELP}",
    "x --model hauku": "an open session knows no model 'hauku'; did you mean haiku?",
    "x --model claude-opus-4": "an open session knows no model 'claude-opus-4'; did "
    "you mean opus?",
    "x --model gpt": "an open session knows no model 'gpt'; known models are: fable, "
    "haiku, inherit, opus, sonnet",
    "Explorer x": "no agent is named 'Explorer'; did you mean Explore? (if both words "
    "are the prompt, quote them: hostbridge ask 'Explorer x')",
    "which modules": "no agent is named 'which'; known agents are: Explore, Plan, "
    "claude, claude-code-guide, general-purpose, researcher, statusline-setup, "
    "validation-runner, validator-integration, validator-logic, validator-security, "
    "validator-syntax (if both words are the prompt, quote them: hostbridge ask 'which "
    "modules')",
    "Explore": "'Explore' is an agent, and there is no prompt; try: hostbridge ask "
    'Explore "Which modules lack tests?" (to ask about that word alone: '
    "hostbridge ask general-purpose Explore)",
    "x --schema no.json": "no.json: no such file or directory",
    "x --schema bad.json": "bad.json:2:10: not JSON: unexpected character, expected "
    "':' after key",
    "x --schema list.json": "list.json: expected a JSON Schema (an object), got list",
    "x --schema odd.json": 'odd.json: not a JSON Schema: $.type: "strin" is not valid '
    "under any of the schemas listed in the 'anyOf' keyword",
    "x --schema slip.json": "slip.json: allows anything: $: JSON Schema has no keyword "
    "'tpye'; did you mean 'type'?",
    "x --schema latin.json": "latin.json: expected UTF-8, got byte 0xfc at offset 13",
    "which modules have none": "4 words; put the prompt in quotes: hostbridge ask "
    "'which modules have none'",
    "Plan which modules first": "4 words; put the prompt in quotes: hostbridge ask "
    "Plan 'which modules first'",
    "x --prio high": f"ask: no such option: --prio (did you mean --priority?); {HELP}",
    "x --priority top": "ask: --priority: invalid choice: 'top' (choose from 'high', "
    f"'normal', 'low'); {HELP}",
    "x --timeout": f"ask: --timeout: expected one argument; {HELP}",
}


@pytest.mark.parametrize("words", USAGE)
@pytest.mark.usefixtures("host")
def test_error_usage_is_exit_2(project, words):
    """Each says what is wrong and where; nothing was asked."""
    (project.folder / "bad.json").write_text('{\n  "type" "object"}')
    (project.folder / "list.json").write_text("[]")
    (project.folder / "odd.json").write_text('{"type": "strin"}')
    (project.folder / "slip.json").write_text('{"tpye": "object"}')
    (project.folder / "latin.json").write_bytes(b'{"title": "gr\xfc\xdf"}')

    ran = project.run("ask", *words.split())

    assert ran == (2, "", f"hostbridge: {USAGE[words]}\n")
    assert not list(project.state.glob("requests/*"))


@pytest.mark.usefixtures("host")
def test_error_prompt_from_a_pipe_is_not_utf8(project):
    """A prompt that arrives garbled is worse than none."""
    ran = project.run("ask", "-", stdin="grüß".encode("latin-1"))

    ran.fails(2, "the prompt (from stdin): expected UTF-8, got byte 0xfc at offset 2")


@pytest.mark.usefixtures("host")
def test_error_prompt_argument_is_not_utf8(project):
    """The same for one that comes by argument."""
    ran = project.run("ask", os.fsdecode(b"gr\xfc\xdf"))

    ran.fails(2, "the prompt: expected UTF-8, got byte 0xfc at offset 2")
