"""What the user chose for the session outranks what a definition grants."""

import pytest
from fakeclaude import trust_folder
from hookworld import HookWorld

from bridge.cli.records.show_history import history_lines
from bridge.store import subagent_runs


def granted(world: HookWorld, *rules: str) -> str:
    """An agent with these grants."""
    _, agent = world.working()
    (run,) = world.runs()
    subagent_runs.change(world.store, run, lambda r: r.with_(allow=rules))
    return agent


def test_what_the_user_wants_to_be_asked_about_is_denied(world):
    """Nobody is there to be asked; an allow of ours would override the rule."""
    agent = granted(world, "Write", "Bash(git *)")
    settings = world.set_permissions(ask=["Bash(git push:*)", "Write", 7])

    def behavior(tool, **arguments):
        return str(world.permission(agent, tool, **arguments)["behavior"])

    file = str(world.project / "a")
    asked = [
        behavior("Write", file_path=file, content="x"),
        behavior("Bash", command="git push origin"),
        behavior("Bash", command="git status"),
    ]
    for text in ("{", "[]", '{"permissions": {"ask": 3}}'):
        settings.write_text(text)
        asked.append(behavior("Write", file_path=file, content="x"))

    assert asked == ["deny", "deny", "allow", "allow", "allow", "allow"]


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("git  push", "deny"),
        ("git 'push' origin", "deny"),
        ("git pu\\sh", "deny"),
        ("git -C . push", "deny"),
        ("git -c a.b=c push origin", "deny"),
        ("git -c alias.x=push x", "deny"),
        ("git log push", "allow"),
        ("git commit -m 'git push'", "allow"),
    ],
)
def test_a_rule_that_asks_is_about_words_however_they_are_written(
    world, command, behavior
):
    """Other quotes or an option before them are no way round it."""
    agent = granted(world, "Bash(git *)")
    world.set_permissions(ask=["Bash(git push *)"])

    assert world.permission(agent, "Bash", command=command)["behavior"] == behavior


@pytest.mark.parametrize(
    ("mode", "tool", "behavior"),
    [
        ("default", "Write", "allow"),
        ("acceptEdits", "Write", "allow"),
        ("plan", "Write", "deny"),
        ("plan", "Edit", "deny"),
        ("plan", "Bash", "deny"),
        ("plan", "mcp__git__push", "deny"),
        ("plan", "Read", "allow"),
        ("plan", "WebFetch", "allow"),
        ("plan", "Grep", "allow"),
    ],
)
def test_plan_mode_outranks_a_grant(world, mode, tool, behavior):
    """The user's own rule would have asked, too; nobody is there to be asked."""
    agent = granted(world, tool)
    arguments = {"command": "ls", "url": "https://example.org/", "pattern": "x"}
    arguments |= {"path": str(world.project), "file_path": str(world.project / "a")}

    decision = world.permission(agent, tool, mode, **arguments)

    assert decision["behavior"] == behavior
    assert ("plan mode" in decision.get("message", "")) is (behavior == "deny")


UNASKED = ("acceptEdits", "auto", "bypassPermissions")


def denied(world: HookWorld, agent: str, mode: str, tool: str, **arguments: str):
    said = world.use(agent, tool, permission_mode=mode, tool_input=arguments)
    return said.get("hookSpecificOutput", {}).get("permissionDecisionReason")


@pytest.mark.parametrize("mode", UNASKED)
@pytest.mark.parametrize(
    ("tool", "arguments", "is_denied"),
    [
        ("Bash", {"command": "pytest -q"}, False),
        ("Bash", {"command": "pytest --basetemp=/"}, True),
        ("Bash", {"command": "rm x"}, True),
        ("Bash", {"command": "ls src | head -3"}, False),
        ("Bash", {"command": "cat /etc/passwd"}, True),
        ("Edit", {"file_path": "docs/a.md"}, False),
        ("Edit", {"file_path": "a.py"}, True),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, True),
        ("WebFetch", {"url": "https://x.org"}, True),
        ("mcp__git__push", {}, True),
        ("Skill", {"skill": "x"}, True),
        ("Read", {"file_path": "a.py"}, False),
        ("Agent", {"prompt": "x", "description": "d"}, False),
    ],
)
def test_grants_hold_where_the_client_asks_nobody(
    world, mode, tool, arguments, *, is_denied
):
    """A definition means the same in each session, whatever its mode."""
    agent = granted(world, "Bash(pytest [-q] *)", "Edit(docs/**)")

    reason = denied(world, agent, mode, tool, **arguments)

    assert ("is not granted to this agent" in str(reason)) is is_denied
    assert denied(world, agent, "default", tool, **arguments) is None


@pytest.mark.parametrize("is_trusted", [True, False])
def test_what_a_project_allows_stays_allowed_where_claude_code_trusts_it(
    world, is_trusted
):
    """Where it was never asked, the client itself does not follow it either."""
    agent = granted(world, "Bash(pytest *)")
    world.set_permissions(allow=["Bash(make:*)"])
    if is_trusted:
        trust_folder(world.home, world.project)

    said = [
        denied(world, agent, "auto", "Bash", command=command)
        for command in ("make test", "make; rm x")
    ]

    assert [reason is None for reason in said] == [is_trusted, False]


def test_an_agent_without_grants_is_as_free_as_the_session(world):
    """Nothing was said about what it may do."""
    _, agent = world.working()

    assert denied(world, agent, "auto", "Bash", command="rm x") is None


def test_a_refusal_is_in_the_history_of_the_request(world):
    """An agent that is blocked by it may say no more than that."""
    agent = granted(world, "Bash(ruff check [-q] *)")
    (run,) = world.runs()

    denied(world, agent, "auto", "Bash", command="ruff check --fix .")
    world.permission(agent, "Bash", command="touch made")

    story = world.bridge.story(run.request_id)
    shown = "\n".join(map(str, history_lines(story, None, full=False)))
    assert "refused: ruff check --fix .: Bash is not granted to this agent: " in shown
    assert "--fix is not granted" in shown
    assert "refused: touch made: Bash is not granted to this agent" in shown
