"""Tasks as other programs write them, to be lines of an export. Pure.

    JSON      a list, or lines with an `id` or a `number`: beads, `gh issue list --json`
    CSV       with a column `title`; between commas, semicolons or tabs
    Markdown  the items of check lists, `- [ ] …`, with what is indented below them

One table says what a field may be called. What has no place here is left out, and said.
A task is known again by its address or its id, or else by its title and where it is.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from textwrap import dedent
from typing import Any, NamedTuple

from bridge.errors import InvalidRequest
from bridge.protocol import plain_json
from bridge.protocol.record import Unparsable
from bridge.protocol.wording import quoted, shortened

_Values = dict[str, Any]
# What a field is called elsewhere, the most telling first; of texts, all are taken.
_NAMES = {
    "title": "title name summary subject",
    "description": "description body design notes",
    "validationCriteria": "validation_criteria acceptance_criteria criteria",
    "category": "category issue_type type",
    "reason": "close_reason reason",
    "status": "status state",
    "priority": "priority",
    "assignee": "assignee assignees",
    "createdAt": "created_at created",
    "updatedAt": "updated_at updated",
    "closedAt": "closed_at closed",
    "uuid": "url html_url id number key issue_key",
    "parent": "parent parent_id epic",
    "dependsOn": "depends_on dependencies blocked_by",
}
_MEANT = {name: field for field, names in _NAMES.items() for name in names.split()}
_TEXTS = ("title", "description", "validationCriteria", "category", "reason")
_STATUSES = {
    "open": "open todo to_do new ready backlog not_started",
    "in_progress": "in_progress doing started active",
    "needs_review": "needs_review in_review review",
    "closed": "closed done complete completed resolved fixed",
}
_PRIORITIES = {
    "high": "high 0 1 p0 p1 critical highest urgent",
    "normal": "normal 2 p2 medium",
    "low": "low 3 4 p3 p4 lowest",
}
_SAID = {
    field: {word: value for value, words in table.items() for word in words.split()}
    for field, table in (("status", _STATUSES), ("priority", _PRIORITIES))
}
# A mark for what was deleted, and is gone.
_DELETED = "tombstone"
_MAX_TITLE = 500
_MAX_KIND = 40
_MAX_WHERE = 4_000
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MS = 100_000_000_000
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_WORD_END = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s-]+")


class Foreign(NamedTuple):
    """Tasks of others, each with its place, and how often what was left out."""

    tasks: list[tuple[str, _Values]]
    left_out: Counter[str]


def find_foreign(data: bytes, name: str) -> Foreign | None:
    """The tasks in a file that is no export of ours; None if it seems to be one.

    Raises:
        InvalidRequest: a line cannot be read; nothing was imported.
    """
    try:
        text = data.decode("utf-8-sig").lstrip()
    except UnicodeDecodeError:
        return None
    head = text.partition("\n")[0]
    reader = _Reader()
    if text.startswith(("[", "{")):
        found = _values_of(text, head, name)
        return None if found is None else reader.read(found)
    if any(map(_ITEM.match, text.split("\n"))):
        return reader.read(_items(text, name, reader.left_out))
    sign = max(",;\t", key=head.count)
    columns = [_plain(each.strip(' "')) for each in head.split(sign)]
    if "title" not in map(_MEANT.get, columns):
        return None
    return reader.read(_rows(text, sign, name))


def _values_of(text: str, head: str, name: str) -> list[tuple[str, Any]] | None:
    """The values of a list, or of lines; None if they are ours, or none."""
    try:
        first = plain_json.loads(text if text.startswith("[") else head)
        if isinstance(first, dict):
            if "uuid" in first or not {"id", "number"} & first.keys():
                return None
            lines = enumerate(text.split("\n"), 1)
            return [
                (f"{name}:{at}", plain_json.loads(x)) for at, x in lines if x.strip()
            ]
    except plain_json.JSONDecodeError:
        return None
    return [(f"{name}[{at}]", value) for at, value in enumerate(first)]


def _rows(text: str, sign: str, name: str) -> Iterator[tuple[str, _Values]]:
    lines = (f"{line}\n" for line in text.split("\n"))
    reader = csv.DictReader(
        lines, delimiter=sign, restkey="cells without a column", strict=True
    )
    try:
        for row in reader:
            if any(row.values()):
                yield f"{name}:{reader.line_num}", row
    except csv.Error as exc:
        place = f"{name}:{reader.line_num + 1}"
        raise InvalidRequest(f"{place}: {exc}; nothing was imported") from None


def _items(
    text: str, name: str, left_out: Counter[str]
) -> Iterator[tuple[str, _Values]]:
    """The items of check lists: each is a part of the one that it is indented below."""
    found: list[tuple[str, _Values, list[str]]] = []
    # How far the items are indented that are open here, which they are, and what is
    # below them.
    above: list[tuple[int, _Values, list[str]]] = []
    known: Counter[str] = Counter()
    is_code = False
    for at, line in enumerate(text.split("\n"), 1):
        was_code = is_code
        is_code ^= _FENCE.match(line) is not None
        item = None if is_code else _ITEM.match(line)
        depth = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        while above and line.strip() and above[-1][0] >= depth and not was_code:
            above.pop()
        if item is not None:
            task = {"title": item[3], "status": "open" if item[2] == " " else "closed"}
            task |= {"parent": above[-1][1]["id"]} if above else {}
            where = f"{task.get('parent', 'item')}\n{item[3].strip()}"
            if len(where) > _MAX_WHERE:
                # Items below would each repeat it, and those that they are below.
                where = hashlib.sha256(where.encode()).hexdigest()
            known[where] += 1
            task |= {"id": f"{where}\n{known[where]}"}
            below: list[str] = []
            found.append((f"{name}:{at}", task, below))
            above.append((depth, task, below))
        elif above:
            above[-1][2].append(line)
        elif line.strip():
            left_out["other lines"] += 1
    for place, task, below in found:
        yield place, task | {"description": dedent("\n".join(below))}


class _Reader:
    """Makes values into tasks, and counts what has no place in one."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._titles: Counter[str] = Counter()

    def read(self, values: Iterable[tuple[str, Any]]) -> Foreign:
        """The tasks; a task of a beads that was deleted is none."""
        known: dict[str, str] = {}
        read: list[tuple[str, _Values, _Values]] = []
        for place, value in values:
            if not isinstance(value, dict):
                raise InvalidRequest(
                    f"{place}: expected a task, got {quoted(value)}; nothing was "
                    "imported"
                )
            fields = self._fields(value)
            if _DELETED in fields["status"].values():
                self.left_out["deleted tasks"] += 1
                continue
            task = self._task(fields)
            task["uuid"] = self._uuid(fields["uuid"], task.get("title", ""))
            known |= {str(each): task["uuid"] for each in fields["uuid"].values()}
            read.append((place, task, fields))
        for _, task, fields in read:
            self._link(task, fields, known)
        return Foreign([(place, task) for place, task, _ in read], self.left_out)

    def _fields(self, value: _Values) -> dict[str, _Values]:
        """What is said, by our names, and there by those of the others."""
        plain = {_plain(str(key)): each for key, each in value.items()}
        said = {key: each for key, each in plain.items() if each not in _NOTHING}
        self.left_out.update(said.keys() - _MEANT.keys())
        return {
            field: {name: said[name] for name in names.split() if name in said}
            for field, names in _NAMES.items()
        }

    def _task(self, fields: dict[str, _Values]) -> _Values:
        task = self._texts(fields)
        for field, words in _SAID.items():
            for said in self._only(fields[field], str, int)[:1]:
                if found := words.get(_plain(str(said))):
                    task[field] = found
                else:
                    self.left_out[f"{field} {quoted(said)}"] += 1
        for field in ("createdAt", "updatedAt", "closedAt"):
            for name, said in list(fields[field].items())[:1]:
                if (time := _time(said)) is not None:
                    task[field] = time
                else:
                    self.left_out[name] += 1
        self._assign(task, fields["assignee"])
        return task

    def _texts(self, fields: dict[str, _Values]) -> _Values:
        task: _Values = {}
        for field in _TEXTS:
            texts = self._only(fields[field], str)
            if field == "description":
                texts = ["\n\n".join(map(str.strip, texts))]
            task |= {field: texts[0]} if texts else {}
            self.left_out.update(list(fields[field])[1 : len(texts)])
        if "title" in task:
            title = " ".join(task["title"].split())
            task["title"] = shortened(title, _MAX_TITLE)
            if task["title"] != title:
                task["description"] = f"{title}\n\n{task['description']}"
        return task

    def _only(self, said: _Values, *kinds: type) -> list[Any]:
        """The values of these types; others are left out."""
        self.left_out.update(k for k, v in said.items() if not isinstance(v, kinds))
        return [each for each in said.values() if isinstance(each, kinds)]

    def _assign(self, task: _Values, said: _Values) -> None:
        for name, value in said.items():
            first, *more = value if isinstance(value, list) else [value]
            if isinstance(first, dict):
                first = first.get("login") or first.get("name")
            if isinstance(first, str):
                task.setdefault("assignee", first)
            if more or task.get("assignee") != first:
                self.left_out[name] += 1

    def _uuid(self, said: _Values, title: str) -> str:
        """The same whenever it is read; a mere number may be one of another list."""
        for name, value in said.items():
            if name in ("url", "html_url") or not str(value).isdecimal():
                return made_uuid({name: str(value)})
        if said:
            return made_uuid({"title": title, **said})
        self._titles[title] += 1
        return made_uuid({"title": title, "nth": self._titles[title]})

    def _link(
        self, task: _Values, fields: dict[str, _Values], known: dict[str, str]
    ) -> None:
        others = [("parent-child", each) for each in fields["parent"].values()]
        for value in fields["dependsOn"].values():
            listed = re.split(r"[\s,;]+", value) if isinstance(value, str) else value
            for each in listed if isinstance(listed, list) else [listed]:
                kind = (
                    each.get("type", "blocks") if isinstance(each, dict) else "blocks"
                )
                others.append((str(kind), each))
        for kind, other in others:
            name = other
            if isinstance(other, dict):
                ways = ("depends_on_id", "id", "number", "url")
                name = next((other[way] for way in ways if way in other), None)
            uuid = known.get(str(name))
            if kind == "parent-child" and uuid:
                task["parent"] = uuid
            elif kind == "blocks" and uuid:
                task.setdefault("dependsOn", []).append(uuid)
            else:
                why = kind if uuid else "to a task that is not there"
                self.left_out[f"links ({shortened(why, _MAX_KIND)})"] += 1


def _plain(name: str) -> str:
    return _WORD_END.sub("_", name.strip()).lower()


def _time(said: Any) -> int | None:
    """A time in milliseconds; None if it is none."""
    try:
        if isinstance(said, str):
            read = datetime.fromisoformat(said.strip())
            said = read.replace(tzinfo=read.tzinfo or UTC).timestamp()
        return int(said if said >= _MS else said * 1000)
    except (ValueError, TypeError, OverflowError):
        return None


def made_uuid(data: dict[str, Any]) -> str:
    """A uuid by what is said: the same for everybody, and whenever it is read.

    Raises:
        Unparsable: it cannot be written as JSON.
    """
    try:
        content = plain_json.dumps(dict(sorted(data.items())))
    except (RecursionError, plain_json.JSONEncodeError):
        raise Unparsable("nested too deeply") from None
    digits = hashlib.sha256(content).hexdigest()
    # Source: RFC 9562, "UUID Version 8".
    return (
        f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-8{digits[15:18]}-{digits[18:30]}"
    )
