"""An open session that an uninstall took the hooks from: nobody waits for it."""

import pytest
from sessionworld import in_a_hooked_session, started_as_a_client

from bridge.protocol.ids import RequestId
from bridge.store import Claimant
from bridge.store.host_process import identify


@pytest.fixture
def client(tmp_path):
    with started_as_a_client(tmp_path) as client:
        yield client
        client.kill()


@pytest.fixture
def hooked(project, client):
    project.run("install")
    in_a_hooked_session(project, pid=client.pid)
    return project


def test_a_question_fails_at_once_and_says_why(hooked):
    """It would wait for its whole deadline: the session never hears of it."""
    hooked.run("uninstall")

    ran = hooked.run("ask", "Anybody?")

    assert ran.code == 4, ran
    why, _, first_way, *_ = ran.err.splitlines()
    assert why == (
        f"hostbridge: the session that is open in {hooked.folder} has no hooks of "
        "hostbridge any more (`hostbridge uninstall`)"
    )
    assert first_way == "    - `hostbridge install`, then type something into it"
    assert "no session is open" in hooked.run("status").out


def test_what_it_held_is_given_back(hooked, client):
    """As at its end: another session, or another route, may take it now."""
    asked = RequestId(hooked.submit())
    store = hooked.bridge.store
    store.claim(Claimant("s", identify(client.pid)), 1, lambda _: "take")
    held = store.find_unfinished(asked)

    hooked.run("uninstall")

    assert held.claim.session == "s"
    assert store.find_unfinished(asked).claim is None


def test_with_hooks_again_it_only_has_to_say_something(hooked):
    """The words about the uninstall would be wrong then."""
    hooked.run("uninstall")
    hooked.run("install")

    ran = hooked.run("ask", "Anybody?")

    assert ran.code == 4, ran
    assert "any more" not in ran.err
    assert "type something into it" in ran.err


def test_a_model_does_not_end_the_rules_that_bind_it(project):
    """Rules end with the hooks, and while hostbridge is off."""
    project.run("install")
    installed = project.folder / ".claude" / "settings.local.json"
    before = installed.read_bytes()
    in_a_hooked_session(project)

    for command in ["off"], ["uninstall"]:
        refused = project.run(*command)
        assert refused.code != 0
        assert "inside a Claude Code session" in refused.err
    forecast = project.run("uninstall", "--dry-run")

    assert installed.read_bytes() == before
    assert not project.bridge.overview().is_off
    assert (forecast.code, forecast.err) == (0, "")
