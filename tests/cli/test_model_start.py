"""`ask` starts the local model while it is still loading, and ends it if unused."""

import signal
from pathlib import Path

import needs
import pytest

from bridge.cli.asking import ask
from bridge.cli.common.parser import parse
from bridge.config import Settings
from bridge.testing.stage.processes import is_alive


@pytest.mark.parametrize(
    ("words", "settings", "is_local"),
    [
        ("Hi --route=local", {}, True),
        ("Hi", {"cli_fallback": "local"}, True),
        ("Hi", {}, False),
        ("Hi -- --route local", {}, False),
        ("Hi --route claude", {"cli_fallback": "local"}, False),
        ("Hi --fallback-after 9", {"cli_fallback": "local"}, False),
        ("Hi --route local", {"off": True}, False),
    ],
)
def test_only_a_local_ask_starts_a_model(words, settings, is_local):
    """Whatever else answers has no use for the memory."""
    options = parse("hostbridge ask", ask.OPTIONS, words.split())

    found = ask.is_local(options, Settings(home=Path("/h"), **settings))

    assert found is is_local


@pytest.mark.slow
def test_a_model_that_has_nothing_to_do_is_ended(project, host, until):
    """What another process answers needs none: no memory is held while it works."""
    needs.local_model()
    asked = project.submit(prompt="Which?", dedup_key="k", route="local")
    another = host.claimant._replace(route="local")
    request = project.bridge.store.claim_one(asked, another)

    with project.start("ask", "Which?", "--route=local", "--dedup-key=k") as asker:
        children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children")
        until(children.read_text)
        until(lambda: not children.read_text())
        assert asker.poll() is None
        host.answer(request, '{"status": "success", "summary": "all"}')
        out, _ = asker.communicate(timeout=300)

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
        asker.communicate(timeout=300)

    until(lambda: not is_alive(pid))
