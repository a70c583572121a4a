"""Our hooks in the text of a settings file."""

from __future__ import annotations

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
FILES = {
    "empty object": "{}",
    "empty object, newline": "{}\n",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "two spaces": '{\n  "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"env": {}\n}',
    "four spaces, CRLF, BOM": '\ufeff{\r\n    "model": "opus"\r\n}\r\n',
    "foreign hooks": json.dumps({"hooks": {"PreToolUse": [FOREIGN]}, "z": 1}, indent=2),
    "foreign hooks, one line": json.dumps(
        {"hooks": {"PostToolUse": [FOREIGN, FOREIGN]}}
    ),
    "odd layout": '{ "hooks" :{"Stop":[\n\n  '
    + json.dumps(FOREIGN)
    + " ]},\n\n 'x' }".replace("'x'", '"\\u00e4ö":[1,2 ,\t3]'),
    "a key twice": '{"hooks": {}, "a": 1, "hooks": {"Stop": ['
    + json.dumps(FOREIGN)
    + "]}}",
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
    direct = {
        "type": "command",
        "command": "/older/hooks/tool-end",
        "args": ["PostToolUse", "local", "/older/python"],
    }
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


@pytest.mark.parametrize(
    "command",
    [
        {"type": "command", "command": "mine"},
        {"type": "command", "command": "/x/always", "args": []},
        {"type": "command", "command": "/x/always", "args": ["me", "you", "local"]},
        {"type": "command", "command": "/bin/sh", "args": ["-c", "echo hostbridge"]},
        {"type": "command", "command": "/x/turn", "args": ["Stop", "everywhere"]},
        {"type": "http", "url": "http://localhost/hostbridge"},
        {"type": "command", "command": "x", "args": [1]},
        "not even an object",
    ],
)
def test_what_only_resembles_ours_stays(command):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [command]}]}})

    assert take_out(text, "f") == text
    assert ours(text, "f") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a": 1,\n}', "s.json:3:1: expected a key in double quotes"),
        (
            '{\n  // mine\n  "a": 1\n}',
            "s.json:2:3: a comment, for which JSON has no room",
        ),
        ('{"a": 1 /* x */}', "s.json:1:9: a comment, for which JSON has no room"),
        ('{"a" 1}', "s.json:1:6: expected ':'"),
        ('{"a": 1} x', "s.json:1:10: something follows the end of the document"),
        ('{"a": [1 2]}', "s.json:1:10: expected ',' or ']'"),
        ('{"a": }', "s.json:1:7: expecting value"),
        ("[]", "s.json: the whole file: expected an object, got a list"),
        ('{"hooks": []}', "s.json: hooks: expected an object, got a list"),
        ('{"hooks": null}', "s.json: hooks: expected an object, got null"),
        (
            '{"hooks": {"Stop": {}}}',
            "s.json: hooks.Stop: expected a list, got an object",
        ),
        (
            '{"hooks": {"Stop": [1]}}',
            "s.json: hooks.Stop[0]: expected an object, got a number",
        ),
        (
            '{"hooks": {"Stop": [{}, {"hooks": "x"}]}}',
            "s.json: hooks.Stop[1].hooks: expected a list, got a string",
        ),
    ],
)
def test_error_names_the_place(text, message):
    with pytest.raises(SettingsUnreadable) as caught:
        read(text, "s.json")

    assert str(caught.value) == message
