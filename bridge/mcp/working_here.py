"""A step workflow that acts on the conversation that calls: `mode: self`.

No agent is started: from now on the workflow's steps bind the caller, a session's main
thread or an agent of ours. Hooks say what is to be done, beside the result of the call.
"""

from bridge.agents.apply import workflow_for
from bridge.agents.known_agents import Agents
from bridge.agents.workflow_choice import Choice, choose, name_of, workflow_variables
from bridge.api.project import Project
from bridge.bound.conversations import compiled
from bridge.errors import InvalidRequest
from bridge.host.conversations import conversation_in
from bridge.mcp.caller import Caller, check_variables
from bridge.mcp.results import StartedAgent
from bridge.mcp.starting import Wanted
from bridge.policy.step_record import CompiledWorkflow
from bridge.protocol.request import Request, WorkflowOf
from bridge.workflows import progress


def begin_here(project: Project, caller: Caller, wanted: Wanted) -> StartedAgent | None:
    """Begin the workflow on the caller; None if an agent is wanted.

    The call's mode decides, then the workflow's.

    Raises:
        WorkflowActive: one is active there.
        BridgeError: there is no such workflow, or it cannot act on this caller.
    """
    definition = Agents.open(project.settings, project.store.place.project).find(
        wanted.agent
    )
    asked = wanted.options.get("workflow")
    choice = choose(definition, asked) if definition else None
    if definition is None and asked is not None:
        choice = Choice(name_of(asked))
    is_workflows = wanted.mode is None and choice is not None and choice.mode == "self"
    if wanted.mode != "self" and not (is_workflows and caller.session is not None):
        return None
    if choice is None:
        raise InvalidRequest("mode self is for a workflow: name one with `workflow`")
    where = workflow_for(definition, asked) if definition else None
    where = where or WorkflowOf(name=choice.name, layer="project")
    code = compiled(project.settings, project.store.place.project, where)
    return _begun(project, caller, wanted, code)


def _begun(
    project: Project, caller: Caller, wanted: Wanted, code: CompiledWorkflow
) -> StartedAgent:
    session = caller.session
    if session is None:
        raise InvalidRequest(
            "mode self acts on the conversation that calls, which this program has "
            "not; leave the mode out, or say terminal or headless"
        )
    run = caller.run
    if caller.agent_id and (run is None or run.nested):
        raise InvalidRequest(
            "mode self acts on a main conversation or on an agent that hostbridge has "
            "started, and you are neither: have the conversation that started you call"
        )
    variables = wanted.options.get("variables") or {}
    check_variables(project, caller, variables)
    stands_for = Request.checked(
        request_id="self",
        agent_type=wanted.agent,
        prompt=wanted.prompt or "self",
        task_id=wanted.options.get("task_id"),
        variables=variables,
    )
    params = workflow_variables(stands_for, code["variables"])
    with project.store.open() as store:
        conversation = conversation_in(project.settings, store, session, run)
        found = progress.begin(store, conversation, code, params, by="model")
    name, step = code["name"], found.record["step"]
    said = f"You are now in the workflow {name}, step {step}."
    if found.is_active:
        said += " What to do there is said beside this result; no agent was started."
    return StartedAgent(
        request_id=found.record["run"],
        agent=wanted.agent,
        status="processing" if found.is_active else "completed",
        next=said,
        route="self",
        task_id=wanted.options.get("task_id"),
        resource="",
    )
