"""What the tools return: typed values, and a short text beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from bridge.api.project_status import Overview as Seen
from bridge.api.result import result_of
from bridge.errors import BridgeError
from bridge.protocol.failure_codes import ways_out
from bridge.protocol.status import Stage
from bridge.protocol.usage import Usage
from bridge.store import Found

if TYPE_CHECKING:
    from bridge.api.variables import Variables as Known

# Longer ones the client puts into a file, and its model reads that in pieces.
MAX_ANSWER_BYTES = 60_000
MAX_TEXT_CHARS = 4_000
# Not in the agent's words, which would be a prompt here.
_ASKS = (
    "The agent asks something that only the user may reply to. Tell them: `hostbridge "
    "questions`, in a terminal of their own. Then wait for the agent."
)
_PENDING = (Stage.WAITING, Stage.PAUSED, Stage.NO_HOST)


class AnswerProblem(BaseModel):
    """Why there is no good answer, and what helps."""

    code: str
    message: str
    ways: list[str] = Field(default=[], description="What to do about it.")


class TokensTaken(BaseModel):
    """What an agent and those below it took."""

    input: int
    cache_read: int
    cache_write: int
    output: int
    requests: int = Field(description="How often a model was asked.")


class StartedAgent(BaseModel):
    """An agent that was started, and its answer once it has one."""

    request_id: str
    agent: str
    status: str = Field(
        description="pending, processing, completed, failed, timeout or cancelled."
    )
    stage: str | None = Field(
        default=None, description="How far it is, until it has ended."
    )
    next: str | None = Field(default=None, description="What you must do now.")
    success: bool | None = Field(default=None, description="null until it has ended.")
    answer: Any = Field(
        default=None, description="What the agent answered, as checked."
    )
    trusted: bool | None = Field(
        default=None,
        description="false: from a small model, without verified evidence.",
    )
    route: str | None = Field(
        default=None, description="Who answered: host, claude, local …"
    )
    model: str | None = None
    tokens: TokensTaken | None = Field(
        default=None, description="What it took; null if its route does not tell."
    )
    task_id: str | None = None
    duration_s: float | None = None
    error: AnswerProblem | None = None
    resource: str = Field(description="The URI of the whole record.")


class VariableValue(BaseModel):
    """A value, and whose it is."""

    value: Any
    owner: str


class VariableValues(BaseModel):
    """Variables by name, and whose they are: a session's, or one agent's."""

    of: str
    variables: dict[str, VariableValue]


class SessionLine(BaseModel):
    """One open session."""

    session: str
    running: int
    slots: int
    is_off: bool


class RunLine(BaseModel):
    """A run of a flow that has not ended."""

    run: str
    flow: str
    status: str
    steps_ended: int
    steps: int
    waits_for: str = Field(description="The steps that run, or its user.")
    ways: list[str] = Field(description="What its user can type.")


class ProjectOverview(BaseModel):
    """The project at one moment: the open sessions, and what has not ended."""

    project: str
    is_off: bool
    sessions: list[SessionLine]
    agents: list[StartedAgent]
    runs: list[RunLine]
    waiting: int
    ended: int


def uri_of(request_id: str) -> str:
    """The resource that holds a request and its response."""
    return f"hostbridge://requests/{request_id}"


def agent_of(
    found: Found, *, stage: str | None = None, then: str | None = None
) -> StartedAgent:
    """How a request stands; `then` is what its caller must do."""
    request, response = found.request, found.response
    request_id = (request or response).request_id  # type: ignore[union-attr]
    known: dict[str, Any] = {
        "request_id": request_id,
        "agent": request.agent_type if request else "",
        "status": found.status,
        "task_id": request.task_id if request else None,
        "resource": uri_of(request_id),
    }
    if response is None:
        now = stage or (request.stage if request else None)
        is_asking = request is not None and request.asks is not None
        return StartedAgent(**known, stage=now, next=_ASKS if is_asking else then)
    result = result_of(response)
    error = response.error
    problem = None
    if error is not None:
        ways = ways_out(error.code, error.stage, request_id, response.route)
        problem = AnswerProblem(code=error.code, message=error.message, ways=list(ways))
    answer, too_long = response.parsed_output, None
    if len(orjson.dumps(answer)) > MAX_ANSWER_BYTES:
        answer, too_long = None, f"The answer is long: read {uri_of(request_id)}"
    return StartedAgent(
        **known,
        next=too_long,
        success=response.success,
        answer=answer,
        trusted=None if result.parsed is None else result.trusted,
        route=response.route,
        model=response.model,
        tokens=_tokens(response.usage),
        duration_s=result.duration_s,
        error=problem,
    )


def _tokens(usage: Usage | None) -> TokensTaken | None:
    if usage is None:
        return None
    return TokensTaken(
        input=usage.input_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
        output=usage.output_tokens,
        requests=usage.requests,
    )


def overview_of(seen: Seen) -> ProjectOverview:
    """The project at one moment."""
    agents = [
        StartedAgent(
            request_id=each.request_id,
            agent=each.agent,
            status="pending" if each.stage in _PENDING else "processing",
            stage=each.stage,
            route=each.route,
            resource=uri_of(each.request_id),
        )
        for each in seen.requests
    ]
    return ProjectOverview(
        project=seen.project,
        is_off=seen.is_off or seen.is_off_here,
        sessions=[
            SessionLine(
                session=s.session_id, running=s.running, slots=s.slots, is_off=s.is_off
            )
            for s in seen.sessions
        ],
        agents=agents,
        runs=[RunLine.model_validate(each._asdict()) for each in seen.runs],
        waiting=seen.waiting,
        ended=seen.ended,
    )


def overview_text(seen: ProjectOverview) -> str:
    """The same in a few words."""
    now = f"{_counted(len(seen.sessions), 'session')} open"
    lines = [f"{seen.project}: {now}, {_counted(seen.ended, 'request')} ended"]
    lines += [text_of(each) for each in seen.agents]
    lines += [
        f"flow {each.flow} ({each.run}): {each.status}, waits for {each.waits_for}"
        for each in seen.runs
    ]
    return "\n".join(lines)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def variables_of(variables: Known) -> VariableValues:
    """Variables as a tool returns them."""
    known = {
        name: VariableValue(**each._asdict())
        for name, each in variables.known().items()
    }
    return VariableValues(of=variables.of, variables=known)


def variables_text(found: VariableValues) -> str:
    """The same in a few words."""
    lines = [
        f"{name} = {orjson.dumps(each.value).decode()} ({each.owner})"
        for name, each in found.variables.items()
    ]
    return "\n".join(lines)[:MAX_TEXT_CHARS] or "no variables are set"


def text_of(agent: StartedAgent) -> str:
    """The same in a few words, for clients that show only text."""
    lines = [f"{agent.agent} ({agent.request_id}): {agent.stage or agent.status}"]
    if agent.answer is not None:
        is_output = isinstance(agent.answer, dict) and "summary" in agent.answer
        said = agent.answer["summary"] if is_output else agent.answer
        text = said if isinstance(said, str) else orjson.dumps(said).decode()
        is_cut = len(text) > MAX_TEXT_CHARS
        lines.append(text[:MAX_TEXT_CHARS] + ("…" if is_cut else ""))
    if agent.trusted is False:
        lines.append("Not to be relied on: a small model, no verified evidence.")
    if agent.error is not None:
        lines += [f"{agent.error.code}: {agent.error.message}", *agent.error.ways]
    lines += [agent.next] if agent.next else []
    return "\n".join(lines)


def tool_result(value: BaseModel, text: str) -> CallToolResult:
    """A structured result with a text beside it."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json"),
    )


def refused(error: BridgeError) -> CallToolResult:
    """What a call that was refused gets: our code, and the way out."""
    what = error.what[:MAX_TEXT_CHARS]
    problem = AnswerProblem(code=error.code, message=what, ways=list(error.ways))
    more = f". What to do: {'; '.join(error.ways)}" if error.ways else ""
    return CallToolResult(
        content=[TextContent(type="text", text=f"{error.code}: {what}{more}")],
        structured_content={
            "error": problem.model_dump(mode="json"),
            "request_id": error.request_id,
        },
        is_error=True,
    )
