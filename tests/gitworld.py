"""Git itself, in the tests alone, and a repository that it makes."""

import os
import subprocess
from pathlib import Path

import needs

# Who commits, and nothing of the user's own configuration.
ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@x.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@x.org",
    "LC_ALL": "C",
}


def git(folder: Path, *words: str, ok: bool = True) -> str:
    """Run git in a folder; what it says. It must succeed, if it is to be `ok`."""
    done = subprocess.run(
        [needs.tool("git"), *words],
        cwd=folder,
        env=os.environ | ENV,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert not ok or done.returncode == 0, done.stderr
    return done.stdout


class Repository:
    """A repository with one commit on `main`: `a`, `folder/b`, and a link to `a`."""

    def __init__(self, folder: Path, *, is_empty: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@x.org")
        if not is_empty:
            self.write("a", "one\ntwo\nthree\n")
            self.write("folder/b", "b\n")
            (folder / "link").symlink_to("a")
            self.write(".gitignore", "*.log\n")
            self.commit("first")

    def git(self, *words: str, cwd: Path | None = None, ok: bool = True) -> str:
        """Run git in it, or in another folder."""
        return git(cwd or self.folder, *words, ok=ok)

    def write(self, name: str, text: str, *, cwd: Path | None = None) -> None:
        """Write a file below the work tree."""
        file = (cwd or self.folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, message: str, *, cwd: Path | None = None) -> str:
        """Commit everything; the id."""
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-qm", message, cwd=cwd)
        return self.tip("HEAD", cwd=cwd)

    def add_submodule(self, folder: Path, *, cwd: Path | None = None) -> str:
        """Commit another repository, made in a folder, as `sub`; the id."""
        other = Repository(folder)
        words = ("submodule", "add", "-q", str(other.folder), "sub")
        self.git("-c", "protocol.file.allow=always", *words, cwd=cwd)
        return self.commit("sub", cwd=cwd)

    def tip(self, name: str, *, cwd: Path | None = None) -> str:
        """The commit that a name stands for; empty if there is none."""
        words = ("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        return self.git(*words, cwd=cwd, ok=False).strip()

    def status(self, *, cwd: Path | None = None) -> list[str]:
        """What git finds changed."""
        return self.git("status", "--porcelain", cwd=cwd).splitlines()

    def files(self, name: str = "HEAD") -> list[str]:
        """The files of a commit."""
        return self.git("ls-tree", "-r", "--name-only", name).splitlines()
