"""A terminal for `hostbridge trust`, and an agent to trust."""

import os
import select
import termios
import time
from codecs import getincrementaldecoder

from aheadclock import module_ahead
from forkserver import Forked

from bridge.agents.registry import Registry
from bridge.errors import NotTrusted

GOOD = """\
name: worker
description: Works
prompt: 'As told: {{ task }}'
tools: [Read, Bash]
allow: ['Bash(pytest *)']
"""
ASKED = "Your answer (yes, `yes, but …`, or no): "


class Terminal:
    """The command with a controlling terminal of its own."""

    def __init__(self, project, *words, early=b"", ahead=None, size=None, **env):
        self.fd, theirs = os.openpty()
        if size:
            termios.tcsetwinsize(theirs, size)
        argv = module_ahead("bridge", ahead)[1:] if ahead else ["-m", "bridge"]
        self._process = Forked(
            [*argv, *words],
            terminal=True,
            cwd=project.folder,
            # Nothing is folded, nothing is coloured.
            env={**project.env, "COLUMNS": "9999", "NO_COLOR": "1", **env},
            **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
        )
        os.close(theirs)
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
            while True:
                assert select.select([self.fd], [], [], 180)[0], self.seen
                self._see(os.read(self.fd, 4096))
        except OSError:
            self.seen += self._late
        os.close(self.fd)
        return self._process.wait()


def is_trusted(project):
    settings = project.bridge.settings
    try:
        found = Registry.open(settings, project.bridge.store.place.project)
        return found.find("worker") is not None
    except NotTrusted:
        return False


def reply(project, *words, end=0):
    """What `hostbridge reply` shows a person."""
    terminal = Terminal(project, "reply", *words)
    assert terminal.end() == end, terminal.seen
    return terminal.seen


def agree(project):
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")
    terminal.type("yes\n")
    assert terminal.end() == 0, terminal.seen
    return terminal
