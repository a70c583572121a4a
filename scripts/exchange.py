"""Show two whole exchanges, or one of them, for `scripts/demo`.

A program runs `hostbridge ask`. First the real Claude Code client, open in a small
project, answers through one of its agents, shown file by file. The model behind the
client is scripted: it does what a notice of hostbridge says, and its agent runs one
command and answers in JSON. Then, without a session, a real model on this machine
reads a bug report, and its answer is checked.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, text, tool_use
from bridge.testing.stage.stream import StreamSession

PROMPT = "Which modules under src/ have no test under tests/?"
SCHEMA = {
    "type": "object",
    "required": ["modules"],
    "properties": {"modules": {"type": "array", "items": {"type": "string"}}},
    "additionalProperties": False,
}
# Examples teach a small model what matters; the schema holds it to the form.
DEFINITION = """\
name: bug-report
description: Reads a bug report, and fills in what a maintainer asks first.
output_schema:
  type: object
  properties:
    command: {type: string, maxLength: 40}
    version: {type: string, pattern: "^[0-9]+[.][0-9]+[.][0-9]+$", maxLength: 12}
    exit_code: {type: integer}
  required: [command, version, exit_code]
  additionalProperties: false
examples:
  - prompt: >-
      Sorting does not work for me. I run `photo sort --by date` with version 4.1.0 on
      macOS 15, it ends with exit code 3.
    answer: {command: photo sort --by date, version: 4.1.0, exit_code: 3}
  - prompt: >-
      Hello! On Debian 12 I ran `mail fetch` and it returned 17. I have 0.9.12, from
      pip.
    answer: {command: mail fetch, version: 0.9.12, exit_code: 17}
  - prompt: >-
      My release is 6.3.8, on Windows 10. Backups fail: `backup start now` quits with
      64.
    answer: {command: backup start now, version: 6.3.8, exit_code: 64}
"""
REPORT = (
    "Since this morning `shop export` writes an empty file. I am on 2.14.3, Debian 12; "
    "it ends with exit code 70, but only for orders from May."
)
EXPECTED = {"command": "shop export", "version": "2.14.3", "exit_code": 70}
# What a caller looks at first.
TOLD = ("success", "route", "model", "degraded", "parsedOutput")
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
    # Whatever stdout is, what programs print comes in its order.
    sys.stdout.reconfigure(line_buffering=True)
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
        _, code = tell_answer(asked)
        print("The session's model made these calls for it:\n")
        for call in stage.api.turns("main")[-1].own_calls:
            print(f"    {call['name']}({json.dumps(call['input'])})")
    return code


def standalone(folder: Path) -> int:
    """A model on this machine reads a bug report; returns the exit code."""
    make_project(folder / "project")
    print("2. No session is open. A small model on this machine answers.")
    definition = folder / "home" / ".hostbridge" / "agents" / "bug-report.yaml"
    definition.parent.mkdir(parents=True, exist_ok=True)
    definition.write_text(DEFINITION)
    print(f"\n~/.hostbridge/agents/{definition.name}")
    print(textwrap.indent(DEFINITION, "    "), end="")
    options = ("--route", "local", "--accept-degraded", "--json")
    answer, code = tell_answer(
        hostbridge(folder, "ask", "bug-report", REPORT, *options)
    )
    if answer.get("parsedOutput") != EXPECTED:
        print(f"That is wrong. Right is {json.dumps(EXPECTED)}.")
        return code or 1
    print("That is right. It is `degraded` because the model is small: on harder")
    print("questions it errs. `hostbridge models pull` lists better ones.")
    print(f"\nNext: `{HOSTBRIDGE} install` in a project of yours, and `claude`.")
    return code


def hostbridge(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Show a command, and run it in the project; its output is one text, in order."""
    print(f"\n$ hostbridge {shlex.join(arguments)}")
    environment = {**os.environ, "HOME": str(folder / "home")}
    for name in ("CLAUDE_CONFIG_DIR", "BRIDGE_HOME", "BRIDGE_STATE_DIR"):
        environment.pop(name, None)
    return subprocess.run(
        [HOSTBRIDGE, *arguments],
        cwd=folder / "project",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def tell_answer(
    asked: subprocess.CompletedProcess[str],
) -> tuple[dict[str, Any], int]:
    """Print the answer as the caller reads it; returns it, and the exit code."""
    answer: dict[str, Any] = {}
    for line in asked.stdout.splitlines():
        if line.startswith("{"):
            answer = json.loads(line)
        else:
            print(line)
    told = {key: answer[key] for key in TOLD if answer.get(key)}
    print("\nThe answer, as the program that asked reads it (its main fields):\n")
    print(f"{ANSWER}{json.dumps(told)}\n\nexit code {asked.returncode}.")
    return answer, asked.returncode


def make_project(project: Path) -> None:
    """Two modules, one of them tested."""
    files = ("src/orders.py", "src/billing.py", "tests/test_orders.py")
    for file in files:
        path = project / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (project / ".git").mkdir(exist_ok=True)


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
            if value not in (None, [], {}, "") and before.get(key) != value:
                line = f"    {key}: {json.dumps(value)}"
                print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
        sys.stdout.flush()


EXCHANGES = {"session": from_a_session, "model": standalone}

if __name__ == "__main__":
    sys.exit(main())
