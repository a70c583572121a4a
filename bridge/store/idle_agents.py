"""Agents that have answered, and may be asked again in the same conversation.

    idle/<agent_id>.json    such an agent: what it last answered, and what it is like

It is written when the agent has answered, and removed when it gets the next question:
so one that is at work, or whose last question had no valid answer, is not here. Until
then `claim.continued` of a claimed request is what reserves it; that ends by itself
with the request.

It belongs to one session id of one process. `/clear` keeps the process, and the client
would still find the agent, but without anything that it knew (measured on 2.1.330).
"""

from collections.abc import Iterable
from typing import Any

from bridge.protocol import plain_json
from bridge.protocol.claim import Continued, HostProcess
from bridge.protocol.digest import sha256_of
from bridge.protocol.ids import RequestId
from bridge.protocol.plain_types import field
from bridge.protocol.record import Count, Milliseconds, Record
from bridge.protocol.request import Request, Uptime
from bridge.protocol.wording import seconds
from bridge.store.book import Book
from bridge.store.claim import host_is_gone
from bridge.store.clock import uptime
from bridge.store.queries import all_claimed
from bridge.store.state import State, file_of

# Of one session; the one that has waited longest goes first.
MOST = 32


class IdleAgent(Record):
    """An agent that has answered. Times are milliseconds.

    `request_id` is what it answered last, `first` what began its conversation,
    `questions` how many it has answered. The rest is what it is like, as its last
    request had it: `definition` and `answer_schema` are digests, empty for none;
    `project` is where it works, or else `folder`. One that `asks` has not answered it,
    but asked something: it goes on with the reply, and gets no other question before.
    """

    agent_id: str
    session: str
    host: HostProcess
    request_id: str
    first: str
    questions: Count
    answered_at: Milliseconds
    uptime: Uptime
    project: str
    agent_type: str
    definition: str = ""
    model: str | None = None
    answer_schema: str = ""
    workflow: str | None = None
    folder: str | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    asks: bool = False

    def next_question(self) -> Continued:
        """What the claim of its next question says."""
        return Continued(
            agent_id=self.agent_id,
            first=self.first,
            after=self.request_id,
            question=self.questions + 1,
        )

    def age_ms(self, now: Uptime) -> int:
        """How long ago it answered."""
        return max(0, now.ms - self.uptime.ms)


_IDLE = Book.of("idle", IdleAgent)


def like(request: Request, project: str) -> dict[str, Any]:
    """What the agent of a request is like, by the fields of `IdleAgent`. Pure."""
    schema = request.answer_schema
    return {
        "project": project,
        "agent_type": request.agent_type,
        "definition": request.definition.digest if request.definition else "",
        "model": request.model,
        "answer_schema": "" if schema is None else _digest(schema),
        "workflow": request.works_through,
        "folder": request.folder,
        "variables": request.variables,
    }


def _digest(schema: dict[str, Any]) -> str:
    return sha256_of(plain_json.dumps(schema, sort_keys=True))


def why_unlike(idle: IdleAgent, request: Request, project: str) -> str:
    """How an agent is of another kind than a request wants; empty if it is not. Pure.

    A question that continues another may have a schema of its own, if that one had one,
    too. Between a report (no schema) and a value of the asker's own form nothing is
    continued: what counts as an answer, and as its evidence, is another thing there.
    """
    wanted = like(request, project)
    had = {name: getattr(idle, name) for name in wanted}
    if bool(wanted["answer_schema"]) != bool(had["answer_schema"]):
        with_one = "with" if had["answer_schema"] else "without"
        return f"it was asked {with_one} a schema"
    for name, word in (
        ("project", "project"),
        ("agent_type", "agent"),
        ("model", "model"),
        ("workflow", "workflow"),
        ("folder", "folder"),
    ):
        if wanted[name] != had[name]:
            return f"{word} {had[name]!r} there, {wanted[name]!r} here"
    if wanted["definition"] != had["definition"]:
        return f"the definition of agent {request.agent_type!r} has changed since"
    ours, theirs = wanted["variables"], had["variables"]
    for name in sorted({*ours, *theirs}):
        # One that is off, `null`, is another thing than one that is not there.
        if (name in ours, ours.get(name)) != (name in theirs, theirs.get(name)):
            return f"it has another value of the variable {name!r}"
    return ""


def is_of_kind(idle: IdleAgent, request: Request, project: str) -> bool:
    """Whether an agent may be given a request that does not ask for it by name. Pure.

    Then its schema has to be the very same one.
    """
    if idle.asks:
        return False
    schema = like(request, project)["answer_schema"]
    return idle.answer_schema == schema and not why_unlike(idle, request, project)


def why_spent(
    idle: IdleAgent, now: Uptime, *, most_questions: int, most_age_ms: int
) -> str:
    """Why an agent is asked nothing more; empty if it may be. Pure."""
    if idle.questions >= most_questions:
        return f"it has answered {idle.questions} questions, and that is the limit"
    age_ms = idle.age_ms(now)
    if age_ms > most_age_ms:
        ago, most = seconds(age_ms // 1000), seconds(most_age_ms // 1000)
        return f"it answered {ago} ago, and {most} is the limit"
    return ""


def note(state: State, idle: IdleAgent) -> None:
    """Write down an agent that has answered; of too many, forget the oldest."""
    _IDLE.put(state, idle.agent_id, idle)
    mine = [each for each in all_idle(state) if each.host == idle.host]
    mine.sort(key=lambda each: each.uptime.ms, reverse=True)
    _forget(state, mine[MOST:])


def make(
    state: State,
    request: Request,
    agent_id: str,
    session: str,
    project: str,
    *,
    asks: bool = False,
) -> IdleAgent:
    """The agent that answers a request which its session holds, or asks back."""
    claim = request.claim
    assert claim is not None, "an agent works on what is claimed"  # noqa: S101
    before = claim.continued
    return IdleAgent(
        agent_id=agent_id,
        session=session,
        host=claim.host,
        request_id=request.request_id,
        first=before.first if before else request.request_id,
        questions=before.question if before else 1,
        answered_at=state.now_ms(),
        uptime=uptime(state.clock),
        asks=asks,
        **like(request, project),
    )


def all_idle(state: State) -> list[IdleAgent]:
    """Every agent that may be asked again."""
    return _IDLE.all(state)


def find(state: State, agent_id: str) -> IdleAgent | None:
    """The agent of this id, if it may be asked again."""
    return _IDLE.get(state, agent_id)


def find_after(state: State, request_id: str) -> IdleAgent | None:
    """The agent whose last answer was to this request."""
    return next((i for i in all_idle(state) if i.request_id == request_id), None)


def forget(state: State, agent_id: str) -> None:
    """An agent is at work again, or has given no valid answer; empty for a new one."""
    if agent_id:
        _IDLE.forget(state, agent_id)


def forget_of(state: State, session: str, host: HostProcess) -> None:
    """The session is over, or its process goes on under another id."""
    mine = (i for i in all_idle(state) if i.session == session and i.host == host)
    _forget(state, mine)


def forget_gone(state: State) -> None:
    """Forget the agents whose client is gone."""
    _forget(state, (i for i in all_idle(state) if is_gone(state, i)))


def is_gone(state: State, idle: IdleAgent) -> bool:
    """Whether the client of an agent is gone."""
    sign_ms = idle.answered_at
    return host_is_gone(state, idle.session, idle.host, sign_ms=sign_ms)


def _forget(state: State, agents: Iterable[IdleAgent]) -> None:
    for idle in agents:
        _IDLE.forget(state, idle.agent_id)


def reserved(state: State, agent_id: str, request_id: str = "") -> RequestId | None:
    """The claimed request that has this agent for itself; None for no other one."""
    for each in all_claimed(state):
        continued = each.claim.continued if each.claim else None
        if continued is None or continued.agent_id != agent_id:
            continue
        if each.request_id != request_id and not state.is_answered(each.request_id):
            return RequestId(each.request_id)
    return None


def reserve(state: State, idle: IdleAgent, request: Request) -> Request | None:
    """Have an agent wait for a claimed request; None if that cannot be (any more).

    Under the lock: two hooks of one session may want the same agent.
    """
    claim = request.claim
    with state.hold():
        mine = state.find_claimed(request.request_id)
        is_mine = claim is not None and mine is not None and mine.claim == claim
        is_there = find(state, idle.agent_id) == idle
        if not (is_mine and is_there) or mine is None or claim is None:
            return None
        if reserved(state, idle.agent_id, request.request_id):
            return None
        now = mine.with_(claim=claim.with_(continued=idle.next_question()))
        file = file_of(request.request_id)
        state["processing"].replace(file, now.to_json(), durable=False)
        return now
