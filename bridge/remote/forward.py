"""The executor behind `route: remote`: another machine answers, by way of the queue.

The request stays in this machine's state directory, claimed by the process that waits.
What the queue forgets is put there again, until the deadline; what it says is checked
as any answer is. A machine's word that it saw a command run counts, though: whoever may
write to the queue may answer.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.change.collect import read_identity
from bridge.errors import BadSetting, BridgeError, ExtraMissing, NoQueue, NoRoute
from bridge.freshness.repository import folders_of
from bridge.policy.made_folders import GIT
from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.protocol.failure_codes import MEANINGS
from bridge.protocol.ids import RequestId
from bridge.protocol.judge import Judgement, judge
from bridge.protocol.names import MODEL_FILE, OF_CLIENT, OF_SERVER
from bridge.protocol.outcome import Control, Outcome, Progress
from bridge.protocol.question import KEY, read_question
from bridge.protocol.record import Unparsable, from_value, json_object
from bridge.protocol.response import Response, ServedBy
from bridge.protocol.wording import one_line
from bridge.remote.keys import EXAMPLE, MAX_BYTES, Address, Entry, Needs, read_address
from bridge.store.plain_file import read_plain, read_start

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.protocol.request import Request
    from bridge.remote.queue import Queue
    from bridge.store.store import Store

# What of a request goes over the queue. Nothing else that comes is looked at: no
# definition, no folder, no session, nothing that somebody has allowed.
SENT = (
    "request_id", "agent_type", "model", "prompt", "arguments", "variables", "context",
    "node", "task_id", "workflow", "priority", "answer_schema", "requester", "depth",
    "may_ask", "exchanges",
)  # fmt: skip
FILE = "remote.json"
_HEARD_S = 20.0
_NOBODY = "nobody has taken it from the queue"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_STEP_S = 0.1
_MAX_SECRET = 4096
_MAX_MESSAGE = 2000
_MAX_REFS = 16 * 1024 * 1024
_COMMIT_CHARS = 40


def open_queue(settings: Settings) -> Queue:
    """The queue that the settings name; nothing is sent yet.

    Raises:
        NoRoute: none is named, the client is not installed, or its URL is wrong.
    """
    if settings.queue is None:
        raise NoRoute(
            "route remote: no queue is set",
            ways=(f"hostbridge config set queue '{EXAMPLE}'", "or set BRIDGE_QUEUE"),
        )
    try:
        address = read_address(settings.queue)
        if find_spec("redis") is None:
            raise ExtraMissing("queue", "redis")
        password = _password(settings)
    except BridgeError as exc:
        raise NoRoute(f"route remote: {exc}") from None
    from bridge.remote.queue import Queue

    return Queue(address, password)


def _password(settings: Settings) -> str | None:
    file = settings.queue_password_file
    if settings.queue_password or file is None:
        return settings.queue_password
    try:
        return read_plain(file)[:_MAX_SECRET].decode().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise BadSetting(f"BRIDGE_QUEUE_PASSWORD_FILE={file}: {exc}") from None


def machine_of(store: Store) -> str:
    """What tells this state directory from all others, without giving away its key."""
    with store.state() as state:
        return sha256_of(b"queue\n" + state.key())[:16]


def name_of(machine: str) -> str:
    """The machine as people see it."""
    return f"{one_line(socket.gethostname(), 40) or 'machine'}-{machine[:4]}"


def project_of(store: Store, address: Address) -> str:
    """What stands for the project: its first commit, or else a name.

    All clones share it. It is read once, in a process of its own, and kept in
    `remote.json` beside the folder of git that it is of.
    """
    if address.project:
        return address.project
    own = Path(folders_of(str(store.place.project))[1])
    try:
        facts = own.stat()
    except OSError:
        return address.name
    git = [facts.st_dev, facts.st_ino, (own / "shallow").exists()]
    with store.state() as state:
        kept = json_object(state.directory.read(FILE, _MAX_SECRET))
        if kept.get("git") != git or not isinstance(kept.get("root"), str):
            root = read_identity(store.place.project)[1] or ""
            kept = {"git": git, "root": root}
            # One that could not be read is read again the next time.
            with suppress(OSError):
                data = plain_json.dumps(kept, line=True)
                if root:
                    state.directory.replace(FILE, data, durable=False)
    return kept["root"] or address.name


def commit_of(project: Path) -> str | None:
    """The last commit of a project, from the files of git; None if there is none."""
    git, own, common = folders_of(str(project))
    head = read_start(f"{own}/HEAD", _MAX_SECRET).decode("utf-8", "replace").strip()
    if head.startswith("ref: refs/") and ".." not in head:
        name = head.removeprefix("ref: ")
        head = read_start(f"{common}/{name}", _MAX_SECRET).decode("utf-8", "replace")
        if not head:
            packed = read_start(f"{common}/packed-refs", _MAX_REFS).decode(
                "utf-8", "replace"
            )
            lines = (line.split(" ") for line in packed.splitlines())
            head = next((each[0] for each in lines if each[1:] == [name]), "")
    head = head.strip()
    is_one = len(head) >= _COMMIT_CHARS and head.isalnum() and head.isascii()
    return head if is_one and Path(git).name == GIT else None


def needs_of(
    request: Request, definition: Definition | None, project: str, commit: str | None
) -> Needs:
    """What a machine must have to answer a request."""
    model = request.model or ""
    route = "endpoint" if model.startswith(OF_SERVER) else None
    if model.endswith(MODEL_FILE):
        route = "local"
    elif model.startswith(OF_CLIENT):
        route = "claude"
    return Needs(
        agent=request.agent_type,
        digest=definition.source.digest if definition else None,
        project=project,
        route=route,
        commit=commit,
        # The change is shown to it, and it looks at files around that.
        same_commit="change" in request.context,
    )


def why_not(request: Request) -> str:
    """Why no other machine can answer a request; empty if one can."""
    lacks = {
        "an agent of a flow's own is on this machine alone": request.is_temporary,
        "it goes on with a conversation of this machine": request.continues
        or request.context_from
        or request.session,
        f"its agent works in {request.folder}, on this machine": request.folder,
        "the file of its model is on this machine": "/" in (request.model or ""),
    }
    return next((why for why, is_so in lacks.items() if is_so), "")


@dataclass
class Forward:
    """Puts a request on the queue, and waits for its answer; one at a time."""

    queue: Queue
    store: Store
    settings: Settings
    _place: str = "0-0"
    _address: str = ""
    _machine: str = ""
    _project: str = ""
    _stood: str = ""
    _replied: set[int] = field(default_factory=set)

    def answer(
        self, request: Request, definition: Definition | None, control: Control
    ) -> Outcome:
        """Have it answered by whichever machine takes it."""
        if why := why_not(request):
            return Outcome(code="bad_request", detail=f"route remote: {why}")
        if not self._machine:
            from bridge.remote.queue import new_address

            self._machine = machine_of(self.store)
            self._address = new_address(self._machine)
            self._project = project_of(self.store, self.queue.address)
            with suppress(NoQueue):
                keep_late(self.queue, self.store, self._machine)
        self._stood, self._replied = _NOBODY, set()
        commit = commit_of(self.store.place.project)
        needs = needs_of(request, definition, self._project, commit)
        data = request.with_defaults().to_data()
        fields = {request.fields[name].json_name for name in SENT}
        sent = {key: value for key, value in data.items() if key in fields}
        body = plain_json.dumps({"request": sent, "needs": needs.to_data()})
        if len(body) > MAX_BYTES:
            detail = f"{len(body):,} bytes; the queue takes {MAX_BYTES:,}"
            return Outcome(code="bad_request", detail=detail)
        entry = Entry(
            self._machine,
            request.request_id,
            16 * len(request.failures) + len(request.exchanges),
        )
        return self._until_the_end(request, str(entry), body, needs, control)

    def _until_the_end(
        self, request: Request, entry: str, body: bytes, needs: Needs, control: Control
    ) -> Outcome:
        pause_s, outcome = _FIRST_PAUSE_S, None
        while outcome is None:
            left_s = control.deadline_s - time.monotonic()
            if control.should_stop():
                outcome = Outcome(code="agent_stopped", detail="it was stopped")
            elif left_s <= 0:
                outcome = Outcome(code="timeout", detail=self._stood)
            else:
                try:
                    standing = self.queue.put(
                        entry, body, needs, level=request.priority,
                        left_ms=max(1, int(left_s * 1000)),
                        tries=max(1, request.max_attempts - request.attempt),
                        to=self._address, machine=name_of(self._machine),
                    )  # fmt: skip
                    pause_s = _FIRST_PAUSE_S
                    if standing.state == "waiting":
                        self._stood = _NOBODY
                    else:
                        outcome = self._look(request, entry, control)
                    if outcome is None:
                        outcome = self._hear(request, entry, control, left_s)
                except NoQueue as exc:
                    if not exc.passes:
                        return Outcome(code="no_queue", detail=exc.what)
                    self._stood = exc.what
                    control.on_progress(Progress(note=f"{exc.what}; trying again"))
                    _pause(min(pause_s, left_s), control)
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        with suppress(NoQueue):
            if outcome.code in ("agent_stopped", "timeout"):
                self.queue.cancel(entry)
            else:
                self.queue.took(entry)
        return outcome

    def _hear(
        self, request: Request, entry: str, control: Control, left_s: float
    ) -> Outcome | None:
        """Wait for news of it; None if it is to be put there once more, to be sure."""
        key = self.queue.address.key("to", self._address)
        wait_s = min(left_s, _HEARD_S)
        heard = self.queue.hear({key: self._place}, wait_s, control.should_stop)
        for news in heard:
            self._place = news.place
        is_about_it = any(news.entry == entry for news in heard)
        return self._look(request, entry, control) if is_about_it else None

    def _look(self, request: Request, entry: str, control: Control) -> Outcome | None:
        """How it stands on the queue; None while it goes on."""
        found = self.queue.read(entry, "state", "by", "asks", "answer")
        state, by = (_shown(each) for each in found[:2])
        if state == "answered":
            return _outcome(request, found[3] or b"", by)
        if state == "lost":
            detail = f"{by} had it from the queue, and is gone"
            return Outcome(code="host_gone", detail=detail)
        if state == "expired":
            return Outcome(code="timeout", detail=self._stood)
        if state == "cancelled":
            return Outcome(code="cancelled", detail="it was taken from the queue")
        if state == "held":
            if (stood := f"{by} has it from the queue") != self._stood:
                self._stood = stood
                control.on_progress(Progress(note=stood))
            return self._asks(entry, found[2], control)
        return None

    def _asks(self, entry: str, data: bytes | None, control: Control) -> Outcome | None:
        """Pass on what its agent asks; None if it goes on, with the reply."""
        said = json_object(data)
        number = said.get("number")
        if type(number) is not int or number in self._replied:
            return None
        asked = read_question({KEY: said})
        if isinstance(asked, str):
            return Outcome(code="agent_error", detail=f"it asks something odd: {asked}")
        exchange = control.ask(asked)
        if exchange is None:
            detail = "it asked, and nobody has replied yet"
            return Outcome(code="agent_stopped", detail=detail)
        self._replied.add(number)
        reply = plain_json.dumps({"number": number, "value": exchange.reply})
        self.queue.say(entry, "reply", reply, to="holder")
        return None


def keep_late(queue: Queue, store: Store, machine: str) -> None:
    """Keep the answers that came too late as evidence."""
    from bridge.remote.keys import read_entry

    for name, by, answer in queue.late(machine):
        entry = read_entry(name)
        if entry is None or entry.machine != machine:
            continue
        response = json_object(answer[:MAX_BYTES]).get("response")
        words = response.get("rawOutput") if isinstance(response, dict) else None
        store.keep_evidence(
            RequestId(entry.request_id),
            reason=f"{one_line(by, 60)} answered when it was over",
            source="queue",
            words=words if isinstance(words, str) else "",
        )


def _outcome(request: Request, data: bytes, by: str) -> Outcome:
    """What another machine answers, checked again."""
    value = json_object(data)
    try:
        served_by = ServedBy.model_validate(value.get("servedBy"))
        said = value.get("response")
        said = said if isinstance(said, dict) else {}
        answer = from_value(Response, {**said, "requestId": request.request_id})
    except (Unparsable, BridgeError, ValueError) as exc:
        detail = f"{by} sent an answer that cannot be read: {one_line(str(exc), 300)}"
        return Outcome(code="agent_error", detail=detail)
    outcome = Outcome(
        words=answer.raw_output,
        model=answer.model,
        degraded=answer.degraded,
        run=answer.run,
        told_usage=answer.usage,
        served_by=served_by.with_(machine=by),
    )
    return _judged(request, answer, outcome)


def _judged(request: Request, answer: Response, outcome: Outcome) -> Outcome:
    from dataclasses import replace

    error = answer.error
    told = one_line(error.message, _MAX_MESSAGE) if error else ""
    if answer.parsed_output is None:
        code = error.code if error else "no_json"
        detail = told.removeprefix(MEANINGS[code]).removeprefix(": ")
        return replace(outcome, code=code, detail=detail)
    again = judge(request, plain_json.dumps(answer.parsed_output).decode())
    if not again.is_valid:
        return replace(outcome, verdict=again)
    if again.code != (error.code if error else None):
        detail = "its status and its answer disagree"
        return replace(outcome, code="agent_error", detail=detail)
    verdict = Judgement(answer.parsed_output, again.code, told)
    return replace(outcome, verdict=verdict)


def _shown(value: bytes | None) -> str:
    return one_line((value or b"").decode("utf-8", "replace"), 60)


def _pause(seconds: float, control: Control) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s and not control.should_stop():
        time.sleep(min(_STEP_S, max(0.0, until_s - time.monotonic())))
