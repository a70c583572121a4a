"""Show two whole exchanges, or one of them, for `scripts/demo`.

A program runs `hostbridge ask`. First the real Claude Code client, open in a small
project, answers through one of its agents, shown file by file. The model behind the
client is scripted: it does what a notice of hostbridge says, and its agent runs one
command and answers in JSON. Then, without a session, a real model on this machine
answers: it runs one command, and says how that ended.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
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
DEFINITION = """\
name: unit-tests
description: Runs the unit tests and reports how they ended.
tools: [Bash]
allow: [Bash(python3 -m unittest tests/test_orders.py)]
require_verified_evidence: true
"""
TEST = """\
import unittest

from src.orders import total


class Orders(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""
WIDTH = 110
# The beginning of the lines that matter most.
ANSWER = ">>> "
HOSTBRIDGE = Path(sys.executable).with_name("hostbridge")


def main() -> int:
    """Run the exchanges in a temporary folder, which `--keep` keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    parser.add_argument("only", nargs="?", choices=EXCHANGES, help="default: both")
    options = parser.parse_args()
    only: str | None = options.only
    folder = Path(tempfile.mkdtemp(prefix="hostbridge-demo-"))
    try:
        return max(
            EXCHANGES[name](folder) for name in EXCHANGES if only in (None, name)
        )
    finally:
        if options.keep:
            print(
                f"\nKept: {folder} (home and project; `rm -r` it when you have seen it)"
            )
        else:
            shutil.rmtree(folder)


def from_a_session(folder: Path) -> int:
    """A program asks the open session; returns the exit code."""
    look = tool_use("Bash", {"command": "ls src tests", "description": "Compare"})
    agent = answering(reply(look), reply(text('{"modules": ["billing"]}')))
    with ScriptedApi(obedient_model(agent)) as api:
        stage = Stage(folder, api)
        make_project(stage.project)
        return ask_the_session(folder, stage)


def ask_the_session(folder: Path, stage: Stage) -> int:
    """Install, open a session, ask, and show what the model did."""
    print("1. An open session answers. The client is the real one, its model scripted.")
    print(hostbridge(folder, "install").stdout, end="")
    print("\n$ claude        # opens a session; here one that reads a stream")
    with StreamSession(stage) as session:
        session.ask("hello")
        with Narrator(stage.home / ".hostbridge"):
            schema = stage.project / "modules.json"
            schema.write_text(json.dumps(SCHEMA))
            ask = ("ask", PROMPT, "--schema", "modules.json", "--json")
            asked = hostbridge(folder, *ask)
            time.sleep(1)
        tell_answer(asked)
        print("The host's model made these calls for it:\n")
        for call in stage.api.turns("main")[-1].own_calls:
            print(f"    {call['name']}({json.dumps(call['input'])})")
    return asked.returncode


def standalone(folder: Path) -> int:
    """The same without a session: a real model on this machine."""
    make_project(folder / "project")
    print("\n2. No session is open. A real model answers, small, on this machine.")
    definition = folder / "home" / ".hostbridge" / "agents" / "unit-tests.yaml"
    definition.parent.mkdir(parents=True, exist_ok=True)
    definition.write_text(DEFINITION)
    print(f"\n~/.hostbridge/agents/{definition.name}")
    print(textwrap.indent(DEFINITION, "    "), end="")
    ask = ("ask", "unit-tests", "Run the unit tests.", "--route", "local", "--json")
    asked = hostbridge(folder, *ask)
    tell_answer(asked)
    print("What it says is its own, and `degraded` because the model is small;")
    print("the evidence is what hostbridge saw run.")
    print(f"\nNext: `{HOSTBRIDGE} install` in a project of yours, and `claude`.")
    return asked.returncode


def hostbridge(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Show a command, and run it in the project."""
    print(f"\n$ hostbridge {' '.join(map(quoted, arguments))}", flush=True)
    environment = {**os.environ, "HOME": str(folder / "home")}
    for name in ("CLAUDE_CONFIG_DIR", "BRIDGE_HOME", "BRIDGE_STATE_DIR"):
        environment.pop(name, None)
    return subprocess.run(
        [HOSTBRIDGE, *arguments],
        cwd=folder / "project",
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


def tell_answer(asked: subprocess.CompletedProcess[str]) -> None:
    """The answer as the caller reads it."""
    print(f"\nThe answer, as the program that asked reads it:\n\n{ANSWER}", end="")
    print(f"{asked.stdout}\nexit code {asked.returncode}.")


def make_project(project: Path) -> None:
    """Two modules, one of them tested."""
    files = {
        "src/orders.py": "def total(prices):\n    return sum(prices)\n",
        "src/billing.py": "",
        "tests/test_orders.py": TEST,
    }
    for file, words in files.items():
        path = project / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    (project / ".git").mkdir(exist_ok=True)


def quoted(word: str) -> str:
    """A word as one would type it in a shell."""
    return f'"{word}"' if " " in word else word


class Narrator:
    """Prints each record of an exchange as soon as its file appears in a folder."""

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
        """Print the parts of a record that no earlier record of the request had."""
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


EXCHANGES = {"session": from_a_session, "model": standalone}

if __name__ == "__main__":
    sys.exit(main())
