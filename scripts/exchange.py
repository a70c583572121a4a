"""One whole exchange, shown file by file: what `scripts/demo` runs.

A program runs `hostbridge ask`; the real Claude Code client, open in a small project,
answers through one of its agents. The model behind the client is scripted: it does what
a notice of hostbridge says, and its agent runs one command and answers in JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
WIDTH = 110
# Begins the one line that all the rest is about.
ANSWER = ">>> "
HOSTBRIDGE = Path(sys.executable).with_name("hostbridge")


def main() -> int:
    """Run the exchange in a temporary folder, which `--keep` keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder of it")
    is_kept = parser.parse_args().keep
    folder = Path(tempfile.mkdtemp(prefix="hostbridge-demo-"))
    try:
        return exchange(folder)
    finally:
        if is_kept:
            print(
                f"\nKept: {folder} (home and project; `rm -r` it when you have seen it)"
            )
        else:
            shutil.rmtree(folder)


def exchange(folder: Path) -> int:
    """One exchange in `folder`; returns the exit code of the command that asked."""
    look = tool_use("Bash", {"command": "ls src tests", "description": "Compare"})
    agent = answering(reply(look), reply(text('{"modules": ["billing"]}')))
    with ScriptedApi(obedient_model(agent)) as api:
        stage = Stage(folder, api)
        make_project(stage.project)
        environment = {**os.environ, "HOME": str(stage.home)}
        for name in ("CLAUDE_CONFIG_DIR", "BRIDGE_HOME", "BRIDGE_STATE_DIR"):
            environment.pop(name, None)

        def hostbridge(*arguments: str) -> subprocess.CompletedProcess[str]:
            print(f"\n$ hostbridge {' '.join(map(quoted, arguments))}", flush=True)
            return subprocess.run(
                [HOSTBRIDGE, *arguments],
                cwd=stage.project,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )

        print("The client is the real one; the model behind it is scripted.")
        print(hostbridge("install").stdout, end="")
        print("\n$ claude        # opens a session; here one that reads a stream")
        with StreamSession(stage) as session:
            session.ask("hello")
            with Narrator(stage.home / ".hostbridge"):
                schema = stage.project / "modules.json"
                schema.write_text(json.dumps(SCHEMA))
                asked = hostbridge("ask", PROMPT, "--schema", "modules.json", "--json")
                time.sleep(1)
            print(
                f"\nThe answer, as the program that asked reads it:\n\n{ANSWER}", end=""
            )
            print(asked.stdout)
            code = asked.returncode
            print(f"exit code {code}. The host's model made these calls for it:\n")
            for call in api.turns("main")[-1].own_calls:
                print(f"    {call['name']}({json.dumps(call['input'])})")
            print("\nNext: `hostbridge install` in a project of yours, and `claude`.")
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
    """Prints each record of an exchange as soon as its file appears below a folder."""

    STAGES = ("requests", "processing", "responses", "done")

    def __init__(self, home: Path) -> None:
        self._home = home
        self._seen: set[Path] = set()
        self._told: dict[str, dict[str, object]] = {}
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
        """Show what the record says that an earlier one of its request did not."""
        try:
            record = json.loads(file.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            self._seen.discard(file)
            return
        before = self._told.get(file.stem, {})
        self._told[file.stem] = {**before, **record}
        print(f"\n…/@/{file.parent.name}/{file.name}")
        for key, value in record.items():
            if value not in (None, [], "") and before.get(key) != value:
                line = f"    {key}: {json.dumps(value)}"
                print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
