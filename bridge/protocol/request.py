"""What is asked, by whom, until when, and who is working on it."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, Self

import orjson

from bridge.errors import InvalidRequest
from bridge.protocol.ids import Priority, check_id
from bridge.protocol.names import GENERAL
from bridge.protocol.plain_types import Check, Limits, field
from bridge.protocol.record import Count, Milliseconds, Record, as_json
from bridge.protocol.status import Stage, Status
from bridge.protocol.value import Value
from bridge.routes import OwnRoute

DEFAULT_TIMEOUT_MS = 120_000
MAX_PROMPT_CHARS = 10_000_000
# The clocks of a machine drift apart by less, in milliseconds.
_SET_MS = 1000
_ASKED = ("request_id", "agent_type", "prompt", "arguments", "node", "task_id")


def _check(value: str) -> str:
    try:
        return check_id(value)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from None


RequestIdField = Annotated[str, Check(_check)]


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("an agent's name holds nothing invisible")
    return name


# `plugin:name`, and what Markdown agents are called, in any script: it stands in
# sentences, so it has no marks of quotes and markup, and nothing invisible.
AgentName = Annotated[
    str,
    Limits(
        pattern=r"^([A-Za-z0-9]|[^\x00-\x7f])[^\x00-\x1f\x7f\"`\\<>{}\[\]|*?]{0,127}$"
    ),
    Check(_check_printable),
]
SessionId = Annotated[str, Limits(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
ToolUseId = Annotated[str, Limits(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


# Who may answer: an open session, or a process of the asker's.
RouteName = Literal["host", OwnRoute]


class HostProcess(Value):
    """One running Claude Code client, told apart from any other that ever ran.

    `start_time` is in clock ticks since boot on Linux, a date on macOS: only compared.
    """

    pid: Annotated[int, Limits(gt=0, lt=2**31)]
    start_time: str
    boot: str
    pid_namespace: str = ""


class Claim(Value):
    """Who works on a request, and how far that has come. Times are milliseconds.

    On a route other than the host's, `session` and `host` are the serving process.
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

    @property
    def stage(self) -> Stage:
        """How far this claim has come."""
        if self.corrections:
            return Stage.INVALID_ANSWER
        return Stage.OFFERED if self.launched_at is None else Stage.RUNNING


class Node(Value):
    """A piece of source that a request is about, as it was when it was asked.

    `file` is relative to the project; `line` counts from 1.
    """

    file: str
    name: str
    type: str
    line: Annotated[int, Limits(ge=1)]
    text: str

    @property
    def node_type(self) -> str:
        """`type`, as templates call it."""
        return self.type

    @property
    def file_path(self) -> str:
        """`file`, as templates call it."""
        return self.file

    def __str__(self) -> str:
        """As an agent reads it that has no template for it."""
        return f"{self.file}, line {self.line}, {self.type} {self.name}:\n\n{self.text}"


class Uptime(Value):
    """A time on the clock that nobody sets: milliseconds in one run of the machine."""

    boot: str
    ms: Milliseconds


class Applied(Value):
    """The agent definition that filled in what the asker left open.

    `digest` is the SHA-256 of the definition, `prompt` what the agent is told with it,
    without the contract, `subagent_type` the client's agent that runs it.
    """

    digest: str
    prompt: str
    subagent_type: AgentName | None = None


class Request(Record):
    """One question to one agent.

    Only `requestId`, `agentType` and `prompt` need be there. `timeout` is in
    milliseconds from `createdAt`, which is in milliseconds since 1970. `arguments` and
    `variables` are what the templates of a defined agent know beside the prompt;
    `context` is what is put behind it as data, such as the change to be judged.
    """

    request_id: RequestIdField
    agent_type: AgentName = GENERAL
    model: str | None = None
    prompt: Annotated[str, Limits(min_length=1, max_length=MAX_PROMPT_CHARS)]
    arguments: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    definition: Applied | None = None
    node: Node | None = None
    route: RouteName = "host"
    task_id: str | None = None
    timeout: Annotated[Milliseconds, Limits(gt=0)] = DEFAULT_TIMEOUT_MS
    created_at: Milliseconds = 0
    uptime: Uptime | None = None
    status: Status = Status.PENDING
    priority: Priority = "normal"
    answer_schema: dict[str, Any] | None = field(default=None, json_name="schema")
    session: SessionId | None = None
    requester: str | None = None
    parent_request_id: str | None = None
    depth: Count = 0
    attempt: Count = 0
    max_attempts: Annotated[int, Limits(ge=1, le=100)] = 2
    dedup_key: str | None = None
    answer_to_host: bool = False
    claim: Claim | None = None
    declined_by: tuple[str, ...] = ()
    _set_ms = 0

    def to_json(self) -> bytes:
        """The bytes of the file: what was said, and nothing that was left open.

        A definition may fill in what a program that dropped the file left out; a
        default that was written down would look like its choice.
        """
        data = self.model_dump(mode="python", by_alias=True)
        for name, told in type(self).model_fields.items():
            if name not in self.model_fields_set:
                del data[told.json_name]
        return as_json(data)

    def whole(self) -> Self:
        """The request with everything said that was left open."""
        return self.with_(**{n: getattr(self, n) for n in type(self).model_fields})

    @property
    def digest(self) -> str:
        """The SHA-256 of what was asked, for an answer to name it by.

        Only what nobody changes on the way is in it: a definition fills in more, a
        claim is made, a file without a time gets one.
        """
        return hashlib.sha256(
            orjson.dumps(
                self.model_dump(mode="json", include=set(_ASKED)),
                option=orjson.OPT_SORT_KEYS,
            )
        ).hexdigest()

    def on_clock(self, now_ms: int, uptime: Uptime) -> Self:
        """The same request, its times as the wall clock is set by now.

        Somebody may have set it since the request was made: on the machine that it was
        made on, until that is started again, the other clock tells by how much.
        """
        made = self.uptime
        if made is None or made.boot != uptime.boot:
            return self
        set_ms = (now_ms - self.created_at) - (uptime.ms - made.ms)
        if abs(set_ms) < _SET_MS:
            return self
        return self.model_copy(update={"_set_ms": set_ms})

    @property
    def asked_ms(self) -> int:
        """When it was asked, milliseconds since 1970, as the clock is set by now."""
        return self.created_at + self._set_ms

    @property
    def deadline_ms(self) -> int:
        """When the request ends by itself, milliseconds since 1970."""
        return self.asked_ms + self.timeout

    @property
    def served_on(self) -> RouteName:
        """The route of whoever works on it, or else the one it waits on."""
        return self.claim.route if self.claim else self.route

    @property
    def asked(self) -> str:
        """The asker's own words, with the node that they are about."""
        return self.prompt if self.node is None else f"{self.prompt}\n\n{self.node}"

    @property
    def spoken(self) -> str:
        """What the agent is told, without the contract."""
        return self.asked if self.definition is None else self.definition.prompt

    @property
    def stage(self) -> Stage:
        """How far the request has come."""
        return self.claim.stage if self.claim else Stage.WAITING
