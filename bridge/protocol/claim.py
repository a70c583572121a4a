"""Who works on a request, and its progress; the tries that failed before."""

from typing import Annotated

from bridge.errors import InvalidRequest
from bridge.protocol.ids import check_id
from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Count, Milliseconds
from bridge.protocol.status import Stage
from bridge.protocol.value import Value
from bridge.routes import RouteName


def _check(value: str) -> str:
    try:
        return check_id(value)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from None


# A limit of a plan may be met often: the last failed tries are kept.
MAX_KEPT = 16
MAX_MESSAGE = 300

RequestIdField = Annotated[str, _check]
SessionId = Annotated[str, Limits(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
ToolUseId = Annotated[str, Limits(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class HostProcess(Value):
    """One running Claude Code client, different from any other that ever ran.

    `start_time` is only compared: clock ticks since boot on Linux, a date on macOS.
    """

    pid: Annotated[int, Limits(gt=0, lt=2**31)]
    start_time: str
    boot: str
    pid_namespace: str = ""


class Continued(Value):
    """The earlier conversation that an agent continues.

    `first` is the request that began it, `after` the request answered last, and
    `question` the number of this question in it, from 2 on.
    """

    agent_id: str
    first: RequestIdField
    after: RequestIdField
    question: Annotated[int, Limits(ge=2)]


class Claim(Value):
    """Who works on a request, and its progress. Times are in milliseconds.

    On a route other than the host's, `session` and `host` are the serving process.
    `continued` reserves the agent whose next question this is, until the request ends.
    `told` is how many questions of earlier agents, with their replies, this agent gets
    with its prompt.
    """

    session: SessionId
    host: HostProcess
    at: Milliseconds
    route: RouteName = "host"
    offers: tuple[Milliseconds, ...] = ()
    tool_use_id: ToolUseId | None = None
    launched_at: Milliseconds | None = None
    agent_id: str | None = None
    background: bool | None = None
    corrections: Count = 0
    last_failure: str | None = None
    continued: Continued | None = None
    told: Count = 0

    @property
    def stage(self) -> Stage:
        """The progress of this claim."""
        if self.corrections:
            return Stage.INVALID_ANSWER
        return Stage.OFFERED if self.launched_at is None else Stage.RUNNING


class FailedTry(Value):
    """When a try ended, in milliseconds since 1970, and why.

    `attempt` counts the tries from 1. A limit of the plan spends none: then the next
    try has the same number.
    """

    at: Milliseconds
    code: str
    message: str = ""
    attempt: Count = 1
