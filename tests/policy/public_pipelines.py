"""Conditions of public pipeline files; see `public_conditions`."""

from __future__ import annotations

from condition_scopes import Scope, outputs

# Steps of pipelines.
PIPELINES: list[tuple[str, Scope, Scope]] = [
    (
        "${{ not steps.check_expansion.output.is_expanded }}",
        outputs(check_expansion={"is_expanded": False}),
        outputs(check_expansion={"is_expanded": True}),
    ),
    (
        (
            "${{ done_check.output.orchestration_complete if done_check.output "
            "else false }}"
        ),
        outputs(done_check={"orchestration_complete": True}),
        outputs(done_check=None),
    ),
    (
        "${{ len(scan_open.output.tasks) if scan_open.output else 0 }}",
        outputs(scan_open={"tasks": [1]}),
        outputs(scan_open={}),
    ),
    (
        "${{ len(reentry_check.output.executions) > 1 }}",
        outputs(reentry_check={"executions": [1, 2]}),
        outputs(reentry_check={"executions": [1]}),
    ),
    (
        (
            "${{ len(scan_open.output.tasks) == 0 and "
            "len(scan_in_progress.output.tasks) == 0 and "
            "len(scan_needs_review.output.tasks) == 0 and "
            "len(scan_review_approved.output.tasks) == 0 }}"
        ),
        outputs(
            scan_open={"tasks": []},
            scan_in_progress={"tasks": []},
            scan_needs_review={"tasks": []},
            scan_review_approved={"tasks": []},
        ),
        outputs(scan_open={"tasks": [1]}),
    ),
    (
        (
            "${{\n (standalone_check.output.is_standalone and get_task.output and "
            "get_task.output.status in ('closed', 'review_approved'))\n or\n "
            "(not standalone_check.output.is_standalone and "
            "len(scan_open.output.tasks) == 0)\n}}"
        ),
        outputs(
            standalone_check={"is_standalone": True}, get_task={"status": "closed"}
        ),
        outputs(standalone_check={"is_standalone": True}, get_task={"status": "open"}),
    ),
    (
        "${{ standalone_check.output.is_standalone }}",
        outputs(standalone_check={"is_standalone": True}),
        outputs(standalone_check={}),
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
        outputs(done_check={"orchestration_complete": False}, has_isolation={}),
        outputs(
            done_check={"orchestration_complete": False}, has_isolation={"exists": True}
        ),
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "inputs.isolation == 'worktree' and not has_isolation.output.exists }}"
        ),
        outputs(done_check={}, has_isolation={})
        | {"inputs": {"isolation": "worktree"}},
        outputs(done_check={}, has_isolation={}) | {"inputs": {"isolation": "clone"}},
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
        (
            "${{ not done_check.output.orchestration_complete and "
            "count_active.output.available_slots > 0 and "
            "len(scan_open.output.tasks) > 0 }}"
        ),
        outputs(
            done_check={}, count_active={"available_slots": 2}, scan_open={"tasks": [1]}
        ),
        outputs(
            done_check={}, count_active={"available_slots": 0}, scan_open={"tasks": [1]}
        ),
    ),
    (
        "${{ suggest_tasks.output and len(suggest_tasks.output.suggestions) > 0 }}",
        outputs(suggest_tasks={"suggestions": [1]}),
        outputs(suggest_tasks=None),
    ),
    (
        "${{ check_qa_running.output and len(check_qa_running.output.agents) > 0 }}",
        outputs(check_qa_running={"agents": [1]}),
        outputs(check_qa_running={"agents": []}),
    ),
    (
        (
            "${{ not done_check.output.orchestration_complete and "
            "len(scan_needs_review.output.tasks) > 0 and "
            "not (qa_gate.output and qa_gate.output.qa_already_running) }}"
        ),
        outputs(done_check={}, scan_needs_review={"tasks": [1]}, qa_gate=None),
        outputs(
            done_check={},
            scan_needs_review={"tasks": [1]},
            qa_gate={"qa_already_running": True},
        ),
    ),
    (
        "${{ select.output.tasks[0].id }}",
        outputs(select={"tasks": [{"id": "a"}]}),
        outputs(select={"tasks": []}),
    ),
    (
        (
            "${{ done_check.output.orchestration_complete and "
            "((merge_worktree.output and not merge_worktree.output.get('error')) or "
            "(merge_clone.output and not merge_clone.output.get('error'))) }}"
        ),
        outputs(
            done_check={"orchestration_complete": True},
            merge_worktree=None,
            merge_clone={"ok": True},
        ),
        outputs(
            done_check={"orchestration_complete": True},
            merge_worktree={"error": "x"},
            merge_clone=None,
        ),
    ),
    (
        "${{ get_standalone_task.output.get('state', {}).get('is_closed', False) }}",
        outputs(get_standalone_task={"state": {"is_closed": True}}),
        outputs(get_standalone_task={}),
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
    (
        "${{ steps.check.outputs.result == 'ok' }}",
        {"steps": {"check": {"outputs": {"result": "ok"}}}},
        {"steps": {}},
    ),
    (
        "${{ steps.parse_ai_response.output == 'restart_service' }}",
        outputs(parse_ai_response="restart_service"),
        outputs(parse_ai_response=""),
    ),
    (
        "${{ steps.search.output.hits.total.value > 0 }}",
        outputs(search={"hits": {"total": {"value": 2}}}),
        outputs(search={}),
    ),
    (
        "${{ steps.vt_check.output.data.stats.malicious > 10 }}",
        outputs(vt_check={"data": {"stats": {"malicious": 11}}}),
        outputs(vt_check=None),
    ),
    (
        "${{ steps.get_value.output > 100 }}",
        outputs(get_value=100.5),
        outputs(get_value=100),
    ),
    (
        "${{ steps.previous.output.success }}",
        outputs(previous={"success": True}),
        outputs(),
    ),
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
