"""doctor --live with the real client: each stage, its time, and where it stopped."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from installed import stage_at
from programs import ran

from bridge.doctor.live import STOPS
from bridge.protocol.failure_codes import MEANINGS
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import answering, ignoring, obedient_model
from bridge.testing.stage.replies import reply
from bridge.testing.stage.stream import StreamSession

pytestmark = pytest.mark.host

YES = answering(reply('{"ok": true}'))


def run(stage: Stage, *arguments: str, **env: str) -> tuple[int, str]:
    """Exit code and stdout of `hostbridge ARGUMENTS` in the stage's project."""
    path = f"{stage.program.parent}:{os.environ['PATH']}"
    env = {**stage.environment(), "PATH": path, **env}
    done = ran(sys.executable, "-m", "bridge", *arguments, cwd=stage.project, env=env)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


@contextmanager
def staged(root: Path, model: Any) -> Iterator[Stage]:
    """A stage whose project is a repository, with hooks and this model."""
    with ScriptedApi(model) as api:
        stage = stage_at(root, api)
        run(stage, "install")
        yield stage


def live(output: str) -> list[dict[str, Any]]:
    return [c for c in json.loads(output)["checks"] if c["name"] == "live"]


def without_times(finding: dict[str, Any]) -> str:
    text = re.sub(r"\d+\.\d\d s", "N s", finding["found"])
    return re.sub(r"[0-9a-f-]{36}", "SESSION", text)


def test_a_session_that_answers_shows_every_stage(tmp_path):
    with staged(tmp_path, obedient_model(YES)) as stage:
        with StreamSession(stage) as session:
            session.ask("hello")
            code, out = run(stage, "doctor", "--live", "--json")

    assert [
        without_times(f).partition("submitted ")[0] or "submitted" for f in live(out)
    ] == [
        "submitted",
        "heard after N s: a session took its signal",
        "claimed after N s: by session SESSION",
        "launched after N s: the model called Agent",
        'answered after N s: {"ok": true}',
    ]
    checks = json.loads(out)["checks"]
    assert (code, [c for c in checks if c["verdict"] != "ok"]) == (0, [])


def test_a_model_that_ignores_offers_is_named(tmp_path):
    with staged(tmp_path, obedient_model(YES, main=ignoring(99))) as stage:
        with StreamSession(stage) as session:
            session.ask("hello")
            code, out = run(stage, "doctor", "--live", "--timeout", "4", "--json")

    *before, last = live(out)
    assert (code, last["verdict"]) == (1, "problem")
    assert "launched" not in " ".join(f["found"] for f in before)
    assert last["cause"] in (STOPS["launched"][0], MEANINGS["declined"])


def test_nobody_who_could_answer_is_reported_at_once(tmp_path):
    """No session, or only the one that this runs in, which would wait for itself."""
    with staged(tmp_path, obedient_model(YES)) as stage:
        none = run(stage, "doctor", "--live", "--json")
        with StreamSession(stage) as session:
            session.ask("hello")
            pid = str(session.pid)
            inside = run(stage, "doctor", "--live", "--json", CLAUDE_PID=pid)

    for (code, out), why in (
        (none, f"no Claude Code session with hostbridge is open in {stage.project}"),
        (inside, "this runs inside the only open session, which would wait for itself"),
    ):
        (finding,) = live(out)
        assert (code, finding["found"]) == (1, f"nothing was asked: {why}")


def test_a_session_that_no_hook_of_ours_has_seen(tmp_path):
    """Opened before the install, and idle since: only the client knows of it."""
    with staged(tmp_path, obedient_model(YES)) as stage:
        run(stage, "uninstall")
        with StreamSession(stage) as session:
            session.ask("hello")
            run(stage, "install")
            _, out = run(stage, "doctor", "--json")

    (found,) = [c["found"] for c in json.loads(out)["checks"] if c["name"] == "session"]
    assert found.endswith("is open in this project, but no hook of ours has run in it")
