"""A change as it was read: a diff for a prompt, and facts about each file. Pure."""

from dataclasses import dataclass, field
from typing import Any

from bridge.change.diffs import quoted_path
from bridge.change.scope import Scope, scope_of
from bridge.protocol.digest import sha256_of
from bridge.protocol.wording import one_line

_SHORT = 12
_MAX_TITLE = 600
# What an agent has to know of the files that it can read.
_ELSEWHERE = (
    "The files of the project are in another state: what you read there may not be "
    "part of it. What is below counts, and you cannot approve what it does not show."
)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    r"""A file that a change touches.

    Attributes:
        path: relative to the project; a byte that is not UTF-8 as `\xe9`.
        raw: the bytes of a path that is not UTF-8, in hexadecimal; otherwise empty.
        added, removed: lines; None if they were not counted.
        is_new, is_deleted: whether it is only on the new side, or only on the old one.
        is_binary: whether it is not a text.
        is_shown: whether the diff has all of it.
        is_plain: whether its new side is a file that no shell would run, and no link.
        staged: the id of its text as it is staged, or `none`, if that is neither what
            is committed nor what is in the project; otherwise empty.
        is_told: whether a page of memory imports it, so that agents are given its text.
    """

    path: str
    added: int | None = None
    removed: int | None = None
    is_new: bool = False
    is_deleted: bool = False
    is_binary: bool = False
    is_shown: bool = True
    is_plain: bool = True
    raw: str = ""
    staged: str = ""
    is_told: bool = False

    @property
    def name(self) -> bytes:
        """The path as it is on disk: two may be shown alike."""
        return bytes.fromhex(self.raw) if self.raw else self.path.encode()

    @property
    def shown(self) -> str:
        """The path in one line of a text."""
        return quoted_path(self.path)


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two sides: what is not committed, say.

    Attributes:
        diff: a unified diff; empty if nothing changed, or nothing could be read.
        notes: what is not in it, and why, in sentences.
        files: the files that it touches, whether they are in the diff or not.
        more_files: how many there are beyond those.
        is_whole: whether the diff has everything; False if any of it was left out.
        scope: what was looked at; nothing in it is undecided any more.
        base, tip: the ids of the two commits; None for a side that is no commit.
        is_in_files: whether the files of the project are exactly those of its new
            side. Otherwise those who read or run them see something else.
        is_rest_in_files: whether all that was left out is named in `notes`, and is text
            that an agent can read in the project.
        beside: files that git does not know and that are in the project, in words, if
            the new side is a commit or the index: no part of the change, but commands
            run with them. Empty if there are none.
        aside: those of the notes that are about what `git add -A` does not take from
            the project as it lies there; they leave the change whole. Empty without.
    """

    diff: str
    notes: tuple[str, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    more_files: int = 0
    is_whole: bool = True
    scope: Scope = field(default_factory=Scope)
    base: str | None = None
    tip: str | None = None
    is_in_files: bool = True
    is_rest_in_files: bool = False
    beside: str = ""
    aside: str = ""

    def __str__(self) -> str:
        """For a prompt: the notes first, since a long diff would hide them."""
        return "\n".join([*self.notes, self.diff]) if self.notes else self.diff

    @property
    def is_empty(self) -> bool:
        """Whether it is known that nothing differs."""
        return self.is_whole and not self.files

    @property
    def title(self) -> str:
        """What it is, in one line for a prompt."""
        ids = [each[:_SHORT] for each in (self.base, self.tip) if each]
        commits = f" ({' to '.join(ids)})" if self.tip else ""
        what = f"The change in question: {self.scope}{commits}."
        more = "" if self.is_in_files else f" {_ELSEWHERE}"
        return one_line(what + more, _MAX_TITLE)

    @property
    def digest(self) -> str:
        """The SHA-256 of what an agent is shown of it, for a dedup key."""
        return sha256_of(f"{self.title}\n{self}".encode("utf-8", "backslashreplace"))

    def as_context(self) -> dict[str, str]:
        """What a request about it has in its `context`."""
        return {"change": str(self), "change_title": self.title}


def change_of(data: dict[str, Any]) -> Change:
    """The change that `asdict` made into data, after it was JSON."""
    files = tuple(ChangedFile(**each) for each in data["files"])
    notes, scope = tuple(data["notes"]), scope_of(data["scope"])
    return Change(**{**data, "notes": notes, "files": files, "scope": scope})
