"""Digests without OpenSSL."""

import hashlib
import hmac

import pytest

from bridge.protocol.digest import hmac_of, sha256_of


@pytest.mark.parametrize("data", [b"", b"a", b"\0" * 64, b"long " * 50_000])
@pytest.mark.parametrize("key", [b"", b"k", bytes(range(32)), b"\xff" * 64])
def test_as_those_of_the_standard_library(key, data):
    assert sha256_of(data) == hashlib.sha256(data).hexdigest()
    assert hmac_of(key, data) == hmac.digest(key, data, "sha256").hex()
