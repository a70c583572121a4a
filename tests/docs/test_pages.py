"""README and the pages under docs/: what they show is what happens."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import forkserver
import needs
import pytest
from docs.pages import Reader, blocks, commands, without_comment
from endpoint.scripted_server import ScriptedServer, Talk, say
from installed import copy_of_repository
from samples import lend_tables
from taskstage import through
from test_coordinator_in_the_client import DONE, steps_for, task_in

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import launching, obedient_model
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [
    page
    for folder in ("docs", "state")
    for page in sorted((ROOT / folder).glob("*.md"))
    # That one takes a server and two machines: tests/remote/test_page.py.
    if "```" in page.read_text() and page.stem != "many-machines"
]
# Pages with commands that need no session.
ASK_NOBODY = ("flows", "pipelines", "rules", "settings", "tasks")
# What takes minutes is done once, for README.
LEFT_TO_README = {
    "hostbridge run coordinator --param task=1",
    'hostbridge ask --route local "Name a bug"',
}
FIRST_ANSWER = "Install, and a first answer"
SERVER = "http://127.0.0.1:8080/v1"
_WORKTREE = re.compile(r"Work in the folder (\S+), a worktree")

# What an agent answers, by a part of what it was told; the first that fits.
_APPROVED = {
    "verdict": "APPROVED", "summary": "as it should be", "issues": [],
    "checks": [{"name": "all of it", "passed": True}],
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "You decide whether the work": {
        "approved": True, "feedback": [], "summary": "read", "evidence": [],
    },
    "You decide whether a task": {"passed": True, "feedback": []},
    "You implement one task": {
        "status": "success", "summary": "prices are in euros", "files": [],
        "evidence": [],
    },
    "Write one review": {"status": "success", "summary": "ready"},
    "Judge this as 2 validators": {
        "validator-logic": _APPROVED, "validator-security": _APPROVED,
    },
    '"verdict"': _APPROVED,
    '"modules"': {"modules": ["billing"]},
    '"pages"': {"pages": []},
    '"notes"': {"flow": 'Explore:"Find dead code"', "notes": "It changes nothing."},
    '"approved"': {"approved": True, "remarks": []},
    '"ok"': {"ok": True},
    "": {"status": "success", "summary": "billing has no test", "evidence": []},
}  # fmt: skip


def answer_to(told: str) -> Any:
    return next(value for part, value in ANSWERS.items() if part in told)


def must_run(prompt: str) -> bool:
    """Whether it has to run the tests; of the validators one may name commands."""
    is_validator = '"verdict"' in prompt
    return ('"evidence"' if is_validator else "Run the tests") in prompt


class Agents:
    """What the agents of the session do; those of tasks go through their workflow."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._led: dict[str | None, Callable[[ApiRequest], Answer]] = {}

    def __call__(self, prompt: str, request: ApiRequest) -> Answer:
        if "You work on task" in prompt:
            task = task_in(prompt)
            led = through(steps_for(task), DONE, task=task)
            return self._led.setdefault(request.agent_id, led)(request)
        if "You implement one task" in prompt and (tree := _WORKTREE.search(prompt)):
            if not request.tool_results:
                path = f"{tree[1]}/export{Path(tree[1]).name}.py"
                file = {"file_path": path, "content": "CSV = 1\n"}
                return reply(tool_use("Write", file))
            return reply(json.dumps(answer_to(prompt)))
        if "You decide whether" in prompt:
            return reply(json.dumps(answer_to(prompt)))
        if prompt.startswith("Which modules") and not request.own_calls:
            # Whoever looks by a command looks at everything.
            return reply(tool_use("Bash", {"command": "ls src", "description": "Look"}))
        return agent(self._project, prompt, request)


def agent(project: Path, prompt: str, request: ApiRequest) -> Answer:
    answer = answer_to(prompt)
    if "You implement one task" in prompt:
        with (project / "src" / "billing.py").open("a") as file:
            file.write("euros = True\n")
        return reply(json.dumps(answer))
    if not must_run(prompt):
        return reply(json.dumps(answer))
    parses = "Check the syntax" in prompt
    command = "python3 -I -m py_compile src/billing.py" if parses else "pytest -q"
    if not request.own_calls:
        return reply(tool_use("Bash", {"command": command, "description": "Run"}))
    ran = {"type": "tests", "content": "1 passed", "command": command}
    return reply(json.dumps(answer | {"evidence": [ran | {"passed": True}]}))


def main_thread(request: ApiRequest) -> Answer:
    """The session's own model; and that of `claude -p`, which has one tool more."""
    form = [
        tool["input_schema"]
        for tool in request.body["tools"]
        if tool["name"] == "StructuredOutput"
    ]
    if not form:
        return launching()(request)
    if request.own_calls:
        return reply("done")
    return reply(tool_use("StructuredOutput", answer_to(json.dumps(form))))


def chat(talk: Talk, asked: dict[str, Any]) -> None:
    """The model behind the OpenAI-compatible server: it ends the work at once."""
    answer = answer_to(json.dumps(asked["response_format"]))
    call = {"tool": "submit_result", "arguments": answer}
    say(json.dumps(call))(talk, asked)


def executable(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


@contextmanager
def reader(
    folder: Path,
    *,
    has_hostbridge: bool = True,
    has_project: bool = True,
    has_pip: bool = False,
) -> Iterator[Reader]:
    """Somebody with a folder, a checkout in ~/src, and an account (of the stage)."""
    for program in ("tmux", "git", "make"):
        needs.tool(program)
    there = folder / "stage" / "project"
    with (
        ScriptedApi(obedient_model(Agents(there), main=main_thread)) as api,
        ScriptedServer() as server,
    ):
        server.acts.append(chat)
        server.served = ["qwen3"]
        programs = folder / "bin"
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        stage = Stage(folder / "stage", api, program=needs.client(), extra_env=path)
        if has_project:
            make_project(stage.project)
        copy_of_repository(stage.home / "src" / "hostbridge")
        (stage.home / "your").mkdir()
        (stage.home / "your" / "project").symlink_to(stage.project)
        env = stage.environment()
        proxies = [f"export {name}='{env.pop(name)}'" for name in PROXIES]
        # What the client sends stays on this machine; what pip fetches does not.
        executable(programs / "claude", *proxies, f"exec '{stage.program}' \"$@\"")
        env |= {key: value for key, value in os.environ.items() if is_of_pip(key)}
        if has_hostbridge:
            executable(programs / "hostbridge", forkserver.console_script())
            executable(programs / "python", f"exec '{sys.executable}' \"$@\"")
            executable(programs / "pytest", "echo 1 passed")
            # What this page installs is here already.
            executable(programs / "pip", PIP if has_pip else LOOKS)
        env |= {
            "PWD": str(stage.project),
            "SERVER": server.url,
            "BRIDGE_TEST_CLAUDE": str(stage.program),
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@x.org" for who in ("AUTHOR", "COMMITTER")},
        }
        with Reader(stage, env, {SERVER: server.url}) as made:
            yield made


PROXIES = ("HTTP_PROXY", "HTTPS_PROXY")
PIP = f"exec '{sys.executable}' -m pip \"$@\" --dry-run"
# README runs pip; elsewhere it is enough that the checkout has the extra.
LOOKS = r"""
set -e
[ "$1" = install ]
folder=${2%%\[*} extra=${2#"$folder"}
extra=${extra#[} extra=${extra%]}
grep -q "^${extra:-name} = " "$folder/pyproject.toml"
"""


def is_of_pip(name: str) -> bool:
    return name.startswith("PIP_") or name.lower().endswith("_proxy")


def give_model(home: Path) -> None:
    """The model file of the tests, as a reader's own."""
    models = home / ".hostbridge" / "models"
    models.mkdir(parents=True, mode=0o700)
    (models / "small.gguf").symlink_to(needs.local_model())


def make_project(project: Path) -> None:
    files = {
        "src/app.py": "class Class:\n    def method(self):\n        return 1\n",
        "src/billing.py": "",
        "docs/index.md": "# Orders\n",
    }
    for file, words in files.items():
        path = project / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    subprocess.run(["git", "init", "-q", project], check=True)


def follow(who: Reader, page: Path, *sections: str | None) -> None:
    text = page.read_text()
    for section in sections or (None,):
        for block in blocks(text, section):
            try:
                who.follow(block)
            except Exception as exc:
                exc.add_note(f"{page.name}:{block.line}")
                raise


def test_readme(tmp_path):
    """From an empty folder; all but the install, for which see below."""
    needs.local_model()
    titles = ["", *(w[3:] for w in README.read_text().splitlines() if w[:3] == "## ")]
    titles.remove(FIRST_ANSWER)

    with reader(tmp_path, has_project=False, has_pip=True) as who:
        try:
            follow(who, README, *titles)
        finally:
            print("\n".join(who.transcript))  # noqa: T201 - for whoever wants to read it


def test_a_first_answer_with_nothing_but_readme(tmp_path):
    """A fresh home, a new environment, a session at a terminal, a typed answer.

    `pytest -rP` prints the transcript, with seconds.
    """
    with reader(tmp_path, has_hostbridge=False) as who:
        try:
            follow(who, README, FIRST_ANSWER)
        finally:
            print("\n".join(who.transcript))  # noqa: T201 - for whoever wants to read it


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_block_does_what_it_says(tmp_path, page):
    with reader(tmp_path) as who:
        give_model(who.stage.home)
        if page.stem == "testing":
            lend_tables(who.stage.project)
        who.type("hostbridge install")
        if page.stem not in ASK_NOBODY:
            who.type("claude")
        who.left_out = LEFT_TO_README
        follow(who, page)


def test_readme_does_what_is_left_to_it():
    typed = {
        without_comment(command)
        for block in blocks(README.read_text())
        for command, _ in commands(block)
    }

    assert typed >= LEFT_TO_README
