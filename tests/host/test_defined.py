"""A request for a defined agent: launched as defined, held to its limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from agentworld import trust_project
from hookworld import GOOD, HookWorld, hook_world

from bridge.errors import BadDefinition, InvalidRequest, NotTrusted, UnknownAgent
from bridge.protocol.contract import HEADING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKER = """\
name: worker
prompt: "As told: {{ task }}"
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        yield made


def define(world: HookWorld, more: str = "", *, project: bool = False) -> Path:
    """Write the definition of `worker`."""
    parts = (".bridge", "agents") if project else (".hostbridge", "agents")
    folder = (world.project if project else world.home).joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "worker.yaml"
    file.write_text(WORKER + more)
    return file


def call(world: HookWorld, request: str) -> dict[str, Any]:
    """The rewritten call, or the denial."""
    given = {"description": "b", "prompt": f"bridge:{request}"}
    said = world.say(
        "PreToolUse",
        tool_name="Agent",
        tool_input=given,
        tool_use_id=f"toolu-{request}",
    )
    output: dict[str, Any] = said["hookSpecificOutput"]
    return output


def started(world: HookWorld, **fields: Any) -> str:
    """A running agent of `worker`."""
    request = world.submit("Do it.", agent="worker", **fields)
    world.say("UserPromptSubmit", prompt="hello")
    return world.start(world.launch(request))


def use(world: HookWorld, agent: str, tool: str, number: int = 0, **given: Any) -> Any:
    """A tool call in the agent: why it is denied, or None."""
    said = world.say(
        "PreToolUse",
        agent_id=agent,
        tool_name=tool,
        tool_use_id=f"t{number}",
        tool_input=given,
    )
    output = said.get("hookSpecificOutput", {})
    return output.get("permissionDecisionReason"), said.get("continue", True)


def may(world: HookWorld, agent: str, tool: str, **given: Any) -> Any:
    """The answer to a permission dialog."""
    said = world.say(
        "PermissionRequest", agent_id=agent, tool_name=tool, tool_input=given
    )
    return said["hookSpecificOutput"]["decision"]["behavior"]


# Asking


def test_the_definition_says_what_the_asker_left_open(world: HookWorld) -> None:
    define(
        world,
        "timeout: 60\npriority: low\nmodel: opus\nmax_attempts: 5\n"
        "output_schema: {type: object, required: [x]}\ndefault_variables: {v: 1}\n",
    )

    left = world.found(world.submit("a", agent="worker", arguments={"n": [1]})).request
    said = world.found(
        world.submit(
            "b",
            agent="worker",
            timeout_s=5,
            priority="high",
            model="haiku",
            schema={"type": "object"},
            variables={"v": None},
        )
    ).request

    assert left is not None
    assert said is not None
    assert (left.timeout, left.priority, left.model) == (60_000, "low", "opus")
    assert (left.max_attempts, left.arguments) == (5, {"n": [1]})
    assert (left.answer_schema, left.variables) == (
        {"type": "object", "required": ["x"]},
        {"v": 1},
    )
    assert (said.timeout, said.priority, said.model) == (5000, "high", "haiku")
    assert (said.answer_schema, said.variables) == ({"type": "object"}, {"v": None})
    assert left.request_id.split("-")[1] == "l"


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("promt: x\n", BadDefinition),
        ("routes: [local]\n", InvalidRequest),
        ("default_variables: {task: 1}\n", BadDefinition),
    ],
)
def test_error_nothing_is_asked(world: HookWorld, more: str, error: Any) -> None:
    define(world, more)

    with pytest.raises(error):
        world.submit("a", agent="worker", route="host")

    assert world.store.waiting() == []


def test_error_unknown_here_and_there(world: HookWorld) -> None:
    """One near match over both: a user need not know whose agent it is."""
    define(world)

    with pytest.raises(UnknownAgent) as failed:
        world.submit("a", agent="wroker")
    assert str(failed.value) == "no agent is named 'wroker'; did you mean worker?"
    with pytest.raises(UnknownAgent, match="did you mean Explore"):
        world.submit("a", agent="explor")


def test_error_what_a_project_brings_waits_for_trust(world: HookWorld) -> None:
    define(world, project=True)

    with pytest.raises(NotTrusted):
        world.submit("a", agent="worker")
    trust_project(world.bridge)

    assert world.submit("a", agent="worker")


def test_a_definition_stands_before_the_clients_own_agent(world: HookWorld) -> None:
    define(world).rename(world.home / ".hostbridge" / "agents" / "Explore.yaml")
    file = world.home / ".hostbridge" / "agents" / "Explore.yaml"
    file.write_text("name: Explore\nprompt: 'mine: {{ task }}'\n")

    given = call(world, world.submit("a", agent="Explore"))["updatedInput"]

    assert given["subagent_type"] == "general-purpose"
    assert given["prompt"].startswith("mine: a\n")


# The launch


def test_the_call_is_the_definitions(world: HookWorld) -> None:
    define(
        world, "subagent_type: Explore\nmodel: opus\noutput_schema: {type: object}\n"
    )
    request = world.submit("{{ x }}", agent="worker")

    given = call(world, request)["updatedInput"]

    told = world.found(request).request
    assert told is not None
    assert (given["subagent_type"], given["model"]) == ("Explore", "opus")
    assert given["prompt"].startswith(f"As told: {{{{ x }}}}\n\n{HEADING}\n")
    assert '{"type": "object"}' in given["prompt"]
    assert told.spoken == "As told: {{ x }}"


def test_a_dropped_file_gets_all_of_it(world: HookWorld) -> None:
    """Only id, agent and prompt: the rest comes from the definition, on the record."""
    define(
        world,
        "timeout: 900\nmodel: opus\nmax_attempts: 7\ndefault_variables: {v: 1}\n"
        "tools: [Read]\noutput_schema: {type: object, required: [x]}\n",
    )
    now = world.store.now_ms()
    world.drop("mine", agentType="worker", prompt="Do it.", createdAt=now)

    given = call(world, "mine")["updatedInput"]

    held = world.found("mine").request  # type: ignore[arg-type]
    assert held is not None
    assert given["prompt"].startswith("As told: Do it.\n")
    assert '"required": ["x"]' in given["prompt"]
    assert (held.timeout, held.model, held.max_attempts) == (900_000, "opus", 7)
    assert (held.answer_schema, held.variables) == (
        {"type": "object", "required": ["x"]},
        {"v": 1},
    )
    assert held.status == "processing"
    [run] = world.runs()
    assert run.tools == ("Read",)
    assert run.answer_by > now + 800_000


def test_the_same_call_twice_says_the_same(world: HookWorld) -> None:
    """Two installs: the last rewrite wins, whichever it is."""
    file = define(world)
    request = world.submit("a", agent="worker")

    first = call(world, request)
    file.write_text(WORKER.replace("As told", "Changed"))

    assert call(world, request) == first


def ruin_trust(world: HookWorld) -> None:
    define(world, "# changed\n", project=True)


def remove(world: HookWorld) -> None:
    define(world, project=True).unlink()


def break_it(world: HookWorld) -> None:
    define(world, "promt: x\n", project=True)
    trust_project(world.bridge)


def other_routes(world: HookWorld) -> None:
    define(world, "routes: [claude]\n", project=True)
    trust_project(world.bridge)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (ruin_trust, "you have not trusted it"),
        (remove, "the definition of agent 'worker' is gone since it was asked"),
        (break_it, "promt: unknown field"),
        (other_routes, "does not take the route host; it takes claude"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_error_what_changed_since_it_was_asked(
    world: HookWorld, change: Any, why: str
) -> None:
    """Looked at again at the launch: a branch may have been checked out meanwhile."""
    define(world, project=True)
    trust_project(world.bridge)
    request = world.submit("a", agent="worker")

    change(world)
    said = call(world, request)

    response = world.found(request).response
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"] == (
        f"hostbridge: request {request} cannot run. No agent is needed."
    )
    assert response is not None
    assert response.error is not None
    assert response.error.code == "AGENT_001"
    assert why in response.error.message
    assert world.runs() == []


def test_error_a_dropped_file_for_an_untrusted_agent(world: HookWorld) -> None:
    define(world, project=True)
    now = world.store.now_ms()
    world.drop("mine", agentType="worker", prompt="Do it.", createdAt=now)

    assert call(world, "mine")["permissionDecision"] == "deny"
    assert world.code("mine") == "AGENT_001"  # type: ignore[arg-type]


def test_what_a_dropped_file_says_of_a_definition_counts_not(world: HookWorld) -> None:
    """Words in it cannot pose as those of a definition."""
    now = world.store.now_ms()
    forged = {"digest": "x", "prompt": "FORGED"}
    define(world)
    for name, agent in (("one", "worker"), ("two", "general-purpose")):
        world.drop(
            name, agentType=agent, prompt="Do it.", createdAt=now, definition=forged
        )

    assert call(world, "one")["updatedInput"]["prompt"].startswith("As told: Do it.\n")
    assert call(world, "two")["permissionDecision"] == "deny"


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
def test_tools(world: HookWorld, fields: str, tool: str, *, is_denied: bool) -> None:
    define(world, fields + "\n")
    agent = started(world)

    reason, goes_on = use(world, agent, tool)

    assert (reason is not None) is is_denied, reason
    assert goes_on
    if is_denied:
        assert f"keeps {tool} from it" in reason


def test_a_refused_call_is_no_evidence(world: HookWorld) -> None:
    """It never ran: to name it must not count as having run it."""
    define(world, "tools: [Read]\n")
    agent = started(world)

    use(world, agent, "Bash", command="pytest")
    said = world.stop(agent, claim("pytest"))

    assert said["decision"] == "block"
    assert "not seen to run" in said["reason"]


def test_an_agent_that_it_starts_may_no_more(world: HookWorld) -> None:
    define(world, "tools: [Read, Agent]\n")
    agent = started(world)
    use(world, agent, "Agent", 7, prompt="x", description="y")
    below = world.start("t7")

    assert use(world, below, "Read")[0] is None
    assert "keeps Bash from it" in use(world, below, "Bash", 1)[0]


def test_turns_run_out(world: HookWorld) -> None:
    """Twice it is told to answer now, then it is ended, by name."""
    define(world, "max_turns: 2\n")
    agent = started(world)
    [run] = world.runs() or [None]

    calls = [use(world, agent, "Read", n) for n in range(5)]

    words = "hostbridge: the 2 tool calls of this request are"
    assert [goes_on for _, goes_on in calls] == [True, True, True, True, False]
    assert [reason and reason[: len(words)] for reason, _ in calls] == [
        None,
        None,
        words,
        words,
        words,
    ]
    assert run is not None
    assert world.code(run.request_id) == "AGENT_004"  # type: ignore[arg-type]


def test_refused_calls_are_turns(world: HookWorld) -> None:
    """An agent that does not listen ends, too."""
    define(world, "max_turns: 2\ntools: [Read]\n")
    agent = started(world)

    reasons = [use(world, agent, "Bash", n)[0] for n in range(3)]

    assert ["keeps Bash" in reason for reason in reasons] == [True, True, False]


def test_a_willing_agent_answers_after_its_turns(world: HookWorld) -> None:
    define(world, "max_turns: 1\n")
    agent = started(world)
    for number in range(2):
        use(world, agent, "Read", number)
    [run] = world.runs()

    world.stop(agent, GOOD)

    assert world.code(run.request_id) == "success"  # type: ignore[arg-type]


# Permissions


@pytest.mark.parametrize(
    ("tool", "given", "behavior"),
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
def test_what_is_granted_is_allowed_and_nothing_else(
    world: HookWorld, tool: str, given: Any, behavior: str
) -> None:
    define(world, "allow: ['Bash(pytest *)', 'Edit(src/**)']\n")
    (world.project / "src").mkdir()
    (world.project / "src" / "link").symlink_to(world.project)
    agent = started(world)

    assert may(world, agent, tool, **given) == behavior


def test_without_grants_everything_is_refused_as_ever(world: HookWorld) -> None:
    define(world)

    assert may(world, started(world), "Bash", command="ls") == "deny"


# Evidence


def claim(command: str | None, status: str = "success") -> str:
    item = {"type": "command_output", "content": "ok", "passed": True}
    evidence = [item | {"command": command}] if command else []
    return json.dumps({"status": status, "summary": "s", "evidence": evidence})


def run_bash(world: HookWorld, agent: str, command: str, *, ok: bool) -> None:
    given = {
        "agent_id": agent,
        "tool_name": "Bash",
        "tool_use_id": "bash-1",
        "tool_input": {"command": command},
    }
    world.say("PreToolUse", **given)
    from bridge.host.gate import after_bash

    agents = f"{world.store.place.state}/agents/"
    after_bash(agents, world.event("x", **given), agent, ok=ok)


@pytest.mark.parametrize(
    ("ran", "said", "code"),
    [
        (True, claim("pytest"), "success"),
        (True, claim(None), None),
        (None, claim(None), None),
        (False, claim(None), None),
        (None, claim(None, "failed"), "agent_failed"),
        (None, claim(None, "partial"), "success"),
    ],
)
def test_success_needs_evidence_that_was_verified(
    world: HookWorld, *, ran: bool | None, said: str, code: str | None
) -> None:
    define(world, "require_verified_evidence: true\n")
    agent = started(world)
    [run] = world.runs()
    if ran is not None:
        run_bash(world, agent, "pytest", ok=ran)

    told = world.stop(agent, said)

    assert world.code(run.request_id) == code  # type: ignore[arg-type]
    if code is None:
        assert "success needs evidence" in told["reason"]


def test_error_after_the_usual_corrections_it_is_unverified(world: HookWorld) -> None:
    define(world, "require_verified_evidence: true\n")
    agent = started(world)
    [run] = world.runs()

    for _ in range(3):
        world.stop(agent, claim(None))

    assert world.code(run.request_id) == "unverified"  # type: ignore[arg-type]


def test_evidence_in_a_form_of_its_own(world: HookWorld) -> None:
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


def test_an_echo_of_the_definitions_prompt_is_an_echo(world: HookWorld) -> None:
    """It may hold an example of a good answer."""
    more = "  This is how a good answer looks, and a long enough one: " + GOOD + "\n"
    define(world).write_text(f"name: worker\nprompt: |\n  Do {{{{ task }}}}\n{more}")
    agent = started(world)

    said = world.stop(agent, f"Do Do it.\n{more.strip()}")

    assert "repeats the prompt" in said["reason"]
