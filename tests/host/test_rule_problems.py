"""What is wrong with rules is said when a session begins: in one line, to the user."""

import pytest

from bridge.agents import trust
from bridge.protocol.hook_output import MAX_NOTE
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import live, sources

WRONG = 'on_before_tool: [{name: one, when: tool_nam == "Bash", block: no way}]\n'
SOUND = "on_stop: [{when: depth > 1, block: x}]\n"


def begins(world, source="startup"):
    said = world.say("SessionStart", source=source)
    assert "watchPaths" in said["hookSpecificOutput"]
    return said.get("systemMessage", "")


def mine(world, text):
    (world.bridge.settings.home / "rules.yaml").write_text(text)


def theirs(world, text, name="rules.yaml"):
    file = world.project / ".bridge" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_sound_rules_need_no_word(world):
    assert begins(world) == ""
    mine(world, SOUND)
    assert begins(world) == ""


def test_an_error_is_said_until_it_is_mended(world):
    """But not again after each compaction."""
    mine(world, WRONG)

    said = [begins(world, each) for each in ("startup", "compact", "clear", "resume")]
    mine(world, SOUND)

    file = world.bridge.settings.home / "rules.yaml"
    line = (
        f"hostbridge: 1 error in rules, see `hostbridge rules check`: {file}:1:36: "
        "on_before_tool[0].when: unknown name 'tool_nam'; did you mean 'tool_name'?"
    )
    assert said == [line, "", "", line]
    assert begins(world) == ""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("on_stop: [", "not YAML"),
        ("x" * 300_000, "larger than 256 KiB"),
        (f"on_stop: [{'{block: x, wenn: x},' * 900}]", "unknown field"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_in_one_short_line(world, data, why):
    mine(world, data)

    said = begins(world)

    assert why in said
    assert "\n" not in said
    assert len(said) <= MAX_NOTE


def test_what_waits_for_trust_is_said_once(world, monkeypatch):
    """Until then nothing happens, and nothing in it is an error."""
    file = theirs(world, WRONG)
    other = theirs(world, SOUND, "rules/strict.yaml")

    said = [begins(world), begins(world)]
    theirs(world, SOUND)
    said += [begins(world), begins(world, "resume")]
    monkeypatch.setattr(trust, "refuse_inside_a_session", lambda *_: None)
    settings, place = world.bridge.settings, world.store.place
    files = [f for f in live(sources(settings, place)) if f.layer == "project"]
    trust.record(settings, place.owner, files, clients=())
    compile_rules(settings, world.store)
    said.append(begins(world))
    theirs(world, WRONG)
    changed = begins(world)

    hold = "rules have changed, and those that you trusted hold until you run"
    assert changed == f"hostbridge: {hold} `hostbridge trust`: {file}"
    line = f"hostbridge: no rules until you run `hostbridge trust`: {file}, {other}"
    assert said == [line, "", line, "", ""]


def test_an_agent_whose_conversation_is_compacted_is_no_session(world):
    mine(world, WRONG)

    said = world.say("SessionStart", source="compact", agent_id="somebodys")

    assert "systemMessage" not in said


def test_an_agent_that_is_not_there_is_said_until_it_is(world):
    rule = "on_before_tool:\n  - spawn_agent: {agent: my-checker, prompt: x}\n"
    mine(world, rule)

    said = begins(world)
    folder = world.bridge.settings.home / "agents"
    folder.mkdir(mode=0o700)
    (folder / "my-checker.md").write_text(
        "---\nname: my-checker\ndescription: d\n---\nCheck.\n"
    )

    file = world.bridge.settings.home / "rules.yaml"
    line = f"{file}:2: rule on_before_tool[0]: no agent is named 'my-checker'"
    assert line in said
    assert begins(world) == ""


def test_a_file_that_breaks_while_a_session_is_open_is_said_once(world):
    """At the event that finds it, where the user sees a line."""
    mine(world, SOUND)
    begins(world)
    mine(world, WRONG)

    call = {"tool_name": "Read", "tool_input": {}, "tool_use_id": "toolu_1"}
    found = world.say("PreToolUse", **call)
    again = world.say("PreToolUse", **call)

    assert "systemMessage" not in again
    assert found["systemMessage"].startswith("hostbridge: 1 error in rules, see ")
    mine(world, SOUND + WRONG)
    inside = world.say("SubagentStart", agent_id="theirs", agent_type="Explore")
    later = world.say("Stop")
    assert "systemMessage" not in (inside or {})
    assert later["systemMessage"].startswith("hostbridge: 1 error in rules, see ")


def test_rules_that_change_and_are_sound_need_no_word(world):
    mine(world, SOUND)
    begins(world)
    mine(world, SOUND.replace("1", "2"))

    assert "systemMessage" not in (world.say("Stop") or {})
