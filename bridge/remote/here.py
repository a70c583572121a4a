"""This machine at a queue: what it offers, and what an entry becomes here.

It takes an entry only if it has the agent, by the same definition, for the same
project; the others are left to other machines. An entry becomes a request of this state
directory, under the same id (or, if that was used here, the same with a number). What
comes is data: this machine's own definitions, grants, limits and budgets hold.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.agents.known_agents import Agents
from bridge.change.collect import read_change
from bridge.errors import BridgeError
from bridge.protocol import plain_json
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.ids import RequestId
from bridge.protocol.record import Unparsable, from_value, json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response, ServedBy
from bridge.protocol.status import Stage, Status
from bridge.protocol.wording import one_line
from bridge.remote.forward import SENT, commit_of, machine_of, name_of, project_of
from bridge.remote.keys import (
    MAX_BYTES,
    Address,
    Entry,
    Needs,
    Offer,
    Taken,
    read_entry,
)
from bridge.store.clock import uptime
from bridge.store.submit import is_submitted

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.store.store import Store

_MAX_NAMES = 99
_MAX_WHO = 100
_MAX_AGENTS = 1000
_LONGEST_MS = 30 * 86_400_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What is offered: routes, agents (None for all), how many at once.

    `same_commit`: only requests about the commit that is checked out here.
    """

    routes: tuple[str, ...]
    agents: frozenset[str] | None = None
    slots: int = 1
    same_commit: bool = False


class Refused(Exception):
    """What came is not to be served; `code` and `str()` are for its asker."""

    def __init__(self, code: FailureCode, why: str) -> None:
        super().__init__(why)
        self.code = code


class Here:
    """One state directory, as a machine at a queue.

    Attributes:
        machine, name: what tells it from others, and what people see of that.
        project: what stands for the project; `commit` is its last one.
        checkout: a commit, and whether files differed from it a moment ago.
    """

    def __init__(
        self, store: Store, settings: Settings, terms: Terms, address: Address
    ) -> None:
        self.store, self.settings, self.terms = store, settings, terms
        self.machine = machine_of(store)
        self.name = name_of(self.machine)
        self.project = project_of(store, address)
        self.commit: str | None = None
        self.checkout: tuple[str | None, bool | None] = (None, None)
        self.look()

    def look(self) -> None:
        """See which commit it is at."""
        self.commit = commit_of(self.store.place.project)

    def look_at_files(self) -> None:
        """See whether files differ from the commit; takes long."""
        commit = self.commit
        if commit is not None:
            change = read_change(self.store.place.project, max_chars=1)
            is_dirty = bool(change.files) or (None if not change.is_whole else False)
            self.checkout = commit, is_dirty

    def offer(self, busy: int) -> Offer:
        """What it offers, while it is at work on so many."""
        return Offer(
            machine=self.name,
            routes=self.terms.routes,
            agents=self.digests(),
            project=self.project,
            commit=self.commit,
            slots=self.terms.slots,
            busy=busy,
            version=_version(),
        )

    def routes_for(self, needs: Needs) -> tuple[str, ...]:
        """The routes on which this machine can answer what is of a kind."""
        return tuple(self._definitions(needs))

    def _definitions(self, needs: Needs) -> dict[str, Definition | None]:
        """The definition of the agent by route, the preferred one first."""
        terms = self.terms
        is_other = needs.project != self.project or (
            terms.agents is not None and needs.agent not in terms.agents
        )
        if terms.same_commit or needs.same_commit:
            self.look()
            is_other |= needs.commit != self.commit
        if is_other:
            return {}
        wanted = [r for r in terms.routes if needs.route in (None, r)]
        agents = Agents.open(self.settings, self.store.place.project)
        found: dict[str, tuple[int, Definition | None]] = {}
        for route in wanted:
            with suppress(BridgeError, ValueError):
                definition = agents.find(needs.agent, route)  # type: ignore[arg-type]
                if (rank := _rank(definition, route, needs)) is not None:
                    found[route] = rank, definition
        return {
            route: found[route][1] for route in sorted(found, key=lambda r: found[r][0])
        }

    def digests(self) -> dict[str, Any]:
        """The digests of the definitions that are offered, by agent."""
        found = {}
        for entry in Agents.open(self.settings, self.store.place.project).entries():
            definition = entry.loaded.definition
            is_offered = self.terms.agents is None or (
                definition and definition.name in self.terms.agents
            )
            if definition and entry.is_used and entry.is_trusted and is_offered:
                found[definition.name] = definition.source.digest
        return dict([*found.items()][:_MAX_AGENTS])

    def asked(self, taken: Taken) -> tuple[Request, Needs]:
        """What an entry asks, as a request of this machine; nothing in it is trusted.

        Raises:
            Refused: it is not to be served.
        """
        entry = read_entry(taken.entry)
        if entry is None or len(taken.request) > MAX_BYTES:
            raise Refused("bad_request", "its name or its size is not an entry's")
        body = json_object(taken.request)
        try:
            needs = Needs.model_validate(body.get("needs"))
            came = from_value(Request, body.get("request"))
        except (Unparsable, BridgeError, ValueError, RecursionError) as exc:
            raise Refused("bad_request", one_line(str(exc), 300)) from None
        if came.request_id != entry.request_id or came.agent_type != needs.agent:
            raise Refused("bad_request", "the entry is of another request or agent")
        if "/" in (came.model or "") or came.is_temporary:
            raise Refused("bad_request", "its model or its agent is no name")
        definitions = self._definitions(needs)
        if not definitions:
            raise Refused("agent_missing", f"{self.name} does not serve {needs}")
        given = {name: getattr(came, name) for name in SENT if name != "variables"}
        route, definition = next(iter(definitions.items()))
        # Rules look at variables: a program elsewhere sets none but the definition's.
        known = definition.default_variables if definition else {}
        given["variables"] = {k: v for k, v in came.variables.items() if k in known}
        given["requester"] = one_line(f"{taken.machine}: {came.requester}", _MAX_WHO)
        request = Request.checked(
            **given,
            route=route,
            timeout=min(max(1, taken.left_ms), _LONGEST_MS),
            created_at=self.store.now_ms(),
            uptime=uptime(self.store.clock),
            # Who asks decides about other tries, and may ask another machine.
            max_attempts=1,
            wait_quota=False,
            queue_entry=taken.entry,
        )
        return request, needs

    def submit(self, request: Request) -> RequestId:
        """Make it a request here; the one that it has become before, if it goes on."""
        stem = request.request_id[:120]
        for number in range(1, _MAX_NAMES):
            name = RequestId(stem if number == 1 else f"{stem}-{number}")
            if number == 1:
                name = RequestId(request.request_id)
            with self.store.state() as state:
                is_free = not is_submitted(state, name)
            if is_free:
                self.store.submit(request.with_(request_id=name))
                return name
            # What a killed process held is free again.
            self.store.sweep()
            found = self.store.find(name)
            before = found.request if found else None
            if found is None or before is None:
                continue
            is_it = before.queue_entry == request.queue_entry
            is_free = found.response is None and before.claim is None
            if is_it and (is_free or found.status is Status.COMPLETED):
                return name
        raise Refused("bad_request", f"its id was used {_MAX_NAMES} times here")

    def as_answer(self, response: Response) -> bytes:
        """A response for its asker; who served it, and for which files."""
        commit, is_dirty = self.checkout
        by = ServedBy(
            machine=self.name,
            route=response.route,
            model=response.model,
            project=self.project,
            commit=self.commit,
            is_dirty=is_dirty if commit == self.commit else None,
        )
        said = response.to_data()
        for name in ("seal", "requestDigest", "agentId", "continued", "servedBy"):
            said.pop(name, None)
        data = plain_json.dumps({"response": said, "servedBy": by.to_data()})
        if len(data) <= MAX_BYTES:
            return data
        said |= {"rawOutput": "", "parsedOutput": None, "success": False}
        said |= {
            "status": "failed",
            "error": _error("too_long", "the queue takes 8 MB"),
        }
        return plain_json.dumps({"response": said, "servedBy": by.to_data()})


def _rank(definition: Definition | None, route: str, needs: Needs) -> int | None:
    """How far down a route is among those of a definition; None if it is no match."""
    digest = definition.source.digest if definition else None
    if digest != needs.digest:
        return None
    if definition is None:
        return 0
    if not definition.takes(route):  # type: ignore[arg-type]
        return None
    known: tuple[str, ...] = definition.routes
    return known.index(route) if route in known else len(known)


def _error(code: FailureCode, why: str) -> dict[str, str]:
    return {"code": code, "message": why, "stage": Stage.WAITING.value}


def refusal(taken: Taken, code: FailureCode, why: str) -> bytes:
    """The answer to an entry that was not served, with the reason."""
    entry = read_entry(taken.entry) or Entry("0" * 16, "none", 0)
    said = {
        "requestId": entry.request_id,
        "success": False,
        "status": "failed",
        "completedAt": 0,
        "duration": 0,
        "route": "none",
        "error": _error(code, why),
    }
    served_by = {"machine": "", "route": "none"}
    return plain_json.dumps({"response": said, "servedBy": served_by})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hostbridge")
    except PackageNotFoundError:
        return ""
