"""Tell an answer, or a state, that hostbridge wrote from one that somebody put there.

Every response carries an HMAC under a key of the state directory, over all of its file
but the seal itself. A response file written by a host model or another program is not
an agent's answer; it is put aside, never returned. The key guards against mistakes and
fabrication, not against a program of this user that reads it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.errors import StateRefused
from bridge.protocol import plain_json
from bridge.protocol.record import as_json
from bridge.protocol.response import Response
from bridge.store.directory import Folder, Forbidden, NotAPlainFile

KEY_NAME = "key"
_SEAL = b',"seal":"'
_KEY_BYTES = 32


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
    import hmac

    seal = value.get("seal")
    return isinstance(seal, str) and hmac.compare_digest(
        seal.encode("utf-8", "replace"), seal_of(value, key).encode()
    )


def is_own_answer(value: dict[str, Any], state: str, request_id: str) -> bool:
    """Whether the file of an answer in a state directory is one of hostbridge's.

    For hooks that wait with nothing but the standard library.
    """
    with suppress(OSError, NotAPlainFile, StateRefused), Folder.open(state) as folder:
        is_of_it = value.get("requestId") == request_id
        return is_of_it and is_genuine(value, load_key(folder))
    return False


def with_seal(data: bytes, key: bytes, kind: str) -> bytes:
    """The JSON text of an object, with a seal for this kind of file as its end."""
    body = data.rstrip().removesuffix(b"}").rstrip()
    return body + _SEAL + _mac_of(body, key, kind) + b'"}\n'


def has_seal(data: bytes, key: bytes, kind: str) -> bool:
    """Whether a file is as `with_seal` made it."""
    import hmac

    body, _, seal = data.rpartition(_SEAL)
    return hmac.compare_digest(seal, _mac_of(body, key, kind) + b'"}\n')


def _mac_of(body: bytes, key: bytes, kind: str) -> bytes:
    import hmac

    return hmac.digest(key, kind.encode() + b"\n" + body, "sha256").hex().encode()


def seal_of(value: dict[str, Any], key: bytes) -> str:
    """The seal of a response, as JSON."""
    import hmac  # late: it loads OpenSSL

    unsealed = {name: part for name, part in value.items() if name != "seal"}
    body = plain_json.dumps(unsealed, sort_keys=True)
    return hmac.digest(key, body, "sha256").hex()
