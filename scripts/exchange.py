"""One whole exchange, shown file by file: what `scripts/demo` runs.

A program runs `hostbridge ask`; the real Claude Code client, open in a small project,
answers through one of its agents. The model behind the client is scripted: it does what
a notice of hostbridge says, and its agent runs one command and answers in JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from stage.api import ScriptedApi
from stage.client import Stage
from stage.models import answering, obedient_model
from stage.replies import reply, text, tool_use
from stage.stream import StreamSession

PROMPT = "Which modules under src/ have no test under tests/?"
SCHEMA = {
    "type": "object",
    "required": ["modules"],
    "properties": {"modules": {"type": "array", "items": {"type": "string"}}},
    "additionalProperties": False,
}
SHOWN_LINES = 34
HOSTBRIDGE = [sys.executable, "-m", "bridge"]


def main() -> int:
    """Run the exchange in a temporary folder."""
    look = tool_use("Bash", {"command": "ls src tests", "description": "Compare"})
    agent = answering(reply(look), reply(text('{"modules": ["billing"]}')))
    with (
        tempfile.TemporaryDirectory(prefix="hostbridge-demo-") as folder,
        ScriptedApi(obedient_model(agent)) as api,
    ):
        stage = Stage(Path(folder), api)
        make_project(stage.project)
        environment = {**os.environ, "HOME": str(stage.home)}
        for name in ("CLAUDE_CONFIG_DIR", "BRIDGE_HOME", "BRIDGE_STATE_DIR"):
            environment.pop(name, None)

        def hostbridge(*arguments: str) -> int:
            print(f"\n$ hostbridge {' '.join(map(quoted, arguments))}", flush=True)
            done = subprocess.run(
                [*HOSTBRIDGE, *arguments],
                cwd=stage.project,
                env=environment,
                check=False,
            )
            return done.returncode

        hostbridge("install")
        print("\n$ claude        # opens a session; here one that reads a stream")
        with StreamSession(stage) as session:
            session.ask("hello")
            with Narrator(stage.home / ".hostbridge"):
                schema = stage.project / "modules.json"
                schema.write_text(json.dumps(SCHEMA))
                code = hostbridge("ask", PROMPT, "--schema", "modules.json", "--json")
                time.sleep(1)
            print(f"\nexit code {code}. The host's model made these calls for it:\n")
            for call in api.turns("main")[-1].own_calls:
                print(f"    {call['name']}({json.dumps(call['input'])})")
        return code


def make_project(project: Path) -> None:
    """Two modules, one of them tested."""
    for file in ("src/orders.py", "src/billing.py", "tests/test_orders.py"):
        path = project / file
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (project / ".git").mkdir(exist_ok=True)


def quoted(word: str) -> str:
    """A word as one would type it."""
    return f'"{word}"' if " " in word else word


class Narrator:
    """Prints the record of each exchange below a folder as soon as it appears."""

    STAGES = ("requests", "processing", "responses", "done")

    def __init__(self, home: Path) -> None:
        self._home = home
        self._seen: set[Path] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.02):
            for file in sorted(self._home.rglob("*.json")):
                fresh = file not in self._seen and file.name[0] != "."
                if fresh and file.parent.name in self.STAGES:
                    self._seen.add(file)
                    self._print(file)

    def _print(self, file: Path) -> None:
        try:
            lines = file.read_text().splitlines()
        except FileNotFoundError:
            return
        short = f"…/@/{file.parent.name}/{file.name}"
        body = "\n".join(f"    {line[:100]}" for line in lines[:SHOWN_LINES])
        rest = f"\n    … {len(lines) - SHOWN_LINES} more lines"
        print(f"\n{short}\n{body}{rest if len(lines) > SHOWN_LINES else ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
