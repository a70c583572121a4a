"""The read set of an answer, as a value: what it rests on. Pure.

reads/<name>.json    of the newest answer to a question in a project (`kept_reads`)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bridge.freshness.disk import Disk, Seen
    from bridge.freshness.looks import Kind

VERSION = 1
_KEYS = "schemaVersion requestId question project answer at doubt detail model"
KEYS = frozenset((*_KEYS.split(), "files", "trees"))


class Entry(NamedTuple):
    """A path as it was: its kind, the SHA-256 of its bytes, and the facts by then."""

    kind: str
    digest: str
    facts: str


class Tree(NamedTuple):
    """What lies below a folder: the names, and of all but Glob's the bytes.

    `root` is absolute; entries are by their path from there, None for a name alone.
    """

    kind: Kind
    root: str
    patterns: tuple[str, ...] = ()
    entries: Mapping[str, Entry | None] = MappingProxyType({})


class Reads(NamedTuple):
    """What one answer rests on.

    Attributes:
        request_id: the request that was answered.
        question: what it asked, on which route (`question.digest_of`).
        project: where, absolute: each linked worktree is one of its own.
        answer: the SHA-256 of the agent's words.
        at_ms: when the set was complete, in milliseconds since 1970.
        doubt: why it is unknown whether the answer still holds; empty if it is known.
        detail: what that is about: a tool, a file.
        model: which model answered, where the question names none, by a key that
            another has not; empty if that is unknown.
        files: by absolute path.
        trees: folders that were searched.
    """

    request_id: str
    question: str
    project: str
    answer: str
    at_ms: int
    doubt: str = ""
    detail: str = ""
    model: str = ""
    files: Mapping[str, Entry] = MappingProxyType({})
    trees: tuple[Tree, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As JSON."""
        trees = [
            {
                "kind": tree.kind,
                "root": tree.root,
                "patterns": list(tree.patterns),
                "entries": {n: e and list(e) for n, e in tree.entries.items()},
            }
            for tree in self.trees
        ]
        return {
            "schemaVersion": VERSION,
            "requestId": self.request_id,
            "question": self.question,
            "project": self.project,
            "answer": self.answer,
            "at": self.at_ms,
            "doubt": self.doubt,
            "detail": self.detail,
            "model": self.model,
            "files": {path: list(each) for path, each in self.files.items()},
            "trees": trees,
        }


def reads_of(data: Mapping[str, Any]) -> Reads:
    """A read set from the JSON that `Reads.to_data` made."""
    return Reads(
        request_id=data["requestId"],
        question=data["question"],
        # An earlier hostbridge did not write it, nor the model.
        project=data.get("project", ""),
        answer=data["answer"],
        at_ms=data["at"],
        doubt=data["doubt"],
        detail=data["detail"],
        model=data.get("model", ""),
        files={path: Entry(*each) for path, each in data["files"].items()},
        trees=tuple(
            Tree(
                each["kind"],
                each["root"],
                tuple(each["patterns"]),
                {name: e and Entry(*e) for name, e in each["entries"].items()},
            )
            for each in data["trees"]
        ),
    )


class Difference(NamedTuple):
    """How something is not as it was: `changed`, `added`, `removed`, `unknown`."""

    what: str
    path: str


def differences(reads: Reads, files: Disk) -> Iterator[Difference]:
    """How the files differ from what an answer rests on, one by one.

    Raises what `files` raises where it cannot tell.
    """
    for path, entry in reads.files.items():
        if what := _difference(entry, files.see(path), path, files):
            yield Difference(what, path)
    for tree in reads.trees:
        is_all = tree.kind == "everything"
        now = files.walk(tree.root, tree.patterns, is_all=is_all).found
        yield from _names_that_differ(tree, now.keys())
        for name, each in tree.entries.items():
            if each is None or name not in now:
                continue
            path = path_in(tree.root, name)
            if what := _difference(each, now[name], path, files):
                yield Difference(what, path)


def _names_that_differ(tree: Tree, now: Collection[str]) -> Iterator[Difference]:
    """What came or went; what became a program, or is no longer one, has changed."""
    gone = {path_in(tree.root, name) for name in tree.entries.keys() - now}
    new = {path_in(tree.root, name) for name in set(now) - tree.entries.keys()}
    for path in sorted(gone | new):
        both = path in gone and path in new
        what = "changed" if both else "removed" if path in gone else "added"
        yield Difference(what, path)


def _difference(entry: Entry, now: Seen, path: str, files: Disk) -> str:
    if entry.kind != now.kind:
        found = {entry.kind: "added", now.kind: "removed"}
        return found.get("absent", "changed")
    if entry.facts == now.facts or entry.kind not in ("file", "link"):
        return ""
    if _size(entry.facts) != _size(now.facts):
        # However large it is by now, it need not be read.
        return "changed"
    return "" if files.digest(path, now.kind) == entry.digest else "changed"


def _size(facts: str) -> str:
    """The size in what `disk.facts_of` says."""
    return facts.split()[1]


def path_in(root: str, name: str) -> str:
    """The path of an entry of a tree; a tree of one file has one without a name."""
    return f"{root.rstrip('/')}/{name.rstrip('/')}" if name else root
