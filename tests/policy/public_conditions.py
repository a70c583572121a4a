"""Conditions of the kinds that public rule and workflow files have, some of each form.

Each with an event for which it is true and one for which it is not. Names and fields
are as in those files; the events and what is expected are ours. Conditions that call
functions which their authors wrote are not here.
"""

from typing import Any

Scope = dict[str, Any]


def event_of(**data: Any) -> Scope:
    return {"event": {"data": data, "source": {"value": "claude"}}}


def with_variables(**values: Any) -> Scope:
    return {"variables": values, "vars": values, "state": {"variables": values}}


def outputs(**steps: Any) -> Scope:
    """Steps by name, each with an output."""
    found: Scope = {name: {"output": output} for name, output in steps.items()}
    return found | {"steps": dict(found)}


def github(name: str = "push", ref: str = "refs/heads/main", **more: Any) -> Scope:
    return {"github": {"event_name": name, "ref": ref, **more}}


PUBLIC: list[tuple[str, Scope, Scope]] = [
    # Rules of sessions: what a tool is asked, where a session comes from.
    (
        "tool_name == 'FileWriteTool' || tool_name == 'FileEditTool'",
        {"tool_name": "FileEditTool"},
        {"tool_name": "Bash"},
    ),
    (
        "variables.get('stop_attempts', 0) < 3",
        with_variables(),
        with_variables(stop_attempts=3),
    ),
    (
        "len(variables.get('pending_messages', [])) > 0",
        with_variables(pending_messages=["a"]),
        with_variables(),
    ),
    (
        "variables.get('enforce_tdd') if variables.get('tdd_enabled') else False",
        with_variables(enforce_tdd=True, tdd_enabled=True),
        with_variables(enforce_tdd=True),
    ),
    ("event.data.get('source') == 'clear'", event_of(source="clear"), event_of()),
    (
        "event.data.get('prompt', '').strip().lower() in ['/clear', '/exit']",
        event_of(prompt=" /Clear\n"),
        event_of(prompt="clear"),
    ),
    (
        "event.source.value != 'gemini' or event.data.get('trigger') == 'manual'",
        event_of(),
        {"event": {"data": {"trigger": "auto"}, "source": {"value": "gemini"}}},
    ),
    (
        "tool_input.get('file_path', '').endswith('.py')",
        {"tool_input": {"file_path": "a/b.py"}},
        {"tool_input": {}},
    ),
    (
        "'/tests/' not in tool_input.get('file_path', '')",
        {"tool_input": {"file_path": "src/a.py"}},
        {"tool_input": {"file_path": "/w/tests/a.py"}},
    ),
    (
        (
            "tool_input.get('skip_validation') and "
            "(task_has_commits or tool_input.get('commit_sha'))"
        ),
        {"tool_input": {"skip_validation": True, "commit_sha": "ab"}},
        {"tool_input": {"skip_validation": True}, "task_has_commits": False},
    ),
    ("task_claimed or plan_mode", {"plan_mode": True}, {}),
    ("not task_claimed and not plan_mode", {}, {"plan_mode": True}),
    (
        "remaining_tasks and\nlen(remaining_tasks) > 0 and\nnot stop_check.has_signal",
        {"remaining_tasks": ["a"], "stop_check": {"has_signal": False}},
        {"remaining_tasks": ["a"], "stop_check": {"has_signal": True}},
    ),
    (
        (
            "tool_input.get('task_id') is not None\nand tool_input.get('task_id') in "
            "(vars.get('assigned_task_id'), vars.get('assigned_task_ref'))"
        ),
        {"tool_input": {"task_id": "#1"}} | with_variables(assigned_task_ref="#1"),
        {"tool_input": {}} | with_variables(),
    ),
    (
        (
            "tool_output.get('closed') is True\n"
            "or (tool_output.get('result') or {}).get('closed') is True"
        ),
        {"tool_output": {"result": {"closed": True}}},
        {"tool_output": {}},
    ),
    (
        'action == "opened" && pull_request.draft == false',
        {"action": "opened", "pull_request": {"draft": False}},
        {"action": "opened", "pull_request": {"draft": True}},
    ),
    ('action == "opened"', {"action": "opened"}, {"action": "closed"}),
    # Transitions and ends of step workflows.
    ("true", {}, {"skip": True}),
    ("variables.health < 20", with_variables(health=19.5), with_variables(health=20)),
    ("variables.trust >= 70", with_variables(trust=75), with_variables(trust=None)),
    # Steps of pipelines.
    (
        "${{ len(scan_open.output.tasks) if scan_open.output else 0 }}",
        outputs(scan_open={"tasks": [1]}),
        outputs(scan_open={}),
    ),
    (
        "${{ inputs.merge_target or current_branch }}",
        {"inputs": {"merge_target": None}, "current_branch": "dev"},
        {"inputs": {"merge_target": ""}, "current_branch": ""},
    ),
    (
        (
            "${{ get_worktree.output.worktree.id if (get_worktree.output and "
            "get_worktree.output.worktree) else (create_worktree.output.worktree_id if "
            "create_worktree.output else '') }}"
        ),
        outputs(get_worktree={}, create_worktree={"worktree_id": "w1"}),
        outputs(get_worktree={"worktree": None}, create_worktree=None),
    ),
    (
        "${{ select.output.tasks[0].id }}",
        outputs(select={"tasks": [{"id": "a"}]}),
        outputs(select={"tasks": []}),
    ),
    (
        (
            "${{ (get_task.output.get('status') in ('needs_review', "
            "'review_approved')) "
            "and not get_task.output.get('state', {}).get('is_claimed', False) }}"
        ),
        outputs(get_task={"status": "needs_review"}),
        outputs(get_task={"status": "needs_review", "state": {"is_claimed": True}}),
    ),
    # Workflows as GitHub runs them.
    ("${{ github.ref == 'refs/heads/main' }}", github(), github(ref="x")),
    ("matrix.os == 'macos-latest'", {"matrix": {"os": "macos-latest"}}, {"matrix": {}}),
    ("matrix.node == 20", {"matrix": {"node": 20}}, {"matrix": {"node": 22}}),
    (
        "${{ !(matrix.os == 'ubuntu-latest' && matrix.node == 22) }}",
        {"matrix": {"os": "ubuntu-latest", "node": 20}},
        {"matrix": {"os": "ubuntu-latest", "node": 22}},
    ),
]

# What stands in `(if …)~>` of a flow.
FLOWS: list[tuple[str, Scope, Scope]] = [
    ("passed", {"passed": True}, {"passed": False}),
    ("failed", {"failed": True}, {"failed": False}),
    ("no issues", {"issues": False}, {"issues": True}),
    ("all success", {"all": {"success": True}}, {"all": {"success": False}}),
    ("any failed", {"any": {"failed": True}}, {"any": {"failed": False}}),
    ("results.passed", {"results": {"passed": True}}, {"results": None}),
    ("security.critical > 0", {"security": {"critical": 1}}, {"security": None}),
    ("score > 5", {"score": 6}, {"score": 5}),
    ("!deployed", {"deployed": False}, {"deployed": True}),
    ("passed && !has_warnings", {"passed": True}, {"passed": True, "has_warnings": 1}),
    ("failed || timeout", {"timeout": True}, {}),
    ('{report} contains "critical"', {"report": "1 critical"}, {"report": "fine"}),
    (
        '{scan.output} contains "x" && passed',
        {"scan": {"output": "x"}, "passed": True},
        {"scan": {"output": "y"}, "passed": True},
    ),
]
