"""The real client: its own Bash tool runs commands of ours that ask and wait."""

import json
import re
import sys

import pytest
from gitworld import Repository
from hostworld import host_world
from polling import wait_until
from ruleworld import calling
from validatorworld import APPROVED

from bridge.engine.view import view
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply
from bridge.validation.report import Verdict

pytestmark = pytest.mark.host


def test_validate_ends_with_6_and_the_verdict_comes_after_the_turn(tmp_path):
    """The change is read first, which asks nobody: the wait would begin after that."""
    validate = f"{sys.executable} -m bridge validate --with validator-logic"
    command = f"{validate}; echo code=$?"
    model = obedient_model(
        lambda *_: reply(json.dumps(APPROVED)), main=calling(command)
    )
    with host_world(tmp_path, model) as world:
        project = world.stage.project
        Repository(project)
        (project / "a").write_text("one\ntwo\n")
        world.allow("Bash")
        with world.stream(greet=False) as session:
            session.ask("go", timeout_s=300)
            words = world.main_words()
            begun = re.search(r"hostbridge: begun (\S+); this runs inside", words)
            assert begun, words
            assert "code=6" in words
            run = begun[1]

            def has_ended():
                return view(world.store, run).run["status"] == "completed"

            wait_until(has_ended, timeout_s=300, what=world.story())
        found = world.bridge.validation(run)

    assert found.verdict is Verdict.APPROVED, found
