"""`answers.lock`: what answers rest on, as JSON lines that a project keeps. Pure.

    {"hostbridge answers": 2, "check": "hostbridge stale --lock answers.lock"}
    {"answer": "3f0c…", "agent": "general-purpose", "asked": "Which has no test?"}
    {"absent": "CLAUDE.md"}
    {"file": "src/billing.py", "sha256": "9a41…"}
    {"names": "src", "patterns": ["*.py"], "sha256": "77d0…"}

An answer is named by the SHA-256 of its question. Below it, sorted, is what it rests
on: files by the SHA-256 of their bytes, links by that of where they lead, and the names
below a folder by that of their list, which patterns may narrow. The file may come from
anybody: a line of any other form is an error, which names the line.

Version 1, which an earlier hostbridge wrote, is read as well:

    answer 3f0c…
      agent "general-purpose"
      names 77d0… "src" "*.py"
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

VERSION = 2
_HEAD = "hostbridge answers"
HEAD_1 = f"{_HEAD} 1"
# What each lock begins with, in either version, and hardly any other file.
MARKS = (f'{{"{_HEAD}": ', HEAD_1)
MAX_BYTES = 16 * 1024 * 1024
_MAX_LINES = 200_000
_MAX_TEXT = 4096
_MAX_ASKED = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LINE_1 = re.compile(r'  ([a-z]+)(?: ([0-9a-f]{64}))?((?: "(?:[^"\\]|\\.)*")+)')
_STRING = re.compile(r' ("(?:[^"\\]|\\.)*")')
# What lines are about: whether there is a digest, and how many patterns at most.
_SHAPES = {
    "definition": (True, 0),
    "absent": (False, 0),
    "file": (True, 0),
    "link": (True, 0),
    "names": (True, MAX_PATTERNS),
    "tree": (True, 0),
}
_SHAPES_1 = {"agent": (False, 0), "asked": (False, 0), **_SHAPES}
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
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
    """The text of the file; `name` is what it is called."""
    check = in_shell("hostbridge", "stale", "--lock", name)
    lines: list[dict[str, Any]] = [{_HEAD: VERSION, "check": check}]
    for each in sorted(answers, key=lambda a: (a.agent, a.asked, a.question)):
        asked = one_line(each.asked, _MAX_ASKED)
        lines.append({"answer": each.question, "agent": each.agent, "asked": asked})
        if each.definition is not None:
            lines.append(_line("definition", *each.definition))
        lines += [_line(*item) for item in sorted(set(each.items))]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _line(
    kind: str, path: str, digest: str = "", patterns: tuple[str, ...] = ()
) -> dict[str, Any]:
    more = {"patterns": list(patterns), "sha256": digest}
    return {kind: path, **{name: value for name, value in more.items() if value}}


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
        self._at = 1
        self._known: set[str] = set()
        self._is_old = False

    def answers(self, text: str) -> Iterator[LockedAnswer]:
        lines = text.split("\n")
        if len(lines) > _MAX_LINES:
            raise InvalidRequest(f"{self._file}: more than {_MAX_LINES:,} lines")
        self._read_head(lines[0])
        about: dict[str, Any] = {}
        items: list[Item] = []
        for self._at, line in enumerate(lines[1:], 2):
            if not line.strip() or (self._is_old and line.startswith("#")):
                continue
            if line.startswith(_CONFLICT):
                self._fail(
                    "the mark of a merge that was not resolved; write the lock again"
                )
            data = self._old_data(line) if self._is_old else self._data(line)
            if "answer" in data:
                if about:
                    yield self._answer(about, items)
                about, items = self._about(data), []
            elif not about:
                self._fail("expected `answer` and the SHA-256 of a question")
            else:
                self._take(self._item(data), about, items)
        if not about:
            self._fail("the file ends, and has no answer")
        yield self._answer(about, items)

    def _read_head(self, line: str) -> None:
        self._is_old = line == HEAD_1
        version = self._data(line).get(_HEAD) if line.startswith(MARKS[0]) else None
        if type(version) is int and version > VERSION:
            self._fail(f"version {version} is of a newer hostbridge: update this one")
        if not self._is_old and version != VERSION:
            self._fail(f'expected {{"{_HEAD}": {VERSION}, …}}, got {quoted(line, 40)}')

    def _data(self, line: str) -> dict[str, Any]:
        try:
            data = json.loads(line, object_pairs_hook=self._object)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self._fail(f"expected an object of JSON, got {quoted(line, 40)}")
        return data

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            self._fail("a key stands there twice")
        return found

    def _old_data(self, line: str) -> dict[str, Any]:
        """What a line of version 1 says, as one of today says it."""
        if line.startswith("answer "):
            return {"answer": line.removeprefix("answer ")}
        found = _LINE_1.fullmatch(line)
        if found is None:
            self._fail('expected a word, a SHA-256 where it has one, and names in ""')
        try:
            path, *patterns = map(json.loads, _STRING.findall(found[3]))
        except ValueError:
            self._fail(f"{quoted(found[3].strip(), 40)} is not a JSON string")
        return _line(found[1], path, found[2] or "", tuple(patterns))

    def _about(self, data: dict[str, Any]) -> dict[str, Any]:
        question = data["answer"]
        if not isinstance(question, str) or not _DIGEST.fullmatch(question):
            self._fail("expected the SHA-256 of a question after `answer`")
        if question in self._known:
            self._fail("this question has an answer above")
        self._known.add(question)
        if unknown := data.keys() - {"answer", "agent", "asked"}:
            self._fail(f"`answer`: {quoted(min(unknown), 40)} is not known here")
        return {name: self._text(value) for name, value in data.items()}

    def _take(self, item: Item, about: dict[str, Any], items: list[Item]) -> None:
        if item.kind not in ("agent", "asked", "definition"):
            items.append(item)
        elif item.kind in about:
            self._fail(f"`{item.kind}` stands there twice")
        elif item.kind == "definition":
            about[item.kind] = (item.path, item.digest)
        else:
            about[item.kind] = item.path

    def _item(self, data: dict[str, Any]) -> Item:
        shapes = _SHAPES_1 if self._is_old else _SHAPES
        kind = next((name for name in data if name in shapes), "")
        if not kind:
            got = quoted(next(iter(data), ""), 40)
            self._fail(f"expected one of {', '.join(shapes)}, got {got}")
        has_digest, most = shapes[kind]
        digest, patterns = data.get("sha256", ""), data.get("patterns", [])
        if has_digest and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            self._fail(f"`{kind}`: expected a SHA-256")
        if not isinstance(patterns, list) or len(patterns) > most:
            self._fail(f"`{kind}`: expected {most} patterns at most")
        keys = {kind, *(("sha256",) if has_digest else ()), "patterns"}
        if unknown := data.keys() - keys:
            self._fail(f"`{kind}`: {quoted(min(unknown), 40)} is not known here")
        path = self._text(data[kind])
        if kind in ("absent", "file", "link", "names", "tree"):
            self._check_path(path, may_be_all=kind in ("names", "tree"))
        return Item(kind, path, digest, tuple(map(self._pattern, patterns)))

    def _pattern(self, value: object) -> str:
        pattern = self._text(value)
        if not pattern or not stays_in(pattern) or not is_quick(pattern):
            self._fail(f"{quoted(pattern)} is not a pattern of files below a folder")
        return pattern

    def _text(self, value: object) -> str:
        if not isinstance(value, str):
            self._fail(f"expected a text, got {quoted(json.dumps(value), 40)}")
        if len(value) > _MAX_TEXT:
            self._fail(f"a name has at most {_MAX_TEXT:,} characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            self._fail("half of a surrogate pair is not a character")
        return value

    def _check_path(self, path: str, *, may_be_all: bool) -> None:
        if may_be_all and path == ".":
            return
        if "\0" in path or not _NOT_PLAIN.isdisjoint(path.lower().split("/")):
            self._fail(f"{quoted(path)} is not a plain path in the project")

    def _answer(self, about: dict[str, Any], items: list[Item]) -> LockedAnswer:
        if "agent" not in about or "asked" not in about:
            self._fail("the answer above has no `agent`, or no `asked`")
        return LockedAnswer(
            about["answer"],
            about["agent"],
            about["asked"],
            tuple(items),
            about.get("definition"),
        )

    def _fail(self, what: str) -> NoReturn:
        raise InvalidRequest(f"{self._file}:{self._at}: {what}")
