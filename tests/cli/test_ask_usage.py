"""`hostbridge ask` called in a way that means nothing: exit 2, and what to do."""

import os

import pytest

HELP = "see `hostbridge ask --help`"
S = "hostbridge submit"
FORMS = (
    'expected a JSON Schema in a file, the schema itself (\'{"type": "object"}\'), or '
    "a pydantic model as module:Class"
)
USAGE = {
    "": 'the prompt is empty; try: hostbridge ask "Which modules lack tests?"',
    "Plan ": "the prompt is empty; try: hostbridge ask Plan "
    '"Which modules lack tests?"',
    "--": 'no prompt (- reads stdin); try: hostbridge ask "Which modules lack tests?"',
    "x --route moon": "route 'moon': expected one of auto, host, claude, local, "
    "endpoint, remote",
    "x --model hauku": "an open session knows no model 'hauku'; did you mean haiku?",
    "Explorer x": "no agent is named 'Explorer'; did you mean Explore? (if both words "
    "are the prompt, quote them: hostbridge ask 'Explorer x')",
    "Explore": "'Explore' is an agent, and there is no prompt; try: hostbridge ask "
    'Explore "Which modules lack tests?" (to ask about that word alone: '
    "hostbridge ask general-purpose Explore)",
    "x --schema no.json": f"--schema no.json: no such file; {FORMS}",
    "x --schema nope": f"--schema nope: no such file; {FORMS}",
    'x --schema {"type":"objec"}': "--schema: not a JSON Schema: $.type: JSON Schema "
    "has no type 'objec'; did you mean 'object'?",
    'x --schema {"type":': "--schema:1:9: not JSON: unexpected end of data",
    "x --schema [1]": "--schema: expected a JSON Schema (an object), got list",
    "x --schema .": ".: is a directory",
    "x --schema bad.json": "bad.json:2:10: not JSON: unexpected character, expected "
    "':' after key",
    "x --schema list.json": "list.json: expected a JSON Schema (an object), got list",
    "x --schema odd.json": "odd.json: not a JSON Schema: $.type: JSON Schema has no "
    "type 'strin'; did you mean 'string'?",
    "x --schema slip.json": "slip.json: allows anything: $: JSON Schema has no keyword "
    "'tpye'; did you mean 'type'?",
    "x --schema latin.json": "latin.json: expected UTF-8, got byte 0xfc at offset 13",
    "which modules have none": "4 words; put the prompt in quotes: hostbridge ask "
    "'which modules have none'",
    "Plan which modules first": "4 words; put the prompt in quotes: hostbridge ask "
    "Plan 'which modules first'",
    "x --prio high": f"ask: no such option: --prio (did you mean --priority?); {HELP}",
    "x --priority top": "ask: --priority: expected high, normal, low, got 'top'"
    f"; {HELP}",
    "x --timeout": f"ask: --timeout: expected a value; {HELP}",
    "--zzz": "ask: no such option: --zzz (if it is no option, put -- before it: "
    f"-- --zzz); {HELP}",
}
USAGE |= {
    "--route claude --session s1 x": "session 's1' cannot take what route 'claude' is "
    "to serve; name the session or the route, not both",
    "--route claude --fallback-after 1 x": "--fallback-after belongs to the routes "
    "auto and host; route claude is served here at once",
    "--fallback claude x": "--fallback needs --fallback-after TIME, such as 20s (to "
    "skip the session: --route claude)",
    "--fallback-after 1 x": "--fallback-after needs --fallback ROUTE, the route to "
    "fall back to: claude, local, endpoint, remote",
    "--fallback clod x": "fallback 'clod': expected one of claude, local, endpoint, "
    "remote",
    "--set novalue x": "--set 'novalue': expected NAME=VALUE or NAME:=JSON",
    "--set =v x": "--set '=v': expected NAME=VALUE or NAME:=JSON",
    "--set a:={ x": "--set 'a:={': not JSON: unexpected end of data",
    "--var style x": "--var 'style': expected NAME=VALUE or NAME:=JSON",
    "--var a:=off x": "--var 'a:=off': not JSON: unexpected character, expected a JSON "
    "value",
    "--route local --model openai:q x": "route local takes no model 'openai:q': a "
    "model of a server is for --route endpoint",
    "--route claude --model q.gguf x": "route claude takes no model 'q.gguf': a model "
    "file is for --route local",
    "--route claude --model sonet x": "route claude takes no model 'sonet': expected "
    "fable, haiku, inherit, opus, sonnet or a full name such as claude-opus-5-5; did "
    "you mean 'sonnet'?",
}
USAGE |= {
    f"x {option} {time}": f"ask: {option}: expected a time such as 90s, 5m or 1h30m, "
    f"{bound} at most 30d, got '{time}'; {HELP}"
    for option, bound, times in (
        ("--timeout", "more than 0 and", ("inf", "-1", "0", "nan", "soon", "1e9")),
        ("--timeout", "more than 0 and", ("31d", "1m1h", "h", "", "٣")),
        ("--fallback-after", "at least 0s,", ("-1", "nan", "soon", "1e9")),
    )
    for time in times
}


@pytest.mark.parametrize("words", USAGE)
@pytest.mark.usefixtures("host", "claude")
def test_error_usage_is_exit_2(project, words):
    """Each says what is wrong and where; nothing was asked."""
    (project.folder / "bad.json").write_text('{\n  "type" "object"}')
    (project.folder / "list.json").write_text("[]")
    (project.folder / "odd.json").write_text('{"type": "strin"}')
    (project.folder / "slip.json").write_text('{"tpye": "object"}')
    (project.folder / "latin.json").write_bytes(b'{"title": "gr\xfc\xdf"}')

    ran = project.run("ask", *words.split(" "))

    assert ran == (2, "", f"hostbridge: {USAGE[words]}\n")
    assert not list(project.state.glob("requests/*"))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("two words", "quote them: hostbridge submit 'two words')"),
        ("not two words", "in quotes: hostbridge submit 'not two words'"),
        ("Plan", f"(to ask about that word alone: {S} general-purpose Plan)"),
        ("-", f'the prompt is empty; try: {S} "Which modules lack tests?"'),
    ],
)  # fmt: skip
def test_error_hint_names_the_command_that_was_typed(project, words, hint):
    """It is to be pasted."""
    ran = project.run("submit", *words.split())

    ran.refuses(2, f"{hint}\n")


@pytest.mark.parametrize(
    ("word", "place"),
    [("-", "the prompt (from stdin)"), (os.fsdecode(b"gr\xfc\xdf"), "the prompt")],
    ids=["stdin", "argument"],
)
@pytest.mark.usefixtures("host")
def test_error_a_prompt_that_is_not_utf8(project, word, place):
    """A prompt that arrives garbled is worse than none."""
    ran = project.run("ask", word, stdin=b"gr\xfc\xdf")

    ran.fails(2, f"{place}: expected UTF-8, got byte 0xfc at offset 2")
