"""What is asked, by whom and until when, and its history so far."""

from typing import Annotated, Any, Literal, Self

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.claim import Claim, FailedTry, RequestIdField, SessionId
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import Priority
from bridge.protocol.names import GENERAL, TEMPORARY
from bridge.protocol.plain_types import InvalidValue, Limits, camel_case, field
from bridge.protocol.question import MOST, Asking, Exchange
from bridge.protocol.question import told as told_of
from bridge.protocol.record import Count, Milliseconds, Record, as_json
from bridge.protocol.status import Stage, Status
from bridge.protocol.usage import Usage
from bridge.protocol.value import Value, as_data
from bridge.protocol.wording import in_shell
from bridge.routes import OwnRoute, RouteName

DEFAULT_TIMEOUT_MS = 120_000
MAX_PROMPT_CHARS = 10_000_000
# Two clocks of one machine drift apart by less than this.
_MIN_CHANGE_MS = 1000
_STEPS = """\
You work through the step workflow {name}. With your first tool call hostbridge tells \
you its step: what is to be done there, which tools it allows, and how it goes on. A \
call that the step refuses says so."""
_ASKED = ("request_id", "agent_type", "prompt", "arguments", "node", "task_id")
# Not in the digests of records that are older.
_ASKED_LATER = ("workflow", "folder", "continues", "context_from")

# Whose conversation an agent begins with, where it is not its own: a session's.
ContextFrom = Literal["session"]


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("an agent's name cannot contain invisible characters")
    return name


# `plugin:name`, a Markdown agent's name, in any script, or `$name`, a flow's own agent.
# As it appears in sentences, it has no quotes, no markup, nothing invisible.
AgentName = Annotated[
    str,
    Limits(
        pattern=r"^\$?([A-Za-z0-9]|[^\x00-\x7f])[^\x00-\x1f\x7f\"`\\<>{}\[\]|*?]{0,127}$"
    ),
    _check_printable,
]


class WorkflowOf(Value):
    """The step workflow that an agent works through: its name, and whose it is.

    It is the one of this layer, or else of a layer below it. One that is `in_agent`
    stands in the file of the agent of that name, of this layer.
    """

    name: str
    layer: Literal["built-in", "user", "project"]
    in_agent: bool = False


class Reuse(Value):
    """How long one agent may be given the next question of its kind.

    At most so many `questions`, and at most `age` milliseconds after its last answer;
    None for what the settings say.
    """

    questions: Annotated[int, Limits(ge=2)] | None = None
    age: Milliseconds | None = None


class Applied(Value):
    """The agent definition that filled in what the asker left open.

    `digest` is the SHA-256 of the definition, `prompt` the whole prompt without the
    contract, `subagent_type` the client's agent that runs it, `base` the agent that a
    temporary one stands on, `workflow` what its conversation works through, `reuse`
    whether an agent that has answered may be given the next question.
    """

    digest: str
    prompt: str
    subagent_type: AgentName | None = None
    base: AgentName | None = None
    workflow: WorkflowOf | None = None
    reuse: Reuse | None = None


class Node(Value):
    """A piece of source that a request is about, as it was when it was made.

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
        """What an agent reads if no template of its definition uses the node."""
        return f"{self.file}, line {self.line}, {self.type} {self.name}:\n\n{self.text}"


class Uptime(Value):
    """A time on a clock that cannot be set: milliseconds since this boot."""

    boot: str
    ms: Milliseconds

    def set_since(self, at_ms: int, now_ms: int, now: Self) -> int:
        """By how much the wall clock was set since `at_ms`, when this was the uptime.

        In milliseconds; 0 if that cannot be known, as after a restart.
        """
        if self.boot != now.boot:
            return 0
        set_ms = (now_ms - at_ms) - (now.ms - self.ms)
        return set_ms if abs(set_ms) >= _MIN_CHANGE_MS else 0


class Request(Record):
    """One question to one agent.

    Only `requestId`, `agentType` and `prompt` are required. `timeout` is in
    milliseconds from `createdAt`, which is in milliseconds since 1970. `arguments` and
    `variables` are what the templates of a definition can use beside the prompt;
    `context` is added after it as data, such as the change to be reviewed. `held` is
    the limit on concurrent agents that its asker exceeded: it waits for a person's yes.
    `asker` is the session that it was made below, whatever `requester` says. `workflow`
    is the key of the agent's workflow that the asker wants. `folder` is where the agent
    works instead of the project: a worktree of it (`bridge.store.location`).
    `traceparent` is the asker's place in a trace (`bridge.protocol.trace_context`).
    `failures` are the tries before; it is not claimed again until `not_before`.
    `wait_quota`: wait when the plan's usage limit is reached, instead of failing.
    `continues` is an answered request whose agent must answer this one. With
    `context_from` its agent is a fork of that session's conversation, and knows what it
    knows (`bridge.bound.forks`). `queue_entry` is what it was on the queue that it came
    from, if another machine asked (`bridge.remote`).

    An agent that `may_ask` may end with a question: `asks` is the question that waits
    for its reply, and until then the request is not claimed; `exchanges` are those that
    were replied to, and `took` is the usage of the agents that asked.
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
    workflow: str | None = None
    folder: str | None = None
    continues: RequestIdField | None = None
    context_from: ContextFrom | None = None
    timeout: Annotated[Milliseconds, Limits(gt=0)] = DEFAULT_TIMEOUT_MS
    created_at: Milliseconds = 0
    uptime: Uptime | None = None
    status: Status = Status.PENDING
    priority: Priority = "normal"
    answer_schema: dict[str, Any] | None = field(default=None, json_name="schema")
    session: SessionId | None = None
    requester: str | None = None
    asker: str | None = None
    parent_request_id: str | None = None
    traceparent: str | None = None
    depth: Count = 0
    attempt: Count = 0
    max_attempts: Annotated[int, Limits(ge=1, le=100)] = 2
    failures: tuple[FailedTry, ...] = ()
    not_before: Milliseconds | None = None
    wait_quota: bool = True
    dedup_key: str | None = None
    answer_to_host: bool = False
    may_ask: bool = False
    asks: Asking | None = None
    exchanges: tuple[Exchange, ...] = ()
    took: Usage | None = None
    # The route on which its asker serves it if no session takes it in time.
    falls_back_to: OwnRoute | None = None
    held: Count | None = None
    approved: bool = False
    claim: Claim | None = None
    declined_by: tuple[str, ...] = ()
    queue_entry: str | None = None
    _set_ms = 0

    @classmethod
    def checked(cls, **fields: Any) -> Self:
        """A request of what a caller says.

        Raises:
            InvalidRequest: a field is not what it may be; names the first such one.
        """
        try:
            return cls(**fields)
        except InvalidValue as exc:
            raise InvalidRequest(str(exc)) from None

    def to_json(self) -> bytes:
        """The bytes of the file, without the fields that were left open.

        A definition may fill those in. A default in the file would look like a choice
        of the program that wrote it.
        """
        data = self.to_data()
        for name, described in self.fields.items():
            if name not in self.model_fields_set:
                del data[described.json_name]
        return as_json(data)

    def with_defaults(self) -> Self:
        """The request with all its defaults set, as if they had been given."""
        return self.with_(**{name: getattr(self, name) for name in self.fields})

    @property
    def digest(self) -> str:
        """The SHA-256 of what was asked, by which an answer names its request.

        It covers only what never changes: a definition fills in other fields, a claim
        is added, a file without a time gets one.
        """
        asked = {name: as_data(getattr(self, name)) for name in _ASKED}
        for name in _ASKED_LATER:
            if (value := getattr(self, name)) is not None:
                asked[camel_case(name)] = value
        return sha256_of(plain_json.dumps(asked, sort_keys=True))

    def on_clock(self, now_ms: int, uptime: Uptime) -> Self:
        """The same request, with its times on the wall clock as it is now.

        That clock may have been set since the request was made. Until the next boot,
        the uptime shows by how much.
        """
        made = self.uptime
        set_ms = made.set_since(self.created_at, now_ms, uptime) if made else 0
        return self.with_(_set_ms=set_ms) if set_ms else self

    @property
    def asked_ms(self) -> int:
        """When it was made, in milliseconds since 1970, on the clock as it is now."""
        return self.created_at + self._set_ms

    @property
    def deadline_ms(self) -> int:
        """When the request times out, in milliseconds since 1970."""
        return self.asked_ms + self.timeout

    @property
    def due_ms(self) -> int | None:
        """When its next try may begin, in milliseconds since 1970; None: at once."""
        return None if self.not_before is None else self.not_before + self._set_ms

    def from_(self, due_ms: int | None) -> Self:
        """The same request, not to be claimed before this time."""
        if due_ms is None:
            return self if self.not_before is None else self.with_(not_before=None)
        return self.with_(not_before=max(0, due_ms - self._set_ms))

    def is_paused(self, now_ms: int) -> bool:
        """Whether it waits, and may not be claimed yet."""
        due_ms = self.due_ms
        is_early = due_ms is not None and now_ms < due_ms
        return self.claim is None and (self.asks is not None or is_early)

    @property
    def served_on(self) -> RouteName:
        """The route on which it is claimed, or else the one on which it waits."""
        return self.claim.route if self.claim else self.route

    @property
    def is_temporary(self) -> bool:
        """Whether its agent is a flow's own."""
        return self.agent_type.startswith(TEMPORARY)

    @property
    def ruled_as(self) -> str:
        """The agent that rules see: the base of a temporary agent."""
        base = self.definition.base if self.definition else None
        return base or self.agent_type

    @property
    def reuse(self) -> Reuse | None:
        """How an agent of its kind may be asked again; None if it may not."""
        return self.definition.reuse if self.definition else None

    @property
    def asked(self) -> str:
        """The asker's prompt, with the node that it is about."""
        return self.prompt if self.node is None else f"{self.prompt}\n\n{self.node}"

    @property
    def spoken(self) -> str:
        """The agent's whole prompt, without the contract."""
        if self.goes_on:
            return self.told[-1]
        text = self.asked if self.definition is None else self.definition.prompt
        parts = [text]
        if self.folder is not None:
            parts.append(_in_folder(self.folder))
        if self.works_through:
            parts.append(_STEPS.format(name=self.works_through))
        return "\n\n".join([*parts, *self.told])

    @property
    def goes_on(self) -> bool:
        """Whether the agent that asked continues, and only lacks the reply."""
        continued = self.claim.continued if self.claim else None
        is_its_own = continued is not None and continued.after == self.request_id
        return is_its_own and bool(self.told)

    @property
    def may_still_ask(self) -> bool:
        """Whether its agent may ask one more question."""
        return self.may_ask and len(self.exchanges) < MOST

    @property
    def is_told_to_ask(self) -> bool:
        """Whether the prompt says how to ask."""
        return self.may_ask and (self.claim.told if self.claim else 0) < MOST

    @property
    def told(self) -> list[str]:
        """The earlier questions with their replies, for the prompt."""
        count = self.claim.told if self.claim else 0
        known = enumerate(self.exchanges[:count], 1)
        return [told_of(each, is_last=number >= MOST) for number, each in known]

    @property
    def works_through(self) -> str | None:
        """The name of the step workflow of its agent's conversation."""
        if self.definition is None:
            return self.workflow
        chosen = self.definition.workflow
        return chosen.name if chosen else None

    @property
    def stage(self) -> Stage:
        """The progress of the request."""
        if self.asks is not None:
            return Stage.ASKING
        return self.claim.stage if self.claim else Stage.WAITING

    def stage_at(self, now_ms: int) -> Stage:
        """The progress, or `PAUSED` while it waits for its next try."""
        is_paused = self.asks is None and self.is_paused(now_ms)
        return Stage.PAUSED if is_paused else self.stage


def _in_folder(folder: str) -> str:

    return (
        f"Work in the folder {folder}, a worktree of the project that is yours alone, "
        "and nowhere else: give files by absolute paths below it, and begin a shell "
        f"command with `{in_shell('cd', folder)} && ` unless you are there already. A "
        "relative path may lead to the project's own files, which are not those that "
        "you work on."
    )
