"""Our hooks in the text of a settings file."""

import json
from pathlib import Path

import pytest

from bridge.host.hook_table import PROJECT, entries, form_of
from bridge.host.settings_edit import (
    SettingsUnreadable,
    add,
    ours,
    read,
    take_out,
    wanted,
)

HERE = form_of("local", Path("/opt/with space/hooks"), "/v/bin/python")
OLD = form_of("local", Path("/gone/hooks"), "/gone/bin/python")
FOREIGN = {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}

# Text before, and the same after an install and an uninstall.
GROUP = json.dumps(FOREIGN)
ODD = '"\\u00e4ö":[1,2 ,\t3]'
FILES = {
    "empty object": "{}",
    "empty object, newline": "{}\n",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "two spaces": '{\n  "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"env": {}\n}',
    "four spaces, CRLF, BOM": '\ufeff{\r\n    "model": "opus"\r\n}\r\n',
    "foreign hooks": json.dumps({"hooks": {"PreToolUse": [FOREIGN]}, "z": 1}, indent=2),
    "foreign hooks, one line": f'{{"hooks": {{"PostToolUse": [{GROUP}, {GROUP}]}}}}',
    "odd layout": f'{{ "hooks" :{{"Stop":[\n\n  {GROUP} ]}},\n\n {ODD} }}',
    "a key twice": f'{{"hooks": {{}}, "a": 1, "hooks": {{"Stop": [{GROUP}]}}}}',
}


@pytest.mark.parametrize("before", FILES.values(), ids=FILES)
def test_putting_in_and_taking_out_gives_the_bytes_back(before):
    """Whatever a person has laid out stays as they laid it out."""
    after = add(before, HERE, "f")

    assert sorted(map(repr, ours(after, "f"))) == sorted(map(repr, wanted(HERE)))
    assert take_out(after, "f") == before


@pytest.mark.parametrize("before", FILES.values(), ids=FILES)
def test_what_is_not_ours_means_what_it_meant(before):
    """Foreign hooks stay first, in their order; every other key keeps its value."""
    old = json.loads(before.removeprefix("\ufeff"))

    new = json.loads(add(before, HERE, "f").removeprefix("\ufeff"))

    for event, groups in old.pop("hooks", {}).items():
        assert new["hooks"][event][: len(groups)] == groups
    del new["hooks"]
    assert new == old


def test_an_install_in_an_empty_file_is_laid_out_for_people():
    text = add("", PROJECT, "f")

    assert text == json.dumps({"hooks": entries(PROJECT)}, indent=2) + "\n"


def test_a_later_install_replaces_ours_of_any_age():
    """A moved environment must not leave hooks behind that lead nowhere."""
    before = '{\n  "a": 1\n}\n'
    direct = command("/older/hooks/tool-end", "PostToolUse", "local", "/older/python")
    older = json.dumps({"a": 1, "hooks": {"PostToolUse": [{"hooks": [direct]}]}})

    assert add(add(before, OLD, "f"), HERE, "f") == add(before, HERE, "f")
    assert add(add(before, PROJECT, "f"), HERE, "f") == add(before, HERE, "f")
    assert json.loads(take_out(older, "f")) == {"a": 1}


def test_only_our_command_leaves_a_group_that_others_share():
    """Somebody may have moved one of ours into a group of theirs."""
    mine = entries(HERE)["Stop"][0]["hooks"][0]
    theirs = FOREIGN["hooks"][0]
    text = json.dumps({"hooks": {"Stop": [{"hooks": [theirs, mine]}]}})

    assert json.loads(take_out(text, "f")) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def command(words, *args):
    return {"type": "command", "command": words, "args": [*args]}


@pytest.mark.parametrize(
    "command",
    [
        {"type": "command", "command": "mine"},
        command("/x/always"),
        command("/x/always", "me", "you", "local"),
        command("/bin/sh", "-c", "echo hostbridge"),
        command("/x/turn", "Stop", "everywhere"),
        {"type": "http", "url": "http://localhost/hostbridge"},
        command("x", 1),
        "not even an object",
    ],
)
def test_what_only_resembles_ours_stays(command):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [command]}]}})

    assert take_out(text, "f") == text
    assert ours(text, "f") == []


NO_COMMENT = "a comment, for which JSON has no room"
OBJECT = "expected an object, got"
LIST = "expected a list, got"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a": 1,\n}', ":3:1: expected a key in double quotes"),
        ('{\n  // mine\n  "a": 1\n}', f":2:3: {NO_COMMENT}"),
        ('{"a": 1 /* x */}', f":1:9: {NO_COMMENT}"),
        ('{"a" 1}', ":1:6: expected ':'"),
        ('{"a": 1} x', ":1:10: something follows the end of the document"),
        ('{"a": [1 2]}', ":1:10: expected ',' or ']'"),
        ('{"a": }', ":1:7: expecting value"),
        ("[]", f": the whole file: {OBJECT} a list"),
        ('{"hooks": []}', f": hooks: {OBJECT} a list"),
        ('{"hooks": null}', f": hooks: {OBJECT} null"),
        ('{"hooks": {"Stop": {}}}', f": hooks.Stop: {LIST} an object"),
        ('{"hooks": {"Stop": [1]}}', f": hooks.Stop[0]: {OBJECT} a number"),
        (
            '{"hooks": {"Stop": [{}, {"hooks": "x"}]}}',
            f": hooks.Stop[1].hooks: {LIST} a string",
        ),
    ],
)
def test_error_names_the_place(text, message):
    with pytest.raises(SettingsUnreadable) as caught:
        read(text, "s.json")

    assert str(caught.value) == f"s.json{message}"
