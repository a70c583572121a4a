"""Which answers still hold, and why others do not; and the lock that says so in CI."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.api.model_now import ModelsNow
from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest
from bridge.freshness import kept_reads
from bridge.freshness.disk import OneLook, Unknowable
from bridge.freshness.never_reused import ANOTHER, Given, is_about, why_never
from bridge.freshness.reads import Difference, differences
from bridge.protocol.ids import check_id
from bridge.protocol.request import Node
from bridge.routes import OWN, RouteName
from bridge.store.plain_file import open_beneath
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

State = Literal["fresh", "stale", "unknown"]
# Nobody reads a longer list; the first already says that it does not hold.
MAX_REASONS = 100
_MAX_NODE_FILE = 4 * 1024 * 1024


class Reason(NamedTuple):
    """Why an answer does not hold, or why nobody can tell.

    `what`: changed, added, removed, names (others are there), definition, model, node,
    change, superseded, or unknown. `about` is a path, or says more.
    """

    what: str
    about: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How one answer stands.

    Attributes:
        state: fresh, stale, or unknown: nobody can tell.
        reasons: why it is not fresh; at most `MAX_REASONS`.
        request_id: the request that was answered; empty for one of a lock.
        question: the SHA-256 of what was asked.
        agent, asked: who was asked what.
        given_at_ms: when it was answered, in milliseconds since 1970; 0 in a lock.
    """

    state: State
    reasons: tuple[Reason, ...]
    request_id: str
    question: str
    agent: str
    asked: str
    given_at_ms: int = 0


class Freshness:
    """The answers of one project, at one moment: all that changes is read once."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._project = store.place.project
        self._disk = OneLook()
        self._change: dict[str, str] | None = None
        self._definitions: dict[tuple[str, str], Definition | BridgeError | None] = {}
        self._models = ModelsNow(store, settings)

    @property
    def project(self) -> Path:
        """Where the files are."""
        return self._project

    @property
    def yours(self) -> tuple[Path, Path]:
        """Where the user's own rules, agents and memory are."""
        return self._settings.home, self._settings.claude_dir

    def note_lock(self, file: Path) -> None:
        """Keep the answers that a lock names, for as long as it is there."""
        from bridge.freshness.pinned import note

        with self._store.state() as state:
            note(state, file, self._project)

    def standings(self, ids: Iterable[str] = ()) -> list[Standing]:
        """How answers stand: these, or the newest to each question, oldest first.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: it has no answer that could be checked.
        """
        # Of thousands it reads the JSON several times as fast.
        import orjson  # noqa: F401

        return sorted(
            (self.standing(given) for given in self.given(list(ids))),
            key=lambda s: (s.given_at_ms, s.request_id),
        )

    def given(self, ids: list[str]) -> Iterator[Given]:
        """Answers, with what they rest on; raises as `standings`."""
        if not self._store.exists():
            if ids:
                raise self._store.unknown(check_id(ids[0]))
            return
        with self._store.open(make=False) as store, store.state(make=False) as state:
            if not ids:
                for reads in list(kept_reads.all_kept(state, self._project)):
                    given = kept_reads.given_by(state, reads)
                    if given is not None and is_about(given):
                        yield given
                return
            for request_id in map(check_id, ids):
                found = store.find(request_id)
                if found is None:
                    raise store.unknown(request_id)
                request, response = found.request, found.response
                if request is None or response is None or not response.success:
                    raise InvalidRequest(
                        f"request {request_id} has no answer that could be checked",
                        ways=(f"hostbridge show {request_id}",),
                    )
                kept = kept_reads.load(state, request, response.route, self._project)
                if kept is None:
                    raise InvalidRequest(
                        f"what the answer of request {request_id} rests on was not "
                        "kept: a person gave it, or an earlier hostbridge, or it is "
                        "of another worktree",
                        request_id=request_id,
                    )
                yield Given(request, response, kept)

    def standing(self, given: Given) -> Standing:
        """How one answer stands."""
        # An agent may have looked at something in several ways.
        reasons = tuple(dict.fromkeys(islice(self._reasons(given), MAX_REASONS)))
        state: State = "fresh"
        if reasons:
            unknown = all(reason.what == "unknown" for reason in reasons)
            state = "unknown" if unknown else "stale"
        return Standing(
            state,
            reasons,
            given.request.request_id,
            given.reads.question,
            given.request.agent_type,
            given.request.prompt,
            given.response.completed_at,
        )

    def _reasons(self, given: Given) -> Iterator[Reason]:
        request, reads = given.request, given.reads
        never = why_never(given)
        if never is not None and never.name == ANOTHER:
            yield Reason("superseded", f"request {reads.request_id} asked the same")
            return
        if never is not None and never.is_doubt:
            detail = self._shown(reads.detail)
            yield Reason("unknown", f"{never.says}: {detail}" if detail else never.says)
            return
        try:
            for each in differences(reads, self._disk):
                yield self._reason(each)
        except Unknowable as exc:
            yield Reason("unknown", str(exc))
        yield from self._of_definition(given)
        if request.node is not None and not _has_node(self._project, request.node):
            yield Reason("node", f"{request.node.file}::{request.node.name}")
        if "change" in request.context and request.context != self._change_now():
            yield Reason("change", "what is not committed is another change now")

    def _reason(self, difference: Difference) -> Reason:
        return Reason(difference.what, self._shown(difference.path))

    def _shown(self, path: str) -> str:
        """A path relative to the project, if it is in it."""
        return path.removeprefix(f"{self._project}/")

    def _of_definition(self, given: Given) -> Iterator[Reason]:
        """Whether the definition, and the model that it runs on, are still those."""
        request, now = given.request, None
        # One of a flow's run belongs to that, and is never changed.
        if not request.is_temporary:
            try:
                now = self.definition(request.agent_type, given.response.route)
            except BridgeError as exc:
                yield Reason("definition", exc.what.partition("\n")[0])
                return
            then = request.definition
            if (now and now.source.digest) != (then and then.digest):
                yield Reason("definition", f"that of {request.agent_type} has changed")
        if why := self._models.why_another(given, now):
            yield Reason("model", why)

    def definition(self, name: str, route: str) -> Definition | None:
        """The definition of an agent as it is now; raises as `Agents.find`."""
        if (name, route) not in self._definitions:
            self._definitions[name, route] = self._read_definition(name, route)
        found = self._definitions[name, route]
        if isinstance(found, BridgeError):
            raise found
        return found

    def _read_definition(
        self, name: str, route: str
    ) -> Definition | BridgeError | None:
        from bridge.agents.known_agents import Agents

        known: RouteName = next((own for own in OWN if own == route), "host")
        try:
            return Agents.open(self._settings, self._project).find(name, known)
        except BridgeError as exc:
            return exc

    def _change_now(self) -> dict[str, str]:
        """What is not committed, read once."""
        if self._change is None:
            from bridge.change.collect import read_change

            self._change = read_change(self._project).as_context()
        return self._change


def _has_node(project: Path, node: Node) -> bool:
    """Whether a file still has a piece of source, wherever in it."""
    try:
        fd = open_beneath(project, node.file.split("/"))
        try:
            text = os.read(fd, _MAX_NODE_FILE).decode("utf-8", "replace")
        finally:
            os.close(fd)
    except OSError:
        return False
    return node.text in text
