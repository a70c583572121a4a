"""A repository in which all that can name a program names one, and what has run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworld import git

if TYPE_CHECKING:
    from pathlib import Path

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-checkout",
    "post-commit", "post-index-change", "post-merge", "post-rewrite", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "prepare-commit-msg", "reference-transaction",
    "sendemail-validate", "update",
)  # fmt: skip
SETTINGS = (
    "alias.status", "core.alternateRefsCommand", "core.askPass", "core.editor",
    "core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand",
    "credential.helper", "diff.external", "diff.x.command", "diff.x.textconv",
    "filter.x.clean", "filter.x.process", "filter.x.smudge", "gpg.program",
    "gpg.ssh.defaultKeyCommand", "gpg.ssh.program", "gpg.x509.program",
    "interactive.diffFilter", "merge.x.driver", "mergetool.x.cmd",
    "remote.origin.receivepack", "remote.origin.uploadpack", "sequence.editor",
    "submodule.sub.update", "trailer.x.cmd", "trailer.x.command",
    "uploadpack.packObjectsHook",
)  # fmt: skip


class Traps:
    """Each leaves a file named after it in the folder `ran`."""

    def __init__(self, root: Path) -> None:
        self.marks = root / "ran"
        self.marks.mkdir()

    def trap(self, name: str) -> str:
        """A shell command that leaves its mark."""
        return f"touch '{self.marks}/{name.replace('/', '_')}'"

    def program(self, file: Path, name: str) -> None:
        """Put a program there that leaves this mark."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{self.trap(name)}\n")
        file.chmod(0o755)

    def arm(self, repository: Path) -> None:
        """Have hooks and settings of the repository name a program each.

        What is an `x` by its attributes is diffed, filtered and merged by one.
        """
        for name in HOOKS:
            self.program(repository / ".git/hooks" / name, f"hook {name}")
        for name in SETTINGS:
            sign = "!" if name.startswith(("submodule", "credential", "alias")) else ""
            git(repository, "config", name, f"{sign}{self.trap(name)}; cat")

    def ran(self) -> list[str]:
        """The traps that went off."""
        return sorted(os.listdir(self.marks))
