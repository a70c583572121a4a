"""The local model is started while the command is still loading, and ended unused."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import needs
import pytest
from stage.processes import is_alive

from bridge.cli.preload import needs_model
from bridge.config import Settings


@pytest.mark.parametrize(
    ("words", "settings", "is_needed"),
    [
        ("ask --route local Hi", {}, True),
        ("ask Hi --route=local", {}, True),
        ("ask Hi --route=claude --route local", {}, True),
        ("ask Hi", {"cli_fallback": "local"}, True),
        ("ask Hi --route auto", {"cli_fallback": "local"}, True),
        ("ask Hi", {}, False),
        ("ask Hi -- --route local", {}, False),
        ("ask Hi --route", {}, False),
        ("ask Hi --route claude", {"cli_fallback": "local"}, False),
        ("ask Hi --fallback-after 9", {"cli_fallback": "local"}, False),
        ("ask Hi", {"cli_fallback": "claude"}, False),
        ("ask Hi --route local", {"off": True}, False),
        ("submit Hi --route local", {}, False),
    ],
)
def test_what_needs_a_model(words: str, settings: dict[str, Any], is_needed):
    """Only what this process serves itself, as far as the words can tell."""
    command, *others = words.split()

    found = needs_model(command, others, Settings(home=Path("/h"), **settings))

    assert found is is_needed


@pytest.mark.slow
def test_a_model_that_has_nothing_to_do_is_ended(project, host, until):
    """What another process answers needs none: no memory is held while it works."""
    needs.local_model()
    asked = project.submit(prompt="Which?", dedup_key="k", route="local")
    another = replace(host.claimant, route="local")
    request = project.bridge.store.claim_one(asked, another)

    with project.start("ask", "Which?", "--route=local", "--dedup-key=k") as asker:
        children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children")
        until(children.read_text)
        until(lambda: not children.read_text())
        assert asker.poll() is None
        host.answer(request, '{"status": "success", "summary": "all"}')
        out, _ = asker.communicate(timeout=30)

    assert (asker.returncode, out) == (0, b"success: all\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_a_command_that_is_still_loading(project, until, number):
    """There is no request yet, and nothing else that could tell of it."""
    needs.local_model()
    with project.start("ask", "Which?", "--route=local") as asker:
        children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children")
        pid = int(until(children.read_text))
        asker.send_signal(number)
        asker.communicate(timeout=30)

    until(lambda: not is_alive(pid))
