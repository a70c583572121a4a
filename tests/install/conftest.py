"""What the tests of install share: a home, a project, the command line."""

import os
from pathlib import Path

import pytest

from bridge.change.collect import read_files
from bridge.cli.main import run


class World:
    """One user with one project. `run` runs the command line there."""

    def __init__(self, root, patch, output):
        self.root, self.patch, self.output = root, patch, output
        self.home, self.project = root / "home", root / "pro ject"
        self.local = self.project / ".claude" / "settings.local.json"
        self.shared = self.project / ".claude" / "settings.json"
        self.user = self.home / ".claude" / "settings.json"
        self.carrier = self.home / ".claude" / "agents" / "hostbridge-reader.md"

    @property
    def wrote(self) -> str:
        """What an install says of our own agent."""
        return f"  wrote {self.carrier}: agents that only read and search run as it\n"

    def run(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
        """Exit code, stdout, stderr of `hostbridge ARGUMENTS`."""
        self.output.readouterr()
        with self.patch.context() as patch:
            patch.chdir(cwd or self.project)
            for name in os.environ:
                if name.startswith(("BRIDGE_", "CLAUDE")):
                    patch.delenv(name)
            patch.setenv("HOME", str(self.home))
            code = run(list(arguments))
        out, err = self.output.readouterr()
        return int(code), out, err

    def tree(self) -> dict[str, bytes]:
        """Every file but our own folder's, with its bytes."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".hostbridge" not in path.parts
        }


@pytest.fixture
def world(tmp_path, monkeypatch, capsys):
    assert read_files.__kwdefaults__ is not None
    monkeypatch.setitem(read_files.__kwdefaults__, "timeout_s", 300.0)
    made = World(tmp_path, monkeypatch, capsys)
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    return made
