"""What is looked at: two sides to compare, and the paths that count. Pure.

The words are those of `git diff`:

    (none)       what is not committed: staged, unstaged and new files, against HEAD
    REV          the same against REV: what has changed since, committed or not
    A..B         from the commit A to the commit B; the one left out is HEAD
    A...B        from where B left A: what B adds
    PATH…        only these files and folders

`staged` looks at the index in place of the files. The first word may be a revision or a
path. The repository decides: as in git, it must not be both, and with `--` there is
no doubt.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bridge.errors import InvalidRequest
from bridge.protocol.wording import one_line, quoted

Kind = Literal["uncommitted", "staged", "commits", "files"]

MAX_PATHS = 1000
# What stands before and after the dots; a path may look so, too.
RANGE = re.compile(r"(.*?)(\.\.\.?)(.*)", re.S)
# No revision begins so.
_PATH_ONLY = re.compile(r"\.{0,2}(/.*)?", re.S)
_WHAT = {
    "uncommitted": "what is not committed",
    "staged": "what is staged",
    "files": "whole files",
}
_MAX_SHOWN = 200
# The id of a commit, and as much of it as a person is shown.
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORT = 12


@dataclass(frozen=True, slots=True)
class Scope:
    """Two sides to compare, and what of them counts.

    Attributes:
        kind: what the new side is: the files of the project, what is staged, or the
            commit `tip`. Of `files` there is no old side: they are looked at whole.
        base: the revision on the old side.
        tip: the revision on the new side, of the kind `commits`.
        from_fork: the old side is the commit at which `tip` left `base`.
        paths: files and folders, relative to the project; none: all of it.
        undecided: a word that may be a revision, or else the first of `paths`. None
            once the change was read.
        index: the file that `git commit` has put in place of the index, as an absolute
            path; None for the index itself.
        git_dir: the git folder that the caller has named (`GIT_DIR`), as an absolute
            path; None for the project's own.
    """

    kind: Kind = "uncommitted"
    base: str = "HEAD"
    tip: str | None = None
    from_fork: bool = False
    paths: tuple[str, ...] = ()
    undecided: str | None = None
    index: str | None = None
    git_dir: str | None = None

    def __str__(self) -> str:
        """In words, on one line: `what is staged, in src`."""
        if self.kind == "commits":
            dots = "..." if self.from_fork else ".."
            what = f"{self.base}{dots}{self.tip}"
        else:
            base = self.base[:_SHORT] if _COMMIT.fullmatch(self.base) else self.base
            since = "" if base == "HEAD" else f" since {base}"
            what = f"{_WHAT[self.kind]}{since}"
        where = ", ".join(path or "." for path in self.paths)
        return one_line(f"{what}, in {where}" if where else what, _MAX_SHOWN)

    def with_revision(self, word: str) -> "Scope":
        """The scope with the revision, or the range of two, that a word names.

        Raises:
            InvalidRequest: a range is never staged; or one was named before.
        """
        if self.kind == "commits" or self.base != "HEAD":
            raise InvalidRequest(
                f"{quoted(word)}: there is a revision before it already",
                ways=("name two revisions as A..B", "name paths after --"),
            )
        range_of = RANGE.fullmatch(word)
        if range_of is None:
            return replace(self, base=word)
        if self.kind == "staged":
            raise InvalidRequest(
                f"{quoted(word)}: nothing is staged from one commit to another",
                ways=("leave out --staged", "name one revision"),
            )
        base, dots, tip = range_of.groups()
        return replace(
            self,
            kind="commits",
            base=base or "HEAD",
            tip=tip or "HEAD",
            from_fork=dots == "...",
        )

    def covers(self, path: bytes) -> bool:
        """Whether a file counts: it is one of the paths, or in one of the folders."""
        return not self.paths or any(
            not each or path == each or path.startswith(each + b"/")
            for each in self._encoded()
        )

    def reaches(self, folder: bytes) -> bool:
        """Whether a file in a folder may count."""
        return self.covers(folder) or any(
            each.startswith(folder + b"/") for each in self._encoded()
        )

    def _encoded(self) -> list[bytes]:
        return [path.encode("utf-8", "surrogateescape") for path in self.paths]

    def as_revision(self) -> "Scope":
        """The scope if its undecided word is a revision.

        Raises:
            InvalidRequest: as `with_revision`.
        """
        assert self.undecided is not None  # noqa: S101
        rest = replace(self, paths=self.paths[1:], undecided=None)
        return rest.with_revision(self.undecided)


def parse_scope(
    words: Sequence[str], *, staged: bool = False, project: str = "/", folder: str = ""
) -> Scope:
    """The scope that the words of a command name.

    `project` and `folder` are real paths: the words are relative to `folder`, by
    default the project.

    Raises:
        InvalidRequest: a word that can be neither; a path that leads out of the
            project; two revisions that are no range.
    """
    words = list(words)
    cut = words.index("--") if "--" in words else 0
    named = words[cut + 1 :] if "--" in words else words
    if len(named) > MAX_PATHS:
        raise InvalidRequest(
            f"{len(named):,} paths; {MAX_PATHS:,} is the limit",
            ways=("name their folders",),
        )
    scope = Scope("staged" if staged else "uncommitted")
    for word in words[:cut]:
        _check_word(word)
        scope = scope.with_revision(word)
    paths = tuple(_path(word, project, folder or project) for word in named)
    is_decided = "--" in words or not named or _PATH_ONLY.fullmatch(named[0])
    undecided = None if is_decided else named[0]
    return replace(scope, paths=paths, undecided=undecided)


def scope_of(data: dict[str, Any]) -> Scope:
    """A scope that was written as JSON."""
    return Scope(**{**data, "paths": tuple(data["paths"])})


def _check_word(word: str) -> None:
    if not word or "\0" in word:
        raise InvalidRequest(f"{quoted(word)} is neither a revision nor a path")


def _path(word: str, project: str, folder: str) -> str:
    """A path below the project; empty for the project itself."""
    _check_word(word)
    full = posixpath.normpath(posixpath.join(folder, word))
    below = posixpath.relpath(full, project)
    if below == ".." or below.startswith("../"):
        raise InvalidRequest(
            f"{quoted(word)} is not in the project {project}",
            ways=("name files and folders of the project",),
        )
    return "" if below == "." else below
