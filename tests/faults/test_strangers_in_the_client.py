"""`claude -p` of ours in a stranger's folder, in the real client (P8)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import needs
import pytest
from strangers import Archive

from bridge.claude_cli.command import WITHOUT_THE_FOLDER
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

pytestmark = [pytest.mark.faults, pytest.mark.host]

ASKED = {
    "ask": (["ask", "--route", "claude", "Look around."], {}),
    "the fallback": (["ask", "Look around."], {"BRIDGE_CLI_FALLBACK": "claude"}),
    "serve": (["serve", "--once", "--route", "claude"], {}),
}


def looks_around(request: ApiRequest) -> Answer:
    """A model that calls a tool, so that every event of a session happens."""
    said = sum(item.get("role") == "assistant" for item in request.messages)
    if said == 0:
        return reply(tool_use("Read", {"file_path": "code.txt"}))
    if said == 1:
        value = {"status": "success", "summary": "looked"}
        return reply(tool_use("StructuredOutput", value))
    return reply("done")


@contextmanager
def archive_on_stage(root: Path, *, trusted: bool) -> Iterator[tuple[Stage, Archive]]:
    """An archive, and a client that has or has not been told to trust it."""
    archive = Archive(root)
    with ScriptedApi(looks_around) as api:
        stage = Stage(root, api, program=needs.client())
        if not trusted:
            record = stage.home / ".claude.json"
            known = json.loads(record.read_text())
            record.write_text(json.dumps(known | {"projects": {}}))
        yield stage, archive


def ask(stage: Stage, archive: Archive, name: str) -> CompletedProcess[str]:
    words, env = ASKED[name]
    env = {**stage.environment(), "BRIDGE_CLAUDE": str(stage.program), **env}
    if name == "serve":
        archive.hostbridge("submit", "--route", "claude", "Look around.", env=env)
    return archive.hostbridge(*words, env=env)


@pytest.mark.parametrize("name", ASKED)
def test_nothing_of_the_folder_runs_or_is_read(tmp_path, name):
    with archive_on_stage(tmp_path, trusted=False) as (stage, archive):
        ran = ask(stage, archive, name)
        words = json.dumps([turn.body for turn in stage.api.turns("main")])

    assert archive.ran() == []
    assert "STRANGER" not in words
    assert "looked" in ran.stdout
    note = f"hostbridge: Claude Code does not trust {archive.folder}: its settings"
    assert ran.stderr.count(note) == 1


def test_where_the_folder_is_trusted_nothing_changes(tmp_path):
    """The traps go off: the test above would have seen them."""
    with archive_on_stage(tmp_path, trusted=True) as (stage, archive):
        ran = ask(stage, archive, "ask")

    assert {"SessionStart", "apiKeyHelper", "mcp"} <= set(archive.ran())
    assert "does not trust" not in ran.stderr


def test_hooks_of_ours_would_still_run(tmp_path):
    """Those that come by the command line, and no others."""
    with archive_on_stage(tmp_path, trusted=False) as (stage, archive):
        hook = {"type": "command", "command": f"touch {tmp_path}/ours"}
        hooks = {"hooks": {"PreToolUse": [{"hooks": [hook]}]}}
        args = [*WITHOUT_THE_FOLDER, "--settings", json.dumps(hooks)]
        run_print(stage, "Look around.", args=args)

    assert (tmp_path / "ours").exists()
    assert archive.ran() == []
