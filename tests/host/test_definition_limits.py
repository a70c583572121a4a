"""A running agent of a definition: its tools, turns, grants and evidence."""

import json

import pytest
from defining import define, started, use
from hookworld import GOOD, HookWorld

from bridge.bound.call_notes import after_bash

pytestmark = pytest.mark.slow

# Tools and turns


@pytest.mark.parametrize(
    ("fields", "tool", "is_denied"),
    [
        ("tools: [Read, Grep]", "Read", False),
        ("tools: [Read, Grep]", "Bash", True),
        ("tools: [read_file]", "Read", False),
        ("tools: [read_file]", "Grep", True),
        ("tools: []", "Read", True),
        ("blocked_tools: [Bash]", "Bash", True),
        ("blocked_tools: [run_command]", "Bash", True),
        ("blocked_tools: [Bash]", "Read", False),
        ("tools: [Bash]\nblocked_tools: [Bash]", "Bash", True),
        ("tools: [mcp__git]", "mcp__git__log", False),
        ("tools: [mcp__git__*]", "mcp__git__log", False),
        ("tools: [mcp__git]", "mcp__github__log", True),
        ("tools: [Read]", "ToolSearch", False),
        ("tools: [Read]", "Agent", True),
        ("tools: [Task]", "Agent", False),
        ("blocked_tools: [Agent]", "Task", True),
        ("tools: [Agent, Read]", "Agent", False),
    ],
)
def test_tools(world, fields, tool, *, is_denied):
    agent = started(world, fields + "\n")

    reason, goes_on = use(world, agent, tool)

    assert (reason is not None) is is_denied, reason
    assert goes_on
    if is_denied:
        assert f"keeps {tool} from it" in reason


def test_a_refused_call_is_no_evidence(world):
    """It never ran: to name it must not count as having run it."""
    agent = started(world, "tools: [Read]\n")

    use(world, agent, "Bash", command="pytest")
    said = world.stop(agent, claim("pytest"))

    assert said["decision"] == "block"
    assert "not seen to run" in said["reason"]


def test_an_agent_that_it_starts_may_no_more(world):
    agent = started(world, "tools: [Read, Agent]\n")
    use(world, agent, "Agent", 7, prompt="x", description="y")
    below = world.start("t7")

    assert use(world, below, "Read")[0] is None
    assert "keeps Bash from it" in use(world, below, "Bash", 1)[0]


def test_turns_run_out(world):
    """Twice it is told to answer now, then it is ended, by name."""
    agent = started(world, "max_turns: 2\n")
    [run] = world.runs()

    calls = [use(world, agent, "Read", n) for n in range(5)]

    words = "hostbridge: the 2 tool calls of this request are"
    assert [goes_on for _, goes_on in calls] == [True, True, True, True, False]
    reasons = [reason and reason[: len(words)] for reason, _ in calls]
    assert reasons == [None, None, words, words, words]
    assert world.code(run.request_id) == "turn_limit"  # type: ignore[arg-type]


def test_refused_calls_are_turns(world):
    """An agent that does not listen ends, too."""
    agent = started(world, "max_turns: 2\ntools: [Read]\n")

    reasons = [use(world, agent, "Bash", n)[0] for n in range(3)]

    assert ["keeps Bash" in reason for reason in reasons] == [True, True, False]


def test_a_willing_agent_answers_after_its_turns(world):
    agent = started(world, "max_turns: 1\n")
    for number in range(2):
        use(world, agent, "Read", number)
    [run] = world.runs()

    world.stop(agent, GOOD)

    assert world.code(run.request_id) == "success"  # type: ignore[arg-type]


# Permissions


@pytest.mark.parametrize(
    ("tool", "arguments", "behavior"),
    [
        ("Bash", {"command": "pytest -q"}, "allow"),
        ("Bash", {"command": "pytest -q; rm -rf ."}, "deny"),
        ("Bash", {"command": "pytest\nrm x"}, "deny"),
        ("Bash", {"command": "rm x"}, "deny"),
        ("Edit", {"file_path": "src/a.py"}, "allow"),
        ("Edit", {"file_path": "src/../a.py"}, "deny"),
        ("Edit", {"file_path": "src/link/a.py"}, "deny"),
        ("Write", {"file_path": "/etc/passwd"}, "deny"),
        ("WebFetch", {"url": "https://x.org/"}, "deny"),
    ],
)
def test_what_is_granted_is_allowed_and_nothing_else(world, tool, arguments, behavior):
    define(world, "allow: ['Bash(pytest *)', 'Edit(src/**)']\n")
    (world.project / "src").mkdir()
    (world.project / "src" / "link").symlink_to(world.project)
    agent = started(world)

    assert world.permission(agent, tool, **arguments)["behavior"] == behavior


# Evidence


def claim(command: str | None, status: str = "success") -> str:
    item = {"type": "command_output", "content": "ok", "passed": True}
    evidence = [item | {"command": command}] if command else []
    return json.dumps({"status": status, "summary": "s", "evidence": evidence})


def run_bash(world: HookWorld, agent: str, command: str, *, ok: bool) -> None:
    call = {"tool_use_id": "bash-1", "tool_input": {"command": command}}
    world.use(agent, "Bash", **call)
    agents = f"{world.store.place.state}/agents/"
    event = world.event("x", agent_id=agent, tool_name="Bash", **call)
    after_bash(agents, event, agent, ok=ok)


@pytest.mark.parametrize(
    ("ran", "said", "code"),
    [
        (True, claim("pytest"), "success"),
        (True, claim(None), None),
        (None, claim(None), None),
        (False, claim(None), None),
        (None, claim(None, "failed"), "agent_failed"),
        (None, claim(None, "partial"), None),
    ],
)
def test_success_needs_evidence_that_was_verified(world, *, ran, said, code):
    agent = started(world, "require_verified_evidence: true\n")
    [run] = world.runs()
    if ran is not None:
        run_bash(world, agent, "pytest", ok=ran)

    output = world.stop(agent, said)

    assert world.code(run.request_id) == code  # type: ignore[arg-type]
    if code is None:
        assert "success needs evidence" in output["reason"]


def test_error_after_the_usual_corrections_it_is_unverified(world):
    agent = started(world, "require_verified_evidence: true\n")
    [run] = world.runs()

    for _ in range(3):
        world.stop(agent, claim(None))

    assert world.code(run.request_id) == "unverified"  # type: ignore[arg-type]


def test_evidence_in_a_form_of_its_own(world):
    define(
        world,
        "require_verified_evidence: true\n"
        "output_schema: {type: object, required: [verdict],\n"
        "  properties: {evidence: {}}}\n",
    )
    agent = started(world)
    [run] = world.runs()
    run_bash(world, agent, "pytest", ok=True)

    first = world.stop(agent, '{"verdict": "APPROVED"}')
    world.stop(agent, '{"verdict": "OK", "evidence": [{"command": "pytest"}]}')

    assert first["decision"] == "block"
    assert world.code(run.request_id) == "success"  # type: ignore[arg-type]


def test_an_echo_of_the_definitions_prompt_is_an_echo(world):
    """It may hold an example of a good answer."""
    more = "  This is how a good answer looks, and a long enough one: " + GOOD + "\n"
    define(world).write_text(f"name: worker\nprompt: |\n  Do {{{{ task }}}}\n{more}")
    agent = started(world)

    said = world.stop(agent, f"Do Do it.\n{more.strip()}")

    assert "repeats the prompt" in said["reason"]
