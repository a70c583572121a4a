"""Read records that anybody may have written.

Nothing here changes a file. What to do about one that cannot be read is for `state`.
"""

import os
from collections.abc import Callable
from contextlib import suppress

from bridge.errors import NewerSchema
from bridge.protocol import plain_json
from bridge.protocol.ids import is_id
from bridge.protocol.record import R, Unparsable, from_value, newer_named, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.seal import is_genuine


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
