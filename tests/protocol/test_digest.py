"""Digests are hashlib's, whichever implementation Python brings."""

from __future__ import annotations

import sys
from hashlib import sha256

import pytest

from bridge.protocol.digest import sha256_of


@pytest.mark.parametrize("missing", [(), ("_sha256",), ("_sha256", "_sha2")])
def test_it_is_the_same_with_every_build_of_python(monkeypatch, missing):
    """Records of one machine are read by the next Python."""
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)

    assert sha256_of(b"Which modules?") == sha256(b"Which modules?").hexdigest()
