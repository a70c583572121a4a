"""The SHA-256 of bytes. OpenSSL is slow to load: it is loaded where one is needed."""


def sha256_of(data: bytes) -> str:
    """The digest, in hexadecimal digits."""
    from hashlib import sha256

    return sha256(data).hexdigest()
