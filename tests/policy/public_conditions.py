"""Conditions of the kinds that public rule and workflow files have.

Each with an event for which it is true and one for which it is not. Names and fields
are as in those files; the events and what is expected are ours. Conditions that call
functions which their authors wrote are not here.
"""

from __future__ import annotations

from condition_scopes import Scope, event_of, with_variables
from public_pipelines import PIPELINES
from public_steps import GITHUB, STEPS

# Rules of sessions: what a tool is asked, where a session comes from.
RULES: list[tuple[str, Scope, Scope]] = [
    (
        (
            'tool_name == "Bash" and ("pytest" in command or "ruff" in command '
            'or "mypy" in command)'
        ),
        {"tool_name": "Bash", "command": "ruff check"},
        {"tool_name": "Edit"},
    ),
    ("tool_name == 'Bash'", {"tool_name": "Bash"}, {"tool_name": "Read"}),
    ("tool_name == 'close_task'", {"tool_name": "close_task"}, {}),
    (
        "tool_name == 'FileWriteTool' || tool_name == 'FileEditTool'",
        {"tool_name": "FileEditTool"},
        {"tool_name": "Bash"},
    ),
    (
        "not variables.get('plan_mode')",
        with_variables(),
        with_variables(plan_mode=True),
    ),
    (
        "not variables.get('is_subagent')",
        with_variables(is_subagent=False),
        with_variables(is_subagent=1),
    ),
    (
        "not variables.get('tests_passed', False)",
        with_variables(),
        with_variables(tests_passed=True),
    ),
    (
        "not variables.get('_skills_injected')",
        with_variables(),
        with_variables(_skills_injected=True),
    ),
    (
        "not variables.get('session_initialized')",
        with_variables(session_initialized=None),
        with_variables(session_initialized=True),
    ),
    (
        "not variables.get('current_task_id') and variables.get('session_task')",
        with_variables(session_task="#4"),
        with_variables(session_task="#4", current_task_id="#5"),
    ),
    (
        "not variables.get('current_task_id') and variables.get('result')",
        with_variables(result={"id": 1}),
        with_variables(result={}),
    ),
    (
        "variables.get('pending_context_reset')",
        with_variables(pending_context_reset=True),
        with_variables(),
    ),
    (
        "variables.get('stop_attempts', 0) < 3",
        with_variables(),
        with_variables(stop_attempts=3),
    ),
    (
        "variables.get('mode_level', 2) >= 1",
        with_variables(),
        with_variables(mode_level=0),
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
    (
        "variables.get('task_claimed', False) and some_other_condition",
        with_variables(task_claimed=True) | {"some_other_condition": 1},
        with_variables() | {"some_other_condition": 1},
    ),
    ("event.data.get('source') == 'clear'", event_of(source="clear"), event_of()),
    ("event.data.get('source') == 'compact'", event_of(source="compact"), event_of()),
    ("event.data.get('source') == 'startup'", event_of(source="startup"), event_of()),
    (
        "event.data.get('source') in ['clear', 'compact', 'startup']",
        event_of(source="startup"),
        event_of(source="resume"),
    ),
    (
        "event.data.get('source') in ['clear', 'compact']",
        event_of(source="compact"),
        event_of(source="startup"),
    ),
    (
        (
            "event.data.get('source') in ['clear', 'compact'] or "
            "(event.data.get('source') == 'resume' and "
            "variables.get('pending_context_reset'))"
        ),
        event_of(source="resume") | with_variables(pending_context_reset=True),
        event_of(source="resume") | with_variables(),
    ),
    ("event.data.get('reason') == 'clear'", event_of(reason="clear"), event_of()),
    ("event.data.get('trigger') == 'auto'", event_of(trigger="auto"), event_of()),
    (
        (
            "event.data.get('autonomous') == true and "
            "event.data.get('reason') != 'user_abort'"
        ),
        event_of(autonomous=True),
        event_of(autonomous=True, reason="user_abort"),
    ),
    (
        "event.data.get('prompt', '').strip().lower() in ['/clear', '/exit']",
        event_of(prompt=" /Clear\n"),
        event_of(prompt="clear"),
    ),
    (
        "event.data.get('tool_name') in ['Edit', 'Write']",
        event_of(tool_name="Edit"),
        event_of(tool_name="Read"),
    ),
    (
        (
            "event.data.get('tool_name') in ['Edit', 'Write', 'NotebookEdit'] or "
            "event.data.get('mcp_tool') == 'close_task'"
        ),
        event_of(mcp_tool="close_task"),
        event_of(tool_name="Bash"),
    ),
    (
        (
            "event.data.get('mcp_tool') == 'list_mcp_servers' or "
            "event.data.get('tool_name') == 'mcp__gobby__list_mcp_servers'"
        ),
        event_of(tool_name="mcp__gobby__list_mcp_servers"),
        event_of(tool_name="list_mcp_servers"),
    ),
    (
        "event.data.get('mcp_tool') in ['claim_task', 'create_task']",
        event_of(mcp_tool="create_task"),
        event_of(),
    ),
    (
        "event.source.value != 'gemini' or event.data.get('trigger') == 'manual'",
        event_of(),
        {"event": {"data": {"trigger": "auto"}, "source": {"value": "gemini"}}},
    ),
    (
        "session.title == None",
        {"session": {"title": None}},
        {"session": {"title": "a"}},
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
    (
        (
            "variables.get('require_commit_before_close') and not task_has_commits and "
            "not tool_input.get('commit_sha') and tool_input.get('reason') not in "
            "['already_implemented', 'obsolete', 'duplicate', "
            "'wont_fix', 'out_of_repo']"
        ),
        with_variables(require_commit_before_close=True)
        | {"tool_input": {"reason": "done"}, "task_has_commits": False},
        with_variables(require_commit_before_close=True)
        | {"tool_input": {"reason": "obsolete"}, "task_has_commits": False},
    ),
    ("not task_claimed", {"task_claimed": False}, {"task_claimed": True}),
    ("task_claimed or plan_mode", {"plan_mode": True}, {}),
    ("not task_claimed and not plan_mode", {}, {"plan_mode": True}),
    (
        "task_claimed\nand not plan_mode\nand variables.get('mode_level', 2) >= 1\n",
        {"task_claimed": True} | with_variables(),
        {"task_claimed": True} | with_variables(mode_level=0),
    ),
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
            "(tool_output.get('result') or tool_output).get('id') == "
            "vars.get('assigned_task_id')"
        ),
        {"tool_output": {"result": {"id": 4}}} | with_variables(assigned_task_id=4),
        {"tool_output": {"id": 5}} | with_variables(assigned_task_id=4),
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
]


# What stands in `(if …)~>` of a flow.
FLOWS: list[tuple[str, Scope, Scope]] = [
    ("passed", {"passed": True}, {"passed": False}),
    ("failed", {"failed": True}, {"failed": False}),
    ("no issues", {"issues": False}, {"issues": True}),
    ("all success", {"all": {"success": True}}, {"all": {"success": False}}),
    ("any failed", {"any": {"failed": True}}, {"any": {"failed": False}}),
    ("any success", {"any": {"success": True}}, {"any": {}}),
    ("results.passed", {"results": {"passed": True}}, {"results": None}),
    ("results.failed", {"results": {"failed": True}}, {"results": {}}),
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
    ('status == "approved"', {"status": "approved"}, {"status": "no"}),
]


PUBLIC = [*RULES, *STEPS, *PIPELINES, *GITHUB]
