"""The quick hook: what it imports, what it notes, what it leaves to the full one."""

import json

import pytest

from bridge.bound import gate
from bridge.bound.call_notes import MAX_COMMAND, name_of


@pytest.fixture
def agents(tmp_path):
    folder = tmp_path / "state" / "agents"
    folder.mkdir(parents=True)
    run = {"requestId": "r-1", "depth": 1, "answerAt": 2**53, "host": {"pid": 7}}
    (folder / "a1.json").write_text(json.dumps(run))
    return folder


@pytest.fixture
def fire(agents, monkeypatch):
    """Answer one event; what the full hook would have been started for, or None."""
    started: list[str] = []

    def become(event, *_):
        started.append(event)
        raise SystemExit

    def answer(event, task="", **fields):
        started.clear()
        data = json.dumps({"session_id": "s", **fields}).encode()
        monkeypatch.setattr(gate, "read_all", lambda: data)
        try:
            gate.main(become, event, str(agents.parent), "local", task)
        except SystemExit:
            return started[0]
        return None

    return answer


def notes_in(agents):
    """What was written down of the agent's calls."""
    return [json.loads(x) for x in (agents / "a1.calls").read_text().splitlines()]


BASH = {"agent_id": "a1", "tool_name": "Bash", "tool_use_id": "t1"}


def test_a_call_is_noted_and_its_end(fire, agents):
    fire("PreToolUse", tool_input={"command": "pytest"}, **BASH)
    during = json.loads((agents / "t1.bash").read_text())
    fire("PostToolUse", tool_response={"stdout": ""}, **BASH)

    notes = notes_in(agents)
    of_run = {"agentId": "a1", "requestId": "r-1", "depth": 1, "host": {"pid": 7}}
    assert during == of_run | {"command": "pytest"}
    assert not (agents / "t1.bash").exists()
    in_skill = BASH | {"tool_use_id": "t2", "command_name": "helper"}
    fire("PreToolUse", tool_input={"command": "pytest"}, **in_skill)
    # Its end is not told: it counts for whom its own words name.
    assert not (agents / "t2.bash").exists()
    assert json.loads((agents / "t2.background").read_text()) == during
    for note in notes:
        note.pop("at", None)
        note.pop("up", None)
    assert notes == [
        {"id": "t1", "tool": "Bash", "command": "pytest"},
        {"id": "t1", "tool": "Bash", "ok": True},
    ]


WAKE = (
    "<task-notification>\n<summary>a program asks</summary>\n</task-notification>\n"
    f"<system-reminder>\n{gate.WOKEN} hostbridge: call Agent once\n</system-reminder>"
)
END = "<task-notification>\n<task-id>a1</task-id>\n<summary>done</summary>"
PROMPTS = {
    "our own wake": (WAKE, None),
    "a person's": ("hello", "UserPromptSubmit"),
    "a person's, about a wake": (f"What is {WAKE}", "UserPromptSubmit"),
    "another program's wake": (WAKE.replace(gate.WOKEN, "Look"), "UserPromptSubmit"),
    "the end of an agent": (f"{END}\n{gate.WOKEN}", "UserPromptSubmit"),
    "a wake with the end of an agent": (WAKE + END, "UserPromptSubmit"),
    "none": (None, "UserPromptSubmit"),
}


@pytest.mark.parametrize(("prompt", "needs"), PROMPTS.values(), ids=PROMPTS)
def test_a_hook_that_woke_the_session_has_looked_for_its_prompt(fire, prompt, needs):
    """One start of the library less between a question and its answer."""
    assert fire("UserPromptSubmit", "prompt", prompt=prompt) == needs


def test_a_command_that_goes_on_keeps_its_note(fire, agents):
    fire("PreToolUse", tool_input={"command": "pytest"}, **BASH)
    fire("PostToolUse", tool_response={"backgroundTaskId": "b1"}, **BASH)

    assert not (agents / "t1.bash").exists()
    assert json.loads((agents / "t1.background").read_text())["command"] == "pytest"


def test_a_call_whose_id_is_no_name_is_noted(fire, agents):
    call = {**BASH, "tool_use_id": "../functions.Bash:0"}

    fire("PreToolUse", tool_input={"command": "pytest"}, **call)
    names = {f.name for f in agents.iterdir()} - {"a1.json", "a1.calls"}
    fire("PostToolUse", tool_response={"stdout": ""}, **call)

    notes = notes_in(agents)
    assert {note["id"] for note in notes} == {name_of("../functions.Bash:0")}
    assert names == {f"{notes[0]['id']}.bash"}
    assert {f.name for f in agents.iterdir()} == {"a1.json", "a1.calls"}


@pytest.mark.parametrize(
    ("event", "response", "ok"),
    [
        ("PostToolUse", {"stdout": ""}, True),
        ("PostToolUseFailure", None, False),
        ("PostToolUse", {"backgroundTaskId": "b1"}, None),
        ("PostToolUse", {"returnCodeInterpretation": "No matches found"}, None),
        ("PostToolUse", {"interrupted": True}, None),
    ],
)
def test_how_a_command_ended(fire, agents, event, response, *, ok):
    """Of one in the background only the launch was seen."""
    fire("PreToolUse", tool_input={"command": "pytest"}, **BASH)
    fire(event, tool_response=response, **BASH)

    assert notes_in(agents)[-1]["ok"] is ok


def test_the_end_of_another_tools_call_is_no_commands(fire, agents):
    """Behind a gateway, ids are the model's: it gives two calls one."""
    fire("PreToolUse", tool_input={"command": "pytest"}, **BASH)
    fire("PostToolUse", tool_response={}, **(BASH | {"tool_name": "Read"}))

    assert len(notes_in(agents)) == 1


def test_a_command_that_was_cut_off_is_no_shorter_one(fire, agents):
    """What is missing may be ` || true`."""
    command = "pytest".ljust(MAX_COMMAND)

    fire("PreToolUse", tool_input={"command": command + "|| true"}, **BASH)

    assert "command" not in notes_in(agents)[0]


@pytest.mark.parametrize(
    "sign", ["responses/r-1.json", "off", "sessions/s.off"], ids=lambda s: s
)
def test_what_is_not_plainly_allowed_is_left_to_the_full_hook(fire, agents, sign):
    file = agents.parent / sign
    file.parent.mkdir(exist_ok=True)
    file.touch()

    assert fire("PreToolUse", tool_input={}, **BASH) == "PreToolUse"


@pytest.mark.parametrize(
    ("tool", "seen"),
    [*dict.fromkeys(["Read", "Grep", "Bash"], "PreToolUse").items(), ("Edit", None)],
)
def test_what_an_agent_with_a_folder_reads_is_seen(fire, agents, tool, seen):
    """The client does not ask about what is private in the session's own folder."""
    run = json.loads((agents / "a1.json").read_text())
    (agents / "a1.json").write_text(json.dumps(run | {"folder": "/w"}))

    assert fire("PreToolUse", tool_input={}, **(BASH | {"tool_name": tool})) == seen


def test_an_agent_whose_time_is_up(fire, agents):
    (agents / "a1.json").write_text('{"requestId": "r-1", "answerAt": 1}')

    assert fire("PreToolUse", tool_input={}, **BASH) == "PreToolUse"


@pytest.mark.parametrize("newer", [{"schemaVersion": 2}, {"needs": ["x"]}], ids=str)
def test_what_a_newer_one_wrote_is_left_to_the_full_hook(fire, agents, newer):
    """It cannot read it either, and says so: this must not let the call pass."""
    run = json.loads((agents / "a1.json").read_text())
    assert fire("PreToolUse", tool_input={}, **BASH) is None

    (agents / "a1.json").write_text(json.dumps(run | newer))

    assert fire("PreToolUse", tool_input={}, **BASH) == "PreToolUse"


def test_an_agent_seen_for_the_first_time(fire, agents):
    """Its own file tells the call that it came from."""
    transcript = agents.parent.parent / "t" / "s.jsonl"
    meta = agents.parent.parent / "t" / "s" / "subagents" / "agent-a2.meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"toolUseId": "call"}')
    event = {**BASH, "agent_id": "a2", "transcript_path": str(transcript)}

    not_ours = fire("PreToolUse", tool_input={}, **event)
    (agents / "call-call.json").touch()
    ours = fire("PreToolUse", tool_input={}, **event)

    assert (not_ours, ours) == (None, "PreToolUse")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"agent_id": 7},
        {"agent_id": "../x", "tool_name": "Bash"},
        {"agent_id": "a1", "tool_name": 7},
        {"agent_id": "a1", "tool_name": "Bash", "tool_use_id": "../x"},
        {"agent_id": "a1", "tool_name": "Agent", "tool_use_id": "t1"},
        {"agent_id": "a1", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": 3},
    ],
)
def test_odd_events_are_let_through(fire, agents, fields):
    assert fire("PreToolUse", **fields) is None
    assert fire("PostToolUse", **fields) is None
    files = {f.name for f in agents.parent.rglob("*") if f.is_file()}
    assert files <= {"a1.json", "a1.calls", "t1.bash"}


def test_a_call_with_a_token_is_left_to_the_hook_for_agent_calls(fire):
    """Whatever the letter case, and whoever calls; no other event reads tokens."""
    call = {"tool_name": "Agent", "tool_input": {"prompt": "Bridge:r-1"}}

    assert fire("PreToolUse", "launch", **call) == "PreToolUse"
    assert fire("PreToolUse", "launch", agent_id="a9", **call) == "PreToolUse"
    assert fire("PreToolUse", **call) is None
    assert fire("PreToolUse", "launch", tool_name="Agent") is None


@pytest.mark.parametrize("tool", ["Agent", "SubagentHandback"])
def test_agent_calls_are_left_to_the_hook_for_them(fire, tool):
    """Two hooks see them; one looks."""
    call = {"agent_id": "a1", "tool_name": tool, "tool_use_id": "t1"}

    assert fire("PreToolUse", "launch", **call) == "PreToolUse"
    assert fire("PreToolUse", **call) is None


@pytest.mark.parametrize(
    ("call_id", "name"),
    [
        ("a", "a"),
        ("t_1-x", "t_1-x"),
        ("a" * 128, "a" * 128),
        ("a" * 129, "call_c12cb024a2e5551cca0e08fce8f1c5e314555cc3"),
        ("", ""),
        (7, ""),
    ],
    ids=lambda value: str(value)[:8],
)
def test_the_file_name_of_a_call(call_id, name):
    assert name_of(call_id) == name


UNDECIDED = "hostbridge could not look at this call. Leave it; go on."
REFUSED = {"permissionDecision": "deny", "permissionDecisionReason": UNDECIDED}


@pytest.mark.parametrize(
    ("event", "decision"),
    [
        ("PreToolUse", REFUSED),
        ("PermissionRequest", {"decision": {"behavior": "deny", "message": UNDECIDED}}),
        ("PostToolUse", None),
    ],
)
def test_what_could_not_be_decided_is_denied_to_our_agents(agents, event, decision):
    """Nobody else is kept from anything."""
    state = str(agents.parent)

    ours, theirs = (
        gate.last_word(event, state, json.dumps(call).encode())
        for call in (BASH, {**BASH, "agent_id": "b"})
    )

    said = json.loads(ours)["hookSpecificOutput"] if ours else None
    assert said == (decision and {"hookEventName": event, **decision})
    assert theirs == b""


@pytest.mark.parametrize("tool", ["WebFetch", "mcp__notes__add"])
def test_a_token_in_another_tools_prompt_is_the_users_own(agents, tool):
    call = {"tool_name": tool, "tool_input": {"prompt": "bridge:r-1"}}

    said = gate.last_word("PreToolUse", str(agents.parent), json.dumps(call).encode())

    assert said == b""


def test_error_a_full_hook_that_does_not_start(agents, monkeypatch, capfd):
    """Silence would let the call run."""

    def fail(*_):
        raise OSError

    message = {**BASH, "tool_name": "SendMessage"}
    monkeypatch.setattr(gate, "read_all", json.dumps(message).encode)

    gate.main(fail, "PreToolUse", str(agents.parent))

    said = json.loads(capfd.readouterr().out)
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_main_thread_has_its_own_work(fire):
    """Also where what a tool said looks like an agent's event."""
    assert fire("PostToolUse", tool_name="Read") is None
    assert fire("PostToolUse", task="offer", tool_name="Read") == "PostToolUse"
    looks_so = {"tool_response": {"agent_id": "x"}}
    assert fire("PostToolUse", task="offer", **looks_so) == "PostToolUse"


@pytest.mark.parametrize(
    ("run", "tool", "started"),
    [
        ({}, "Bash", None),
        ({"tools": ["Bash"]}, "Bash", None),
        ({"tools": ["Read"]}, "Bash", "PreToolUse"),
        ({"tools": []}, "Bash", "PreToolUse"),
        ({"tools": None, "blockedTools": ["Bash"]}, "Bash", "PreToolUse"),
        ({"tools": ["mcp__*"]}, "mcp__git__log", None),
        ({"tools": ["Read"]}, "ToolSearch", None),
        ({"maxTurns": 2}, "Bash", None),
        ({"maxTurns": 1}, "Bash", "PreToolUse"),
        ({"maxTurns": 2, "refused": 1}, "Bash", "PreToolUse"),
        ({"maxTurns": "many"}, "Bash", None),
    ],
)
def test_what_a_definition_keeps_from_an_agent_is_left_to_the_full_hook(
    fire, agents, run, tool, started
):
    """One call has been let through; its command looks like the note of another."""
    command = 'echo \'{"id": "x", "at": 5}\', "at": 6'
    fire("PreToolUse", tool_input={"command": command}, **BASH)
    record = json.loads((agents / "a1.json").read_text())
    (agents / "a1.json").write_text(json.dumps(record | run))

    event = {"agent_id": "a1", "tool_name": tool, "tool_use_id": "t2"}

    assert fire("PreToolUse", tool_input={}, **event) == started


def test_error_a_call_that_cannot_be_read(agents, monkeypatch):
    """Its name is not known, so it may be a tool that is blocked."""
    text = '{"agent_id": "a1", "tool_name": "Read", "tool_input": ' + "[" * 99_999
    monkeypatch.setattr(gate, "read_all", text.encode)
    started: list[str] = []

    def become(event, *_):
        started.append(event)

    gate.main(become, "PreToolUse", str(agents.parent))

    assert started == ["PreToolUse"]


@pytest.mark.parametrize(
    ("meta", "has_record"),
    [
        ({"toolUseId": "c1", "description": "hostbridge: b [r-1]"}, True),
        ({"parentAgentId": "a1"}, True),
        ({"toolUseId": "c2", "description": "hostbridge: b [r-2]"}, False),
        ({"toolUseId": "c3", "description": "d"}, False),
        (None, False),
    ],
    ids=["ours", "below-ours", "new", "somebody-elses", "not-named-yet"],
)
def test_an_agent_that_begins_again_after_its_end(fire, agents, meta, has_record):
    """With no agent on record, no hook would look at its calls."""
    (agents / "call-c2.json").write_text("{}")
    folder = agents.parent / "s" / "subagents"
    folder.mkdir(parents=True)
    if meta is not None:
        (folder / "agent-a2.meta.json").write_text(json.dumps(meta))
    transcript = str(agents.parent / "s.jsonl")

    full = fire("SubagentStart", agent_id="a2", transcript_path=transcript)
    known = [(agents / f"{each}.json").exists() for each in ("a1", "a2")]

    assert (full, known) == (None, [True, has_record])
