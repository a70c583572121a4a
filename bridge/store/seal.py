"""Tell an answer that hostbridge wrote from one that somebody put there.

Every response carries an HMAC under a key of the state directory. A host model that
writes a response file by itself, or a program that drops one, does not have the words of
an agent behind it; such a file is put aside, never returned. The key keeps out mistakes
and fabrication, not a program of this user that sets out to read it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

import orjson

from bridge.store.folder import NotAPlainFile

if TYPE_CHECKING:
    from bridge.protocol.response import Response
    from bridge.store.folder import Folder

KEY_NAME = "key"
_KEY_BYTES = 32


def load_key(state: Folder) -> bytes:
    """The key of this state directory, made at the first use."""
    key = state.read(KEY_NAME)
    while key is None:
        try:
            state.create(KEY_NAME, secrets.token_bytes(_KEY_BYTES))
        except FileExistsError:
            pass
        key = state.read(KEY_NAME)
    if len(key) != _KEY_BYTES:
        raise NotAPlainFile(f"{state.path}/{KEY_NAME}: not a key of ours")
    return key


def sealed(response: Response, key: bytes) -> Response:
    """Return the response with its seal."""
    return response.with_(seal=_mac(response, key))


def is_genuine(response: Response, key: bytes) -> bool:
    """Whether the seal is right."""
    return hmac.compare_digest(response.seal.encode(), _mac(response, key).encode())


def _mac(response: Response, key: bytes) -> str:
    data = response.model_dump(mode="json", by_alias=True, exclude={"seal"})
    body = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    return hmac.new(key, body, hashlib.sha256).hexdigest()
