"""The SHA-256 of a text, without OpenSSL, which takes longer to load than the rest."""


def sha256_of(data: bytes) -> str:
    """The digest, in hexadecimal digits; of what is large, hashlib's is faster."""
    # As the standard library's `random` does it. The first is Python 3.11's own, the
    # second that of later ones; a build may lack both.
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # has no stubs
    except ImportError:
        try:
            from _sha2 import sha256  # type: ignore[import-not-found]  # has no stubs
        except ImportError:
            from hashlib import sha256
    digest: str = sha256(data).hexdigest()
    return digest
