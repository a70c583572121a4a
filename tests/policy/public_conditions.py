"""Conditions of the kinds that public rule and workflow files have.

Each with an event for which it is true and one for which it is not. Names and fields
are as in those files; the events and what is expected are ours. Conditions that call
functions which their authors wrote are not here.
"""

from __future__ import annotations

from typing import Any

Scope = dict[str, Any]


def _event(**data: Any) -> Scope:
    return {"event": {"data": data, "source": {"value": "claude"}}}


def _vars(**values: Any) -> Scope:
    return {"variables": values, "vars": values, "state": {"variables": values}}


def _out(**steps: Any) -> Scope:
    """Steps by name, each with an output."""
    found: Scope = {name: {"output": output} for name, output in steps.items()}
    return found | {"steps": dict(found)}


def _github(name: str = "push", ref: str = "refs/heads/main", **more: Any) -> Scope:
    return {"github": {"event_name": name, "ref": ref, **more}}


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
    ("not variables.get('plan_mode')", _vars(), _vars(plan_mode=True)),
    (
        "not variables.get('is_subagent')",
        _vars(is_subagent=False),
        _vars(is_subagent=1),
    ),
    ("not variables.get('tests_passed', False)", _vars(), _vars(tests_passed=True)),
    ("not variables.get('_skills_injected')", _vars(), _vars(_skills_injected=True)),
    (
        "not variables.get('session_initialized')",
        _vars(session_initialized=None),
        _vars(session_initialized=True),
    ),
    (
        "not variables.get('current_task_id') and variables.get('session_task')",
        _vars(session_task="#4"),
        _vars(session_task="#4", current_task_id="#5"),
    ),
    (
        "not variables.get('current_task_id') and variables.get('result')",
        _vars(result={"id": 1}),
        _vars(result={}),
    ),
    (
        "variables.get('pending_context_reset')",
        _vars(pending_context_reset=True),
        _vars(),
    ),
    ("variables.get('stop_attempts', 0) < 3", _vars(), _vars(stop_attempts=3)),
    ("variables.get('mode_level', 2) >= 1", _vars(), _vars(mode_level=0)),
    (
        "len(variables.get('pending_messages', [])) > 0",
        _vars(pending_messages=["a"]),
        _vars(),
    ),
    (
        "variables.get('enforce_tdd') if variables.get('tdd_enabled') else False",
        _vars(enforce_tdd=True, tdd_enabled=True),
        _vars(enforce_tdd=True),
    ),
    (
        "variables.get('task_claimed', False) and some_other_condition",
        _vars(task_claimed=True) | {"some_other_condition": 1},
        _vars() | {"some_other_condition": 1},
    ),
    ("event.data.get('source') == 'clear'", _event(source="clear"), _event()),
    ("event.data.get('source') == 'compact'", _event(source="compact"), _event()),
    ("event.data.get('source') == 'startup'", _event(source="startup"), _event()),
    (
        "event.data.get('source') in ['clear', 'compact', 'startup']",
        _event(source="startup"),
        _event(source="resume"),
    ),
    (
        "event.data.get('source') in ['clear', 'compact']",
        _event(source="compact"),
        _event(source="startup"),
    ),
    (
        (
            "event.data.get('source') in ['clear', 'compact'] or "
            "(event.data.get('source') == 'resume' and "
            "variables.get('pending_context_reset'))"
        ),
        _event(source="resume") | _vars(pending_context_reset=True),
        _event(source="resume") | _vars(),
    ),
    ("event.data.get('reason') == 'clear'", _event(reason="clear"), _event()),
    ("event.data.get('trigger') == 'auto'", _event(trigger="auto"), _event()),
    (
        (
            "event.data.get('autonomous') == true and "
            "event.data.get('reason') != 'user_abort'"
        ),
        _event(autonomous=True),
        _event(autonomous=True, reason="user_abort"),
    ),
    (
        "event.data.get('prompt', '').strip().lower() in ['/clear', '/exit']",
        _event(prompt=" /Clear\n"),
        _event(prompt="clear"),
    ),
    (
        "event.data.get('tool_name') in ['Edit', 'Write']",
        _event(tool_name="Edit"),
        _event(tool_name="Read"),
    ),
    (
        (
            "event.data.get('tool_name') in ['Edit', 'Write', 'NotebookEdit'] or "
            "event.data.get('mcp_tool') == 'close_task'"
        ),
        _event(mcp_tool="close_task"),
        _event(tool_name="Bash"),
    ),
    (
        (
            "event.data.get('mcp_tool') == 'list_mcp_servers' or "
            "event.data.get('tool_name') == 'mcp__gobby__list_mcp_servers'"
        ),
        _event(tool_name="mcp__gobby__list_mcp_servers"),
        _event(tool_name="list_mcp_servers"),
    ),
    (
        "event.data.get('mcp_tool') in ['claim_task', 'create_task']",
        _event(mcp_tool="create_task"),
        _event(),
    ),
    (
        "event.source.value != 'gemini' or event.data.get('trigger') == 'manual'",
        _event(),
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
        _vars(require_commit_before_close=True)
        | {"tool_input": {"reason": "done"}, "task_has_commits": False},
        _vars(require_commit_before_close=True)
        | {"tool_input": {"reason": "obsolete"}, "task_has_commits": False},
    ),
    ("not task_claimed", {"task_claimed": False}, {"task_claimed": True}),
    ("task_claimed or plan_mode", {"plan_mode": True}, {}),
    ("not task_claimed and not plan_mode", {}, {"plan_mode": True}),
    (
        "task_claimed\nand not plan_mode\nand variables.get('mode_level', 2) >= 1\n",
        {"task_claimed": True} | _vars(),
        {"task_claimed": True} | _vars(mode_level=0),
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
        {"tool_input": {"task_id": "#1"}} | _vars(assigned_task_ref="#1"),
        {"tool_input": {}} | _vars(),
    ),
    (
        (
            "(tool_output.get('result') or tool_output).get('id') == "
            "vars.get('assigned_task_id')"
        ),
        {"tool_output": {"result": {"id": 4}}} | _vars(assigned_task_id=4),
        {"tool_output": {"id": 5}} | _vars(assigned_task_id=4),
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

# Transitions and ends of step workflows.
STEPS: list[tuple[str, Scope, Scope]] = [
    (
        "current_step == 'complete'",
        {"current_step": "complete"},
        {"current_step": "work"},
    ),
    (
        "current_step == 'terminate'",
        {"current_step": "terminate"},
        {"current_step": "work"},
    ),
    ("true", {}, {"skip": True}),
    ("approved", {"approved": True}, {}),
    ("task_completed or user_exit", {"user_exit": True}, {"task_completed": False}),
    ("validation_passed", {"validation_passed": True}, {"validation_passed": False}),
    ("not validation_passed", {}, {"validation_passed": True}),
    (
        "state.variables.get('requirements_understood')",
        _vars(requirements_understood=True),
        _vars(),
    ),
    ("state.variables.get('tests_written')", _vars(tests_written=1), _vars()),
    ("state.variables.get('tests_passing')", _vars(tests_passing="x"), _vars()),
    ("len(variables.selected_tasks) > 0", _vars(selected_tasks=[1]), _vars()),
    (
        "len(variables.selected_tasks) == 0 and len(variables.spawned_agents) > 0",
        _vars(selected_tasks=[], spawned_agents=[1]),
        _vars(selected_tasks=[], spawned_agents=[]),
    ),
    (
        "len(variables.selected_tasks) == 0 and len(variables.spawned_agents) == 0",
        _vars(selected_tasks=[], spawned_agents=[]),
        _vars(selected_tasks=[], spawned_agents=[1]),
    ),
    (
        "len(variables.selected_tasks) == 0",
        _vars(selected_tasks=[]),
        _vars(selected_tasks=[1]),
    ),
    (
        "variables.completed_agent is not None",
        _vars(completed_agent="a"),
        _vars(completed_agent=None),
    ),
    (
        "variables.completed_agent is None",
        _vars(completed_agent=None),
        _vars(completed_agent="a"),
    ),
    (
        "len(variables.spawned_agents) < variables.max_parallel_agents",
        _vars(spawned_agents=[], max_parallel_agents=3),
        _vars(spawned_agents=[1, 2, 3], max_parallel_agents=3),
    ),
    (
        "variables.block_resolved == 'true'",
        _vars(block_resolved="true"),
        _vars(block_resolved=None),
    ),
    (
        "len(variables.get('spawned_agents', [])) > 0",
        _vars(spawned_agents=[1]),
        _vars(),
    ),
    (
        "len(variables.get('completed_agents', [])) > 0",
        _vars(completed_agents=[1]),
        _vars(),
    ),
    (
        "len(variables.get('reviewed_agents', [])) > 0",
        _vars(reviewed_agents=[1]),
        _vars(),
    ),
    (
        "len(variables.get('spawned_agents', [])) == 0",
        _vars(),
        _vars(spawned_agents=[1]),
    ),
    (
        (
            "len(variables.get('spawned_agents', [])) == 0 and "
            "len(variables.get('reviewed_agents', [])) == 0"
        ),
        _vars(),
        _vars(reviewed_agents=[1]),
    ),
    (
        "vars.task_claimed and vars.assigned_task_id",
        _vars(task_claimed=True, assigned_task_id="1"),
        _vars(task_claimed=True, assigned_task_id=None),
    ),
    ("vars.task_claimed", _vars(task_claimed=True), _vars(task_claimed=False)),
    (
        "vars.skills_routed and vars.assigned_task_ref",
        _vars(skills_routed=True, assigned_task_ref="#1"),
        _vars(skills_routed=True, assigned_task_ref=""),
    ),
    (
        "vars.implementation_complete and not vars.bounced",
        _vars(implementation_complete=True, bounced=False),
        _vars(implementation_complete=True, bounced=True),
    ),
    (
        "not vars.additional_skills",
        _vars(additional_skills=[]),
        _vars(additional_skills=[1]),
    ),
    ("variables.status == 'approved'", _vars(status="approved"), _vars(status="no")),
    ("variables.ready", _vars(ready=1), _vars(ready=0)),
    ("variables.x == 'y'", _vars(x="y"), _vars(x="z")),
    ("variables.risco == 'critico'", _vars(risco="critico"), _vars(risco="baixo")),
    ("variables.prioridade == 'alta'", _vars(prioridade="alta"), _vars()),
    ("variables.health < 20", _vars(health=19.5), _vars(health=20)),
    ("variables.trust >= 70", _vars(trust=75), _vars(trust=None)),
    (
        "(input.some_condition == True)",
        {"input": {"some_condition": True}},
        {"input": {"some_condition": False}},
    ),
    (
        "(input.some_condition == False)",
        {"input": {"some_condition": False}},
        {"input": {}},
    ),
]

# Steps of pipelines.
PIPELINES: list[tuple[str, Scope, Scope]] = [
    (
        "${{ not steps.check_expansion.output.is_expanded }}",
        _out(check_expansion={"is_expanded": False}),
        _out(check_expansion={"is_expanded": True}),
    ),
    (
        (
            "${{ done_check.output.orchestration_complete if done_check.output "
            "else false }}"
        ),
        _out(done_check={"orchestration_complete": True}),
        _out(done_check=None),
    ),
    (
        "${{ len(scan_open.output.tasks) if scan_open.output else 0 }}",
        _out(scan_open={"tasks": [1]}),
        _out(scan_open={}),
    ),
    (
        "${{ len(reentry_check.output.executions) > 1 }}",
        _out(reentry_check={"executions": [1, 2]}),
        _out(reentry_check={"executions": [1]}),
    ),
    (
        (
            "${{ len(scan_open.output.tasks) == 0 and "
            "len(scan_in_progress.output.tasks) == 0 and "
            "len(scan_needs_review.output.tasks) == 0 and "
            "len(scan_review_approved.output.tasks) == 0 }}"
        ),
        _out(
            scan_open={"tasks": []},
            scan_in_progress={"tasks": []},
            scan_needs_review={"tasks": []},
            scan_review_approved={"tasks": []},
        ),
        _out(scan_open={"tasks": [1]}),
    ),
    (
        (
            "${{\n (standalone_check.output.is_standalone and get_task.output and "
            "get_task.output.status in ('closed', 'review_approved'))\n or\n "
            "(not standalone_check.output.is_standalone and "
            "len(scan_open.output.tasks) == 0)\n}}"
        ),
        _out(standalone_check={"is_standalone": True}, get_task={"status": "closed"}),
        _out(standalone_check={"is_standalone": True}, get_task={"status": "open"}),
    ),
    (
        "${{ standalone_check.output.is_standalone }}",
        _out(standalone_check={"is_standalone": True}),
        _out(standalone_check={}),
    ),
    (
        "${{ inputs.isolation == 'worktree' }}",
        {"inputs": {"isolation": "worktree"}},
        {"inputs": {"isolation": "clone"}},
    ),
    (
        "${{ inputs.isolation == 'clone' }}",
        {"inputs": {"isolation": "clone"}},
        {"inputs": {"isolation": "none"}},
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "not has_isolation.output.exists }}"
        ),
        _out(done_check={"orchestration_complete": False}, has_isolation={}),
        _out(
            done_check={"orchestration_complete": False}, has_isolation={"exists": True}
        ),
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "inputs.isolation == 'worktree' and not has_isolation.output.exists }}"
        ),
        _out(done_check={}, has_isolation={}) | {"inputs": {"isolation": "worktree"}},
        _out(done_check={}, has_isolation={}) | {"inputs": {"isolation": "clone"}},
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
        _out(get_worktree={}, create_worktree={"worktree_id": "w1"}),
        _out(get_worktree={"worktree": None}, create_worktree=None),
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "count_active.output.available_slots > 0 and "
            "len(scan_open.output.tasks) > 0 }}"
        ),
        _out(
            done_check={}, count_active={"available_slots": 2}, scan_open={"tasks": [1]}
        ),
        _out(
            done_check={}, count_active={"available_slots": 0}, scan_open={"tasks": [1]}
        ),
    ),
    (
        "${{ suggest_tasks.output and len(suggest_tasks.output.suggestions) > 0 }}",
        _out(suggest_tasks={"suggestions": [1]}),
        _out(suggest_tasks=None),
    ),
    (
        "${{ check_qa_running.output and len(check_qa_running.output.agents) > 0 }}",
        _out(check_qa_running={"agents": [1]}),
        _out(check_qa_running={"agents": []}),
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "len(scan_needs_review.output.tasks) > 0 and "
            "not (qa_gate.output and qa_gate.output.qa_already_running) }}"
        ),
        _out(done_check={}, scan_needs_review={"tasks": [1]}, qa_gate=None),
        _out(
            done_check={},
            scan_needs_review={"tasks": [1]},
            qa_gate={"qa_already_running": True},
        ),
    ),
    (
        "${{ select.output.tasks[0].id }}",
        _out(select={"tasks": [{"id": "a"}]}),
        _out(select={"tasks": []}),
    ),
    (
        (
            "${{ done_check.output.orchestration_complete and "
            "((merge_worktree.output and not merge_worktree.output.get('error')) or "
            "(merge_clone.output and not merge_clone.output.get('error'))) }}"
        ),
        _out(
            done_check={"orchestration_complete": True},
            merge_worktree=None,
            merge_clone={"ok": True},
        ),
        _out(
            done_check={"orchestration_complete": True},
            merge_worktree={"error": "x"},
            merge_clone=None,
        ),
    ),
    (
        "${{ get_standalone_task.output.get('state', {}).get('is_closed', False) }}",
        _out(get_standalone_task={"state": {"is_closed": True}}),
        _out(get_standalone_task={}),
    ),
    (
        (
            "${{ (get_task.output.get('status') in ('needs_review', "
            "'review_approved')) "
            "and not get_task.output.get('state', {}).get('is_claimed', False) }}"
        ),
        _out(get_task={"status": "needs_review"}),
        _out(get_task={"status": "needs_review", "state": {"is_claimed": True}}),
    ),
    (
        "${{ steps.check.outputs.result == 'ok' }}",
        {"steps": {"check": {"outputs": {"result": "ok"}}}},
        {"steps": {}},
    ),
    (
        "${{ steps.parse_ai_response.output == 'restart_service' }}",
        _out(parse_ai_response="restart_service"),
        _out(parse_ai_response=""),
    ),
    (
        "${{ steps.search.output.hits.total.value > 0 }}",
        _out(search={"hits": {"total": {"value": 2}}}),
        _out(search={}),
    ),
    (
        "${{ steps.vt_check.output.data.stats.malicious > 10 }}",
        _out(vt_check={"data": {"stats": {"malicious": 11}}}),
        _out(vt_check=None),
    ),
    ("${{ steps.get_value.output > 100 }}", _out(get_value=100.5), _out(get_value=100)),
    ("${{ steps.previous.output.success }}", _out(previous={"success": True}), _out()),
    (
        "${{ steps.investigate.status == 'failed' }}",
        {"steps": {"investigate": {"status": "failed"}}},
        {"steps": {}},
    ),
    (
        "${{ steps.decision.outputs.decision == 'pass' }}",
        {"steps": {"decision": {"outputs": {"decision": "pass"}}}},
        {"steps": {"decision": {"outputs": {"decision": "fail"}}}},
    ),
    (
        (
            "${{ steps.release_plan.outputs.has_release_changes == 'true' && "
            "steps.registry_needs.outputs.needs_npm == 'true' }}"
        ),
        {
            "steps": {
                "release_plan": {"outputs": {"has_release_changes": "true"}},
                "registry_needs": {"outputs": {"needs_npm": "true"}},
            }
        },
        {"steps": {"release_plan": {"outputs": {"has_release_changes": "true"}}}},
    ),
    (
        "steps.test.status == 'success'",
        {"steps": {"test": {"status": "success"}}},
        {"steps": {"test": {"status": "skipped"}}},
    ),
]

# Workflows as GitHub runs them.
GITHUB: list[tuple[str, Scope, Scope]] = [
    ("github.ref == 'refs/heads/main'", _github(), _github(ref="refs/heads/x")),
    ("${{ github.ref == 'refs/heads/main' }}", _github(), _github(ref="x")),
    ("github.event_name == 'push'", _github(), _github("pull_request")),
    ("github.event_name == 'pull_request'", _github("pull_request"), _github()),
    ("${{ github.event_name == 'pull_request' }}", _github("pull_request"), _github()),
    (
        "github.event_name == 'push' && github.ref == 'refs/heads/main'",
        _github(),
        _github("schedule"),
    ),
    (
        "github.event_name == 'pull_request' && github.event.action == 'closed'",
        _github("pull_request", event={"action": "closed"}),
        _github("pull_request", event={"action": "opened"}),
    ),
    (
        (
            "github.event_name == 'pull_request' && "
            "github.event.action == 'ready_for_review'"
        ),
        _github("pull_request", event={"action": "ready_for_review"}),
        _github("push", event={"action": "ready_for_review"}),
    ),
    (
        "github.event_name == 'pull_request' && github.base_ref == 'main'",
        _github("pull_request", base_ref="main"),
        _github("pull_request", base_ref="dev"),
    ),
    (
        (
            "github.event_name == 'pull_request' && github.event.action == 'closed' && "
            "github.event.pull_request.merged == true"
        ),
        _github(
            "pull_request", event={"action": "closed", "pull_request": {"merged": True}}
        ),
        _github("pull_request", event={"action": "closed"}),
    ),
    (
        "github.event.pull_request.merged == true",
        _github(event={"pull_request": {"merged": True}}),
        _github(event={"pull_request": {"merged": False}}),
    ),
    (
        "github.event_name == 'pull_request' && github.actor != 'dependabot[bot]'",
        _github("pull_request", actor="me"),
        _github("pull_request", actor="dependabot[bot]"),
    ),
    (
        (
            "github.event_name == 'pull_request' && "
            "github.event.pull_request.head.repo.full_name == github.repository"
        ),
        _github(
            "pull_request",
            repository="a/b",
            event={"pull_request": {"head": {"repo": {"full_name": "a/b"}}}},
        ),
        _github(
            "pull_request",
            repository="a/b",
            event={"pull_request": {"head": {"repo": {"full_name": "c/b"}}}},
        ),
    ),
    (
        "${{ needs.build.result == 'success' }}",
        {"needs": {"build": {"result": "success"}}},
        {"needs": {"build": {"result": "failure"}}},
    ),
    (
        "${{ needs.build.result == 'success' && needs.attest.result != 'failure' }}",
        {"needs": {"build": {"result": "success"}, "attest": {"result": "skipped"}}},
        {"needs": {"build": {"result": "success"}, "attest": {"result": "failure"}}},
    ),
    (
        "${{ needs.pre_job.outputs.needs_run_and_release == 'true' }}",
        {"needs": {"pre_job": {"outputs": {"needs_run_and_release": "true"}}}},
        {"needs": {"pre_job": {"outputs": {}}}},
    ),
    (
        "needs.validate-package.outputs.runtime == 'true'",
        {"needs": {"validate-package": {"outputs": {"runtime": "true"}}}},
        {"needs": {}},
    ),
    (
        "steps.changes.outputs.changed_files != ''",
        {"steps": {"changes": {"outputs": {"changed_files": "a"}}}},
        {"steps": {"changes": {"outputs": {"changed_files": ""}}}},
    ),
    (
        "steps.changes.outputs.api == 'true' || steps.changes.outputs.shared == 'true'",
        {"steps": {"changes": {"outputs": {"shared": "true"}}}},
        {"steps": {"changes": {"outputs": {"api": "false"}}}},
    ),
    (
        "steps.changes.outputs.breaking == 'true'",
        {"steps": {"changes": {"outputs": {"breaking": "true"}}}},
        {},
    ),
    (
        "steps.run-tests.outcome == 'success'",
        {"steps": {"run-tests": {"outcome": "success"}}},
        {"steps": {"run-tests": {}}},
    ),
    (
        "steps.sorting-hat.outputs.skip-deploy != 'true'",
        {"steps": {"sorting-hat": {"outputs": {"skip-deploy": ""}}}},
        {"steps": {"sorting-hat": {"outputs": {"skip-deploy": "true"}}}},
    ),
    ("matrix.os == 'macos-latest'", {"matrix": {"os": "macos-latest"}}, {"matrix": {}}),
    ("matrix.os == 'windows-latest'", {"matrix": {"os": "windows-latest"}}, {}),
    ("matrix.node == 20", {"matrix": {"node": 20}}, {"matrix": {"node": 22}}),
    (
        "matrix.os == 'ubuntu-latest' && matrix.python-version == '3.11'",
        {"matrix": {"os": "ubuntu-latest", "python-version": "3.11"}},
        {"matrix": {"os": "ubuntu-latest", "python-version": "3.12"}},
    ),
    (
        "${{ !(matrix.os == 'ubuntu-latest' && matrix.node == 22) }}",
        {"matrix": {"os": "ubuntu-latest", "node": 20}},
        {"matrix": {"os": "ubuntu-latest", "node": 22}},
    ),
    (
        "secrets.DEPLOY_KEY != ''",
        {"secrets": {"DEPLOY_KEY": "k"}},
        {"secrets": {"DEPLOY_KEY": ""}},
    ),
    (
        "${{ inputs.pr_template != '' }}",
        {"inputs": {"pr_template": "x"}},
        {"inputs": {"pr_template": ""}},
    ),
    (
        "${{ inputs.upjet-based-provider }}",
        {"inputs": {"upjet-based-provider": True}},
        {"inputs": {"upjet-based-provider": False}},
    ),
    (
        "${{ inputs.lint-workflow-contract == 'true' }}",
        {"inputs": {"lint-workflow-contract": "true"}},
        {"inputs": {}},
    ),
    (
        "${{ inputs.setup-commands != '' }}",
        {"inputs": {"setup-commands": "x"}},
        {"inputs": {"setup-commands": ""}},
    ),
    (
        "${{ inputs.backend == 'local' && inputs.cache == 'true' }}",
        {"inputs": {"backend": "local", "cache": "true"}},
        {"inputs": {"backend": "local", "cache": "false"}},
    ),
    ("${{ inputs.backend == 'local' }}", {"inputs": {"backend": "local"}}, {}),
    (
        "${{ inputs.platforms != 'linux/amd64' }}",
        {"inputs": {"platforms": "arm"}},
        {"inputs": {"platforms": "linux/amd64"}},
    ),
    ("${{ inputs.edad >= 18 }}", {"inputs": {"edad": 18}}, {"inputs": {"edad": 17}}),
    ("${{ inputs.edad < 18 }}", {"inputs": {"edad": 17}}, {"inputs": {}}),
    ("${{ inputs.rehearse }}", {"inputs": {"rehearse": True}}, {}),
    (
        "!github.event.pull_request.draft",
        _github(event={"pull_request": {"draft": False}}),
        _github(event={"pull_request": {"draft": True}}),
    ),
    (
        "!github.event.repository.fork && github.ref_name == 'main'",
        _github(ref_name="main", event={"repository": {"fork": False}}),
        _github(ref_name="main", event={"repository": {"fork": True}}),
    ),
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
