"""Read records that anybody may have written; seal those that only hostbridge writes.

What to do about one that cannot be read is for `state`: it may be put aside, in
`quarantine/`, byte for byte, with the reason beside it.

Every response carries an HMAC under a key of the state directory, over all of its file
but the seal itself. A response file written by a host model or another program is not
an agent's answer; it is put aside, never returned. The key guards against mistakes and
fabrication, not against a program of this user that reads it.
"""

import os
import re

# `hmac` has no more than this, and loads OpenSSL.
from _operator import _compare_digest
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bridge.errors import NewerSchema, StateRefused
from bridge.protocol import plain_json
from bridge.protocol.digest import hmac_of, sha256_of
from bridge.protocol.ids import is_id
from bridge.protocol.record import (
    R,
    Unparsable,
    as_json,
    from_value,
    newer_named,
    parse,
)
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.store.directory import Folder, Forbidden, NotAPlainFile
from bridge.store.journal import note

KEY_NAME = "key"
_SEAL = b',"seal":"'
_KEY_BYTES = 32

# Another program may still be writing a file that is younger than this.
SETTLE_MS = 2_000

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,160}\Z")


def load_key(state: Folder) -> bytes:
    """The key of this state directory, made at the first use.

    Raises:
        NotAPlainFile: something else has its name.
        StateRefused: this user may not read it. That says nothing about any response.
    """
    key = _read(state)
    while key is None:
        with suppress(FileExistsError):
            state.create(KEY_NAME, os.urandom(_KEY_BYTES))
        key = _read(state)
    if len(key) != _KEY_BYTES:
        raise NotAPlainFile(f"{state.path}/{KEY_NAME}", "not a key of ours")
    return key


def _read(state: Folder) -> bytes | None:
    try:
        return state.read(KEY_NAME)
    except Forbidden as exc:
        cure = "make it your own and readable again"
        raise StateRefused(Path(exc.path), exc.problem, cure) from None


def sealed_json(response: Response, key: bytes) -> bytes:
    """The bytes of the file of a response, with its seal.

    Raises:
        ValueError: a string or number in it cannot be written as JSON.
    """
    value = response.to_data()
    try:
        value["seal"] = seal_of(value, key)
    except plain_json.JSONEncodeError as exc:
        raise ValueError(f"cannot be written as JSON: {exc}") from None
    return as_json(value)


def is_genuine(value: dict[str, Any], key: bytes) -> bool:
    """Whether the seal in the decoded file `value` is right."""
    seal = value.get("seal")
    return isinstance(seal, str) and _compare_digest(
        seal.encode("utf-8", "replace"), seal_of(value, key).encode()
    )


def is_own_answer(value: dict[str, Any], state: str, request_id: str) -> bool:
    """Whether the file of an answer in a state directory is one of hostbridge's.

    For hooks, which know the directory by a link among their pins.
    """
    real = os.path.realpath(state)
    with suppress(OSError, NotAPlainFile, StateRefused), Folder.open(real) as folder:
        is_of_it = value.get("requestId") == request_id
        return is_of_it and is_genuine(value, load_key(folder))
    return False


def with_seal(data: bytes, key: bytes, kind: str) -> bytes:
    """The JSON text of an object, with a seal for this kind of file as its end."""
    body = data.rstrip().removesuffix(b"}").rstrip()
    return body + _SEAL + _mac_of(body, key, kind) + b'"}\n'


def has_seal(data: bytes, key: bytes, kind: str) -> bool:
    """Whether a file is as `with_seal` made it."""
    body, _, seal = data.rpartition(_SEAL)
    return _compare_digest(seal, _mac_of(body, key, kind) + b'"}\n')


def _mac_of(body: bytes, key: bytes, kind: str) -> bytes:
    return hmac_of(key, kind.encode() + b"\n" + body).encode()


def seal_of(value: dict[str, Any], key: bytes) -> str:
    """The seal of a response, as JSON."""
    unsealed = {name: part for name, part in value.items() if name != "seal"}
    body = plain_json.dumps(unsealed, sort_keys=True)
    return hmac_of(key, body)


def read_request(
    folder: Folder,
    name: str,
    now_ms: int,
    known: dict[str, tuple[bytes, Request]] | None = None,
) -> Request | None:
    """Read `<name>.json` as an unfinished request; None when there is none.

    `known` keeps what was parsed: the same bytes are not parsed again.

    Defaults fill what a hand-written file leaves out: `createdAt` is the file's time.
    Its status follows from whether somebody has claimed it, whatever the file says.

    Raises:
        Unparsable, NotAPlainFile: it is not a request.
        NewerSchema: written by a newer hostbridge.
    """
    file = f"{name}.json"
    # A name with other characters than an id's came from a listing, not from a caller.
    if not is_id(name):
        if not folder.has(file):
            return None
        raise Unparsable("the file name is not a request id")
    data = folder.read(file)
    if data is None:
        return None
    if known is not None and name in known and known[name][0] == data:
        return known[name][1]
    request = parse(Request, data)
    if not _has_name(folder, request, name):
        return None
    status = Status.PROCESSING if request.claim else Status.PENDING
    created = request.created_at or _changed_ms(folder, file, now_ms)
    if not request.created_at:
        # No creation time is given: use ctime, since mtime may be that of a copied
        # file.
        request = request.with_(uptime=None)
    if (request.status, request.created_at) != (status, created):
        request = request.with_(status=status, created_at=created)
    if known is not None:
        known[name] = data, request
    return request


def read_quietly(folder: Folder, file: str, kind: type[R]) -> R | None:
    """The record in `file`; None if there is none, or it cannot be read."""
    with suppress(NewerSchema):
        return read_to_replace(folder, file, kind)
    return None


def read_to_replace(folder: Folder, file: str, kind: type[R]) -> R | None:
    """As `read_quietly`, before another is written in its place.

    Raises:
        NewerSchema: a newer hostbridge wrote it; so it may not be replaced.
    """
    with suppress(Unparsable, NotAPlainFile):
        data = folder.read(file)
        with newer_named(f"{folder.path}/{file}"):
            return parse(kind, data) if data else None
    return None


def read_response(
    folder: Folder,
    name: str,
    load_key: Callable[[], bytes],
    fits: Callable[[Response], bool],
) -> Response | None:
    """Read `<name>.json` as a response that hostbridge wrote; None when there is none.

    `fits` says whether it belongs to the request that has this id now.

    Raises:
        Unparsable, NotAPlainFile: it is not one, or somebody else wrote it.
        NewerSchema: a newer hostbridge wrote it.
    """
    data = folder.read(f"{name}.json")
    if data is None:
        return None
    try:
        value = plain_json.loads(data)
    except plain_json.JSONDecodeError as exc:
        raise Unparsable(f"not JSON: {exc}") from None
    # It may be long, and its seal is checked in a copy.
    del data
    with newer_named(f"{folder.path}/{name}.json"):
        response = from_value(Response, value)
    if not _has_name(folder, response, name):
        return None
    if not is_genuine(value, load_key()):
        raise Unparsable("not written by hostbridge: the seal is missing or wrong")
    if not fits(response):
        raise Unparsable("it answers another request, which had this id before")
    return response


def _has_name(folder: Folder, record: Request | Response, name: str) -> bool:
    """Whether a record is of the id that its file is named after.

    False if a case-insensitive file system gave us the file of another id.

    Raises:
        Unparsable: it is of another id altogether.
    """
    found = record.request_id
    if found == name:
        return True
    if found.lower() == name.lower() and f"{name}.json" not in os.listdir(folder.fd):
        return False
    raise Unparsable(f"requestId is {found!r}, unlike the name")


def _changed_ms(folder: Folder, file: str, now_ms: int) -> int:
    facts = folder.facts(file)
    return min(facts.st_mtime_ns // 1_000_000, now_ms) if facts else now_ms


class PutAside(NamedTuple):
    """A file of `quarantine/`: its path, where it lay, since when (ms), and why."""

    path: str
    origin: str
    at: int
    why: str


def all_put_aside(quarantine: Folder, start: str = "") -> Iterator[PutAside]:
    """The files whose names begin with `start`, where a reason is known."""
    for name in quarantine.names(".reason"):
        if not name.startswith(start):
            continue
        with suppress(OSError, KeyError, TypeError, ValueError):
            reason = plain_json.loads(quarantine.read(f"{name}.reason") or b"")
            path = f"{quarantine.path}/{name}"
            at = int(reason["at"])
            yield PutAside(path, f"{reason['from']}", at, f"{reason['reason']}")


def is_young(folder: Folder, file: str, now_ms: int) -> bool:
    """Whether somebody may still be writing the file, judging by its time."""
    facts = folder.facts(file)
    if facts is None:
        return False
    return abs(now_ms - facts.st_mtime_ns // 1_000_000) < SETTLE_MS


def put_aside(state: Folder, folder: Folder, file: str, why: str, now_ms: int) -> bool:
    """Move a file out of the way; False when it cannot be moved, or is gone.

    Only with the store's lock held: without it, the name may by now belong to another
    file, and that one would be lost.
    """
    kept = f"{_plain(file)}.{now_ms}-{os.urandom(3).hex()}"
    with state.folder("quarantine") as quarantine:
        try:
            folder.move(file, quarantine, kept)
        except OSError:
            return False
        origin = f"{folder.path}/{file}".encode("utf-8", "backslashreplace").decode()
        reason = {"from": origin, "at": now_ms, "reason": why}
        # Moving the file is what counts; a full disk must not make this an error.
        with suppress(OSError, plain_json.JSONEncodeError):
            quarantine.replace(
                f"{kept}.reason", plain_json.dumps(reason) + b"\n", durable=False
            )
    stem = file.removesuffix(".json")
    note(state, now_ms, "quarantined", stem if is_id(stem) else "", reason=why)
    return True


def _plain(file: str) -> str:
    """A name that any file system and any terminal accepts."""
    if _PLAIN_NAME.match(file):
        return file
    return sha256_of(os.fsencode(file))[:32]
