"""SHA-256 without OpenSSL, which takes longer to load than a hook may take."""

from typing import Any

_BLOCK = 64
_INNER = bytes(0x36 ^ each for each in range(256))
_OUTER = bytes(0x5C ^ each for each in range(256))


def sha256_of(data: bytes) -> str:
    """The digest, in hexadecimal digits; of what is large, hashlib's is faster."""
    digest: str = _sha256(data).hexdigest()
    return digest


def hmac_of(key: bytes, data: bytes) -> str:
    """The HMAC-SHA256 under a key of at most 64 bytes, in hexadecimal digits.

    Source: RFC 2104, section 2.
    """
    padded = key.ljust(_BLOCK, b"\0")
    inner = _sha256(padded.translate(_INNER))
    inner.update(data)
    outer: str = _sha256(padded.translate(_OUTER) + inner.digest()).hexdigest()
    return outer


def _sha256(data: bytes) -> Any:
    # As the standard library's `random` does it. The first is Python 3.11's own, the
    # second that of later ones; a build may lack both.
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # has no stubs
    except ImportError:
        try:
            from _sha2 import sha256  # type: ignore[import-not-found]  # has no stubs
        except ImportError:
            from hashlib import sha256
    return sha256(data)
