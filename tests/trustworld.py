"""A terminal for `hostbridge trust`, and an agent to trust."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from codecs import getincrementaldecoder

from aheadclock import module_ahead

from bridge.agents.registry import Registry
from bridge.errors import NotTrusted

GOOD = """\
name: worker
description: Works
prompt: 'As told: {{ task }}'
tools: [Read, Bash]
allow: ['Bash(pytest *)']
"""
ASKED = "Your answer (yes, no, or what you want to say): "


class Terminal:
    """The command with a controlling terminal of its own."""

    def __init__(self, project, *words, early=b"", ahead=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(project.folder)
            python = [sys.executable, "-m", "bridge"]
            command = [*(module_ahead("bridge", ahead) if ahead else python), *words]
            # Nothing is folded, nothing is coloured.
            env = {**project.env, "COLUMNS": "9999", "NO_COLOR": "1"}
            os.execve(sys.executable, command, env)  # noqa: S606 - ours
        self.seen = self._late = ""
        self._decoder = getincrementaldecoder("utf-8")()
        if early:
            os.write(self.fd, early)

    def read_until(self, words, timeout_s=180):
        deadline = time.monotonic() + timeout_s
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.fd], [], [], 0.1)[0]:
                self._see(os.read(self.fd, 4096))

    def _see(self, data):
        """A part may end in the middle of a character, or of the end of a line."""
        text = self._late + self._decoder.decode(data)
        self._late = "\r" if text.endswith("\r") else ""
        self.seen += text.removesuffix("\r").replace("\r\n", "\n")

    def type(self, words):
        os.write(self.fd, words.encode())

    def end(self):
        """The exit code; what is left to read is read."""
        try:
            while part := os.read(self.fd, 4096):
                self._see(part)
        except OSError:
            self.seen += self._late
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def is_trusted(project):
    settings = project.bridge.settings
    try:
        found = Registry.open(settings, project.bridge.store.place.project)
        return found.find("worker") is not None
    except NotTrusted:
        return False


def agree(project):
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")
    terminal.type("yes\n")
    assert terminal.end() == 0, terminal.seen
    return terminal
