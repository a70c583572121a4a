"""Where the queue is, what its keys are called, what it holds, and its limits.

    hb:{NAME}:kinds               hash: kind of work -> what it needs, as JSON
    hb:{NAME}:s:<level>:<kind>    stream: entries that wait or are held, by their names
    hb:{NAME}:r:<entry>           hash: the request, who holds it and until when, the
                                  answer
    hb:{NAME}:to:<address>        stream: what is new for one process
    hb:{NAME}:news                stream: which kinds of work have come
    hb:{NAME}:late:<machine>      stream: answers that came too late, for its asker
    hb:{NAME}:machines            hash: who serves, and what, as JSON
    hb:{NAME}:counts              hash: how many were taken

All of them are in one slot of a Redis Cluster. An entry is named after the machine that
asks, its request, and the try: the same on every reconnection. What needs the same is
of one kind: agent and digest of its definition, project, route, commit.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from bridge.errors import BadSetting
from bridge.protocol import plain_json
from bridge.protocol.ids import PRIORITIES, is_id
from bridge.protocol.plain_types import field
from bridge.protocol.value import Value

LEVELS = PRIORITIES
GROUP = "hostbridge"
LEASE_S = 30.0
RENEW_S = 10.0
# A request, or an answer. An answer has at most four million characters.
MAX_BYTES = 8 * 1024 * 1024
# How long what has ended is kept: the asker may have died before it was written down.
KEPT_S = 600
TAKEN_S = 60
# How long a machine that is silent counts as there.
SILENT_S = 90.0
MAX_KINDS = 10_000
MAX_NEEDS_BYTES = 4096

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_ENTRY = re.compile(r"([0-9a-f]{16})\.([A-Za-z0-9_-]{1,128})\.([0-9]{1,6})\Z")
_SCHEMES = ("redis", "rediss", "unix")
_OPTIONS = ("name", "project", "ca", "db")
EXAMPLE = "redis://HOST/0?name=NAME"


class Address(NamedTuple):
    """Where a queue is, by its URL: `redis://[USER@]HOST[:PORT][/DB]?name=NAME`.

    `rediss://` is the same with TLS, `unix:///PATH?name=NAME` a socket. `project` is
    what stands for the project in place of its first commit; `ca` a file of
    certificates.
    """

    scheme: str
    host: str
    port: int
    path: str
    db: int
    user: str | None
    name: str
    project: str
    ca: str | None

    def key(self, *parts: str) -> str:
        """The name of a key."""
        return ":".join((f"hb:{{{self.name}}}", *parts))

    def __str__(self) -> str:
        """For people; there is no password in it."""
        if self.scheme == "unix":
            return f"unix://{self.path} ({self.name})"
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.host}:{self.port}/{self.db} ({self.name})"


def read_address(url: str) -> Address:
    """Read the URL of a queue.

    Raises:
        BadSetting: it is none; says what is expected.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    name, project = options.get("name", "default"), options.get("project", "")
    database = options.get("db") or parts.path.strip("/") or "0"
    is_socket = parts.scheme == "unix"
    if is_socket:
        database = options.get("db") or "0"
    try:
        port = parts.port or 6379
    except ValueError:
        port = 0
    wrong = ""
    if parts.scheme not in _SCHEMES:
        wrong = f"expected {EXAMPLE}, rediss://… or unix:///PATH?name=NAME"
    elif parts.password is not None:
        wrong = "it holds a password; say that by BRIDGE_QUEUE_PASSWORD alone"
    elif not (parts.path if is_socket else parts.hostname) or not port:
        wrong = f"it names no {'socket' if is_socket else 'server'}: {EXAMPLE}"
    elif strange := sorted(set(options).difference(_OPTIONS)):
        wrong = f"{strange[0][:40]!r} is none of {', '.join(_OPTIONS)}"
    elif not _NAME.match(name) or (project and not _NAME.match(project)):
        wrong = "name and project: expected 1 to 64 of A-Z a-z 0-9 _ . -"
    elif not database.isdecimal() or len(database) > 4:  # noqa: PLR2004 - 16 are usual
        wrong = f"expected the number of a database, not {database[:40]!r}"
    if wrong:
        raise BadSetting(f"queue: {wrong}")
    return Address(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=port,
        path=unquote(parts.path) if is_socket else "",
        db=int(database),
        user=unquote(parts.username) if parts.username else None,
        name=name,
        project=project,
        ca=options.get("ca") or None,
    )


class Needs(Value):
    """What a machine must have to answer: the kind of work.

    `digest` is that of the agent's definition, None for an agent without one; `route`
    is None for any. `commit` is the asker's, and the machine's must be the same with
    `same_commit`.
    """

    agent: str
    digest: str | None = None
    project: str = ""
    route: str | None = None
    commit: str | None = None
    same_commit: bool = False

    @property
    def text(self) -> str:
        """As JSON, always the same."""
        return plain_json.dumps(self.to_data(), sort_keys=True).decode()

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """For people."""
        more = [self.digest[:8]] if self.digest else []
        more += [f"on {self.route}"] if self.route else []
        if self.same_commit:
            more.append(f"at commit {(self.commit or 'none')[:8]}")
        return " ".join([f"agent `{self.agent}`", *more])


class Entry(NamedTuple):
    """The name of an entry: the machine that asks, its request, and the try."""

    machine: str
    request_id: str
    round: int

    def __str__(self) -> str:
        """As it stands in the queue."""
        return f"{self.machine}.{self.request_id}.{self.round}"


def read_entry(text: str) -> Entry | None:
    """An entry by its name; None if that is none."""
    match = _ENTRY.match(text)
    if match is None or not is_id(match[2]):
        return None
    return Entry(match[1], match[2], int(match[3]))


class Standing(NamedTuple):
    """How an entry stands, and which machine has held it."""

    state: str
    epoch: int
    by: str


class Taken(NamedTuple):
    """An entry that this process holds: what is asked, by whom, and for how long."""

    entry: str
    epoch: int
    left_ms: int
    request: bytes
    machine: str


class News(NamedTuple):
    """Something new: in which stream, at which place, and what."""

    stream: str
    place: str
    what: str
    entry: str


class Offer(Value):
    """What a machine serves. `agents` are the digests of definitions by name."""

    machine: str
    routes: tuple[str, ...] = ()
    agents: dict[str, Any] = field(default_factory=dict)
    project: str = ""
    commit: str | None = None
    slots: int = 1
    busy: int = 0
    version: str = ""


class Waiting(NamedTuple):
    """How many of one kind wait and are held, by level; and since when the oldest."""

    needs: Needs
    waiting: dict[str, int]
    held: dict[str, int]
    lost: int
    oldest_s: float | None


class Overview(NamedTuple):
    """What is on the queue, and who serves it, each with how long ago it was heard."""

    kinds: tuple[Waiting, ...]
    machines: tuple[tuple[Offer, float], ...]
