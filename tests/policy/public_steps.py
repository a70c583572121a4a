"""Conditions of public workflow steps; see `public_conditions`."""

from __future__ import annotations

from condition_scopes import Scope, github, with_variables

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
        with_variables(requirements_understood=True),
        with_variables(),
    ),
    (
        "state.variables.get('tests_written')",
        with_variables(tests_written=1),
        with_variables(),
    ),
    (
        "state.variables.get('tests_passing')",
        with_variables(tests_passing="x"),
        with_variables(),
    ),
    (
        "len(variables.selected_tasks) > 0",
        with_variables(selected_tasks=[1]),
        with_variables(),
    ),
    (
        "len(variables.selected_tasks) == 0 and len(variables.spawned_agents) > 0",
        with_variables(selected_tasks=[], spawned_agents=[1]),
        with_variables(selected_tasks=[], spawned_agents=[]),
    ),
    (
        "len(variables.selected_tasks) == 0 and len(variables.spawned_agents) == 0",
        with_variables(selected_tasks=[], spawned_agents=[]),
        with_variables(selected_tasks=[], spawned_agents=[1]),
    ),
    (
        "len(variables.selected_tasks) == 0",
        with_variables(selected_tasks=[]),
        with_variables(selected_tasks=[1]),
    ),
    (
        "variables.completed_agent is not None",
        with_variables(completed_agent="a"),
        with_variables(completed_agent=None),
    ),
    (
        "variables.completed_agent is None",
        with_variables(completed_agent=None),
        with_variables(completed_agent="a"),
    ),
    (
        "len(variables.spawned_agents) < variables.max_parallel_agents",
        with_variables(spawned_agents=[], max_parallel_agents=3),
        with_variables(spawned_agents=[1, 2, 3], max_parallel_agents=3),
    ),
    (
        "variables.block_resolved == 'true'",
        with_variables(block_resolved="true"),
        with_variables(block_resolved=None),
    ),
    (
        "len(variables.get('spawned_agents', [])) > 0",
        with_variables(spawned_agents=[1]),
        with_variables(),
    ),
    (
        "len(variables.get('completed_agents', [])) > 0",
        with_variables(completed_agents=[1]),
        with_variables(),
    ),
    (
        "len(variables.get('reviewed_agents', [])) > 0",
        with_variables(reviewed_agents=[1]),
        with_variables(),
    ),
    (
        "len(variables.get('spawned_agents', [])) == 0",
        with_variables(),
        with_variables(spawned_agents=[1]),
    ),
    (
        (
            "len(variables.get('spawned_agents', [])) == 0 and "
            "len(variables.get('reviewed_agents', [])) == 0"
        ),
        with_variables(),
        with_variables(reviewed_agents=[1]),
    ),
    (
        "vars.task_claimed and vars.assigned_task_id",
        with_variables(task_claimed=True, assigned_task_id="1"),
        with_variables(task_claimed=True, assigned_task_id=None),
    ),
    (
        "vars.task_claimed",
        with_variables(task_claimed=True),
        with_variables(task_claimed=False),
    ),
    (
        "vars.skills_routed and vars.assigned_task_ref",
        with_variables(skills_routed=True, assigned_task_ref="#1"),
        with_variables(skills_routed=True, assigned_task_ref=""),
    ),
    (
        "vars.implementation_complete and not vars.bounced",
        with_variables(implementation_complete=True, bounced=False),
        with_variables(implementation_complete=True, bounced=True),
    ),
    (
        "not vars.additional_skills",
        with_variables(additional_skills=[]),
        with_variables(additional_skills=[1]),
    ),
    (
        "variables.status == 'approved'",
        with_variables(status="approved"),
        with_variables(status="no"),
    ),
    ("variables.ready", with_variables(ready=1), with_variables(ready=0)),
    ("variables.x == 'y'", with_variables(x="y"), with_variables(x="z")),
    (
        "variables.risco == 'critico'",
        with_variables(risco="critico"),
        with_variables(risco="baixo"),
    ),
    (
        "variables.prioridade == 'alta'",
        with_variables(prioridade="alta"),
        with_variables(),
    ),
    ("variables.health < 20", with_variables(health=19.5), with_variables(health=20)),
    ("variables.trust >= 70", with_variables(trust=75), with_variables(trust=None)),
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


# Workflows as GitHub runs them.
GITHUB: list[tuple[str, Scope, Scope]] = [
    ("github.ref == 'refs/heads/main'", github(), github(ref="refs/heads/x")),
    ("${{ github.ref == 'refs/heads/main' }}", github(), github(ref="x")),
    ("github.event_name == 'push'", github(), github("pull_request")),
    ("github.event_name == 'pull_request'", github("pull_request"), github()),
    ("${{ github.event_name == 'pull_request' }}", github("pull_request"), github()),
    (
        "github.event_name == 'push' && github.ref == 'refs/heads/main'",
        github(),
        github("schedule"),
    ),
    (
        "github.event_name == 'pull_request' && github.event.action == 'closed'",
        github("pull_request", event={"action": "closed"}),
        github("pull_request", event={"action": "opened"}),
    ),
    (
        (
            "github.event_name == 'pull_request' && "
            "github.event.action == 'ready_for_review'"
        ),
        github("pull_request", event={"action": "ready_for_review"}),
        github("push", event={"action": "ready_for_review"}),
    ),
    (
        "github.event_name == 'pull_request' && github.base_ref == 'main'",
        github("pull_request", base_ref="main"),
        github("pull_request", base_ref="dev"),
    ),
    (
        (
            "github.event_name == 'pull_request' && github.event.action == 'closed' && "
            "github.event.pull_request.merged == true"
        ),
        github(
            "pull_request", event={"action": "closed", "pull_request": {"merged": True}}
        ),
        github("pull_request", event={"action": "closed"}),
    ),
    (
        "github.event.pull_request.merged == true",
        github(event={"pull_request": {"merged": True}}),
        github(event={"pull_request": {"merged": False}}),
    ),
    (
        "github.event_name == 'pull_request' && github.actor != 'dependabot[bot]'",
        github("pull_request", actor="me"),
        github("pull_request", actor="dependabot[bot]"),
    ),
    (
        (
            "github.event_name == 'pull_request' && "
            "github.event.pull_request.head.repo.full_name == github.repository"
        ),
        github(
            "pull_request",
            repository="a/b",
            event={"pull_request": {"head": {"repo": {"full_name": "a/b"}}}},
        ),
        github(
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
        github(event={"pull_request": {"draft": False}}),
        github(event={"pull_request": {"draft": True}}),
    ),
    (
        "!github.event.repository.fork && github.ref_name == 'main'",
        github(ref_name="main", event={"repository": {"fork": False}}),
        github(ref_name="main", event={"repository": {"fork": True}}),
    ),
]
