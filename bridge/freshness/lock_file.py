"""`answers.lock`: what answers rest on, as text that a project keeps. Pure.

    hostbridge answers 1
    # What these answers rest on. Check it: hostbridge stale --lock answers.lock

    answer 3f0c…
      agent "general-purpose"
      asked "Which modules lack tests?"
      absent "CLAUDE.md"
      file 9a41… "src/billing.py"
      names 77d0… "src" "*.py"

An answer is named by the SHA-256 of its question. Below it, sorted, is what it rests
on: files by the SHA-256 of their bytes, links by that of where they lead, and the names
below a folder by that of their list, which a pattern may narrow. Names are JSON, so
that each has one line. The file may come from anybody: whatever does not read exactly
so is an error, with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from bridge.errors import InvalidRequest
from bridge.freshness.looks import MAX_PATTERNS, is_quick, stays_in
from bridge.protocol.digest import sha256_of
from bridge.protocol.wording import in_shell, one_line, quoted

HEAD = "hostbridge answers 1"
_NOTE = "# What these answers rest on. Check it: "
MAX_BYTES = 16 * 1024 * 1024
_MAX_LINES = 200_000
_MAX_TEXT = 4096
_MAX_ASKED = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ITEM = re.compile(r'  ([a-z]+)(?: ([0-9a-f]{64}))?((?: "(?:[^"\\]|\\.)*")+)')
_STRING = re.compile(r' ("(?:[^"\\]|\\.)*")')
# What stands in a line: whether there is a digest, and how many names at most.
_SHAPES = {
    "agent": (False, 1),
    "asked": (False, 1),
    "definition": (True, 1),
    "absent": (False, 1),
    "file": (True, 1),
    "link": (True, 1),
    "names": (True, 1 + MAX_PATTERNS),
    "tree": (True, 1),
}
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_ABOUT = ("agent", "asked", "definition")
_NOT_PLAIN = frozenset({"", ".", "..", ".git"})


class Item(NamedTuple):
    """One thing that an answer rests on: `path` is relative to the project."""

    kind: str
    path: str
    digest: str = ""
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockedAnswer:
    """One answer: the digest of its question, who was asked what, what it rests on.

    `definition` is the layer of the agent's definition and its digest.
    """

    question: str
    agent: str
    asked: str
    items: tuple[Item, ...]
    definition: tuple[str, str] | None = None


def digest_of_names(names: Iterable[str]) -> str:
    """The SHA-256 of a list of names, whatever its order."""
    return sha256_of("".join(f"{name}\0" for name in sorted(names)).encode())


def written(answers: Iterable[LockedAnswer], name: str) -> str:
    """The text of the file."""
    check = in_shell("hostbridge", "stale", "--lock", name)
    # On one line, whatever the name of the file has in it.
    lines = [HEAD, _NOTE + json.dumps(check)[1:-1]]
    for each in sorted(answers, key=lambda a: (a.agent, a.asked, a.question)):
        lines += ["", f"answer {each.question}"]
        lines += [
            _line("agent", each.agent),
            _line("asked", one_line(each.asked, _MAX_ASKED)),
        ]
        if each.definition is not None:
            layer, digest = each.definition
            lines.append(_line("definition", layer, digest=digest))
        for item in sorted(set(each.items)):
            lines.append(
                _line(item.kind, item.path, *item.patterns, digest=item.digest)
            )
    return "\n".join([*lines, ""])


def _line(word: str, *names: str, digest: str = "") -> str:
    quoted_names = [json.dumps(name, ensure_ascii=False) for name in names]
    return "  " + " ".join(filter(None, [word, digest, *quoted_names]))


def parsed(text: str, file: str) -> list[LockedAnswer]:
    """The answers in a file; `file` is its name, for errors.

    Raises:
        InvalidRequest: a line is not what it must be, or there is no answer; names the
            line.
    """
    return list(_Reader(file).answers(text))


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._at = 0
        self._known: set[str] = set()

    def answers(self, text: str) -> Iterator[LockedAnswer]:
        lines = text.split("\n")
        if len(lines) > _MAX_LINES:
            raise InvalidRequest(f"{self._file}: more than {_MAX_LINES:,} lines")
        if lines[0] != HEAD:
            self._at = 1
            self._fail(f"expected {HEAD!r}, got {quoted(lines[0], 40)}")
        question = ""
        found: list[Item] = []
        for self._at, line in enumerate(lines[1:], 2):
            if not line or line.startswith("#"):
                continue
            if line.startswith(_CONFLICT):
                self._fail(
                    "the mark of a merge that was not resolved; write the lock again"
                )
            if line.startswith("answer "):
                if question:
                    yield self._answer(question, found)
                question, found = self._question(line), []
            elif not question:
                self._fail("expected `answer` and the SHA-256 of a question")
            else:
                found.append(self._item(line))
                self._check_once(found)
        if not question:
            self._fail("the file ends, and has no answer")
        yield self._answer(question, found)

    def _question(self, line: str) -> str:
        digest = line.removeprefix("answer ")
        if not _DIGEST.fullmatch(digest):
            self._fail("expected the SHA-256 of a question after `answer`")
        if digest in self._known:
            self._fail("this question has an answer above")
        self._known.add(digest)
        return digest

    def _check_once(self, found: list[Item]) -> None:
        kind = found[-1].kind
        if kind in _ABOUT and any(each.kind == kind for each in found[:-1]):
            self._fail(f"`{kind}` stands there twice")

    def _item(self, line: str) -> Item:
        shape = _ITEM.fullmatch(line)
        word = shape[1] if shape else line.split(maxsplit=1)[0] if line.split() else ""
        if word not in _SHAPES:
            self._fail(f"expected one of {', '.join(_SHAPES)}, got {quoted(word, 40)}")
        has_digest, most = _SHAPES[word]
        digest = "a SHA-256 and " if has_digest else ""
        if shape is None or bool(shape[2]) != has_digest:
            self._fail(f"`{word}`: expected {digest}a name in double quotes")
        names = [self._text(each) for each in _STRING.findall(shape[3])]
        if len(names) > most:
            self._fail(f"`{word}`: expected {most} names at most")
        path, *patterns = names
        if word not in _ABOUT:
            self._check_path(path, may_be_all=word in ("names", "tree"))
        for each in patterns:
            if not each or not stays_in(each) or not is_quick(each):
                self._fail(f"{quoted(each)} is no pattern of files below a folder")
        return Item(word, path, shape[2] or "", tuple(patterns))

    def _text(self, literal: str) -> str:
        try:
            value: Any = json.loads(literal)
        except ValueError:
            self._fail(f"{quoted(literal, 40)} is no JSON string")
        if len(value) > _MAX_TEXT:
            self._fail(f"a name has at most {_MAX_TEXT:,} characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            self._fail("half of a surrogate pair is not a character")
        return str(value)

    def _check_path(self, path: str, *, may_be_all: bool) -> None:
        if may_be_all and path == ".":
            return
        if "\0" in path or not _NOT_PLAIN.isdisjoint(path.lower().split("/")):
            self._fail(f"{quoted(path)} is no plain path in the project")

    def _answer(self, question: str, found: list[Item]) -> LockedAnswer:
        about = {item.kind: item for item in found if item.kind in _ABOUT}
        if "agent" not in about or "asked" not in about:
            self._fail("the answer above has no `agent`, or no `asked`")
        definition = about.get("definition")
        return LockedAnswer(
            question,
            about["agent"].path,
            about["asked"].path,
            tuple(item for item in found if item.kind not in _ABOUT),
            definition and (definition.path, definition.digest),
        )

    def _fail(self, what: str) -> NoReturn:
        raise InvalidRequest(f"{self._file}:{self._at}: {what}")
