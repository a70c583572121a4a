"""The Tab key, in real shells on a terminal."""

import os
import pty
import re
import select
import shlex
import time
from contextlib import contextmanager

import forkserver
import needs
import pytest

pytestmark = pytest.mark.slow

SHELLS = {
    "bash": ("--norc", "--noprofile", "-i"),
    "zsh": ("-f", "-i"),
    "fish": ("--no-config", "-i"),
}
LOAD = {
    "bash": 'eval "$(hostbridge completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -u; eval "$(hostbridge completion zsh)"',
    "fish": "hostbridge completion fish | source",
}
# What is typed, and how the line goes on after the Tab key.
TYPED = {
    "hostbridge canc": "hostbridge cancel",
    "hostbridge ask --fallback-a": "--fallback-after",
    "hostbridge ask general-p": "general-purpose",
    "hostbridge wait waits-f": "waits-for-tab",
    "hostbridge ask --route endp": "endpoint",
    "hostbridge ask --schema sch": "schema.json",
    "hostbridge schema agent-o": "agent-output",
    "hostbridge models pull smoll": "smollm2-1.7b",
    "hostbridge completion fi": "completion fish",
}
_ESCAPES = re.compile(r"\x1b(\[[0-9;?>=]*[A-Za-z]|[()][A-Z0-9]|\][^\a]*\a|[=>])")


class Terminal:
    """A shell on a terminal."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.shown = ""

    def type(self, words: str) -> None:
        os.write(self.fd, words.encode())

    def until(self, words: str, seconds: float = 180) -> None:
        """Read until `words` are on the terminal."""
        deadline = time.monotonic() + seconds
        while words not in _ESCAPES.sub("", self.shown):
            left = deadline - time.monotonic()
            assert left > 0, f"no {words!r} in {self.shown!r}"
            if select.select([self.fd], [], [], left)[0]:
                self.shown += os.read(self.fd, 10_000).decode(errors="replace")


@contextmanager
def terminal(project, shell: str):
    programs = project.folder.with_name("bin")
    programs.mkdir()
    program = programs / "hostbridge"
    command = shlex.join(forkserver.command())
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    path = f"{programs}:{project.env['PATH']}"
    env = project.env | {"PATH": path, "TERM": "dumb", "PS1": "$ "}
    found = needs.tool(shell)
    pid, fd = pty.fork()
    if not pid:
        os.chdir(project.folder)
        os.execve(found, [shell, *SHELLS[shell]], env)  # noqa: S606 - a shell
    try:
        yield Terminal(fd)
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes(project, shell):
    """Commands, options, agents, ids, routes, files; fish says what it offers."""
    project.submit(request_id="waits-for-tab")
    (project.folder / "schema.json").write_text("{}")
    with terminal(project, shell) as shown:
        shown.type(f"{LOAD[shell]}; echo rea''dy\n")
        shown.until("ready")
        for typed, completed in TYPED.items():
            shown.shown = ""
            if shell == "fish":
                offers = f"complete -C '{typed}' | string replace -r '^' 'OF''FERED '"
                shown.type(f"{offers}\n")
                shown.until(f"OFFERED {completed.rpartition(' ')[2]}")
            else:
                shown.type(f"{typed}\t")
                shown.until(completed)
                shown.type("\x15")


def test_names_and_ids_for_the_scripts(project):
    """Ids are the newest first; what a model may be called is a file's name, too."""
    project.write("models/small.gguf", "", own=True)
    ids = [project.submit() for _ in range(2)]

    agents = project.run("completion", "agents").out.splitlines()
    project.run("completion", "ids").prints(0, "".join(f"{i}\n" for i in ids[::-1]))
    project.run("completion", "models").prints(
        0, "fable\nhaiku\ninherit\nopus\nsonnet\nsmall.gguf\n"
    )
    assert {"general-purpose", "Explore", "validator-logic"} <= {*agents}
    settings = project.run("completion", "settings").out.splitlines()
    assert {"slots", "agents_per_hour"} <= {*settings}
    assert "home" not in settings


def test_the_tab_key_runs_nothing_of_a_clone(project):
    """The shells evaluate what they are given: such a name is typed by hand."""
    folder = project.folder / ".claude" / "agents"
    folder.mkdir(parents=True)
    for number, name in enumerate(["a$(sh x.sh)", "b;id", "c d", "é-plain"]):
        text = f"---\nname: {name}\ndescription: d\n---\nHelp.\n"
        (folder / f"{number}.md").write_text(text)

    offered = project.run("completion", "agents").out.splitlines()

    assert "é-plain" in offered
    assert not [name for name in offered if set(name) & set("$(); ")]
