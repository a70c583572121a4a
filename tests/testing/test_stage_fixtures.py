"""The fixtures for authors of hooks, in a project of theirs."""

import os
import sys

import needs
import pytest
from programs import ran

pytestmark = pytest.mark.slow

TESTS = """
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import reply


def test_two_stages(claude_stage, tmp_path):
    first = claude_stage(lambda request: reply("one"), GREETING="hello")
    second = claude_stage()

    assert run_print(first, "?").text == "one"
    assert run_print(second, "?").text == "ok"
    assert first.environment()["GREETING"] == "hello"
    assert [each.last_user_text for each in first.api.turns("main")] == ["?"]


def test_a_model_that_raises_fails_the_test(claude_stage):
    # What the client sends; itself it would ask again and again.
    url = claude_stage(lambda request: 1 / 0).api.url + "/v1/messages"
    with pytest.raises(HTTPError):
        urlopen(url, b'{"tools": [{"name": "Bash"}]}')
"""


def run(folder, tests, **env):
    (folder / "conftest.py").write_text('pytest_plugins = ["bridge.testing.plugin"]')
    (folder / "test_hooks.py").write_text(tests)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **env}
    words = ("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")
    return ran(sys.executable, *words, cwd=folder, env=env)


@pytest.mark.host
def test_a_stage_for_each_model(tmp_path):
    done = run(tmp_path, TESTS, BRIDGE_TEST_CLAUDE=str(needs.client()))

    assert "2 passed, 1 error" in done.stdout
    assert "ZeroDivisionError: division by zero" in done.stdout


def test_without_a_client_the_test_is_skipped_by_name(tmp_path):
    done = run(tmp_path, TESTS, BRIDGE_TEST_CLAUDE="/nowhere/claude")

    assert done.returncode == 0, done.stdout
    assert "2 skipped" in done.stdout
    why = "BRIDGE_TEST_CLAUDE='/nowhere/claude': not an executable file"
    assert f"no Claude Code client: {why}" in done.stdout
