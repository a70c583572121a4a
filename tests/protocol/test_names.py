"""Names of models: which exist, and which the client has."""

from __future__ import annotations

import pytest

from bridge.protocol.names import is_client_model, is_model


@pytest.mark.parametrize(
    ("model", "is_known", "is_clients"),
    [
        ("haiku", True, True),
        ("claude-opus-4-1", True, True),
        ("inherit", True, False),
        ("models/a.gguf", True, False),
        ("openai:mistral", True, False),
        ("openai:", False, False),
        ("haikuu", False, False),
    ],
)
def test_models(model, *, is_known, is_clients):
    assert is_model(model) is is_known
    assert is_client_model(model) is is_clients
