"""How a task is to be divided: read, and checked as a whole before anything is kept.

    {"subtasks": [{"title": "Write the parser"},
                  {"title": "Test it", "depends_on": [0], "priority": "high"}]}

A subtask depends on others by their position, from 0, by the `id` that the spec gives
them, or on a task that is there already: `"#42"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.digest import sha256_of
from bridge.protocol.plain_json import dumps, loads
from bridge.protocol.plain_types import camel_case
from bridge.protocol.wording import quoted, shortened
from bridge.tasks.circles import find_circle
from bridge.tasks.fields import CONTENT
from bridge.tasks.task import RANKS, NewTask

MAX_SUBTASKS = 2_000
_NAMED = 10
_MOST_WRONG = 1_000
_DIGITS = 9
# How others spell it, and how we do.
_SPELT = {"validation": "validation_criteria", "name": "id"}
_SPELT |= {camel_case(each): each for each in ("validation_criteria", "depends_on")}
# In the order in which a spec is kept.
_TEXTS = ("title", "description", "validation_criteria", "category", "priority")
_TASK = re.compile(r"#[0-9]{1,15}\Z")


class BadSpec(InvalidRequest):
    """A spec cannot be used; nothing was saved.

    Attributes:
        problems: each with its place.
    """

    code = "bad_expansion_spec"

    def __init__(self, problems: Sequence[str]) -> None:
        shown = "\n  ".join(problems[:_NAMED])
        more = len(problems) - _NAMED
        rest = f"\n  and {more} more" if more > 0 else ""
        super().__init__(f"the expansion spec cannot be used:\n  {shown}{rest}")
        self.problems = tuple(problems)


def _checked(name: str) -> BeforeValidator:
    """A field of a new task, checked as that is."""

    def check(value: object) -> Any:
        try:
            found = CONTENT[name](value)
        except InvalidRequest as exc:
            raise ValueError(exc.what) from None
        return str(RANKS[found - 1]) if name == "priority" else found

    return BeforeValidator(check)


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"id: expected text, got {quoted(value)}")  # noqa: TRY004 - pydantic's
    return str(value)


@dataclass(slots=True)
class _Whole:
    """What a subtask may depend on: the others, and tasks outside.

    Of a spec with a million that are not there, only so many are looked at.
    """

    ids: Mapping[str, int]
    length: int
    check_outside: Callable[[int], str]
    wrong: int = 0

    def found(self, ref: Any) -> int | str:
        """The position that is meant, or the task outside, as `#42`.

        Raises:
            ValueError: there is none.
        """
        if self.wrong == _MOST_WRONG:
            return 0
        if isinstance(ref, str) and _TASK.match(ref) and ref not in self.ids:
            problem = self.check_outside(int(ref[1:]))
            found: int | str | None = ref
        else:
            found = self.position(ref)
            problem = self.nowhere(ref) if found is None else ""
        if problem or found is None:
            self.wrong += 1
            raise ValueError(problem)
        return found

    def position(self, ref: object) -> int | None:
        if isinstance(ref, bool) or not isinstance(ref, str | int):
            return None
        if str(ref) in self.ids:
            return self.ids[str(ref)]
        if isinstance(ref, str):
            ref = int(ref) if ref.isdecimal() and len(ref) <= _DIGITS else -1
        return ref if 0 <= ref < self.length else None

    def nowhere(self, ref: object) -> str:
        near = did_you_mean(str(ref), self.ids) if isinstance(ref, str) else ""
        return (
            f"there is no subtask {quoted(ref)}{near}; expected a position from 0 to "
            f"{self.length - 1}, an id of this spec, or a task such as #42"
        )


def _found(ref: Any, info: ValidationInfo[_Whole]) -> int | str:
    return info.context.found(ref)


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Subtask(BaseModel):
    """A task that is to be made, as a spec has it.

    Once it was checked, `depends_on` has positions in the spec, and tasks outside as
    `#42`.
    """

    model_config = ConfigDict(extra="forbid", validate_default=True)

    title: Annotated[str, _checked("title")] = Field("", description="One line.")
    id: Annotated[str | None, BeforeValidator(_id)] = Field(
        None, validate_default=False, description="By which others depend on it."
    )
    description: Annotated[str, _checked("description")] = ""
    validation_criteria: Annotated[str, _checked("validation_criteria")] = ""
    category: Annotated[str, _checked("category")] = ""
    priority: Annotated[str, _checked("priority")] = Field(
        "normal", description="high, normal or low."
    )
    depends_on: Annotated[
        list[
            Annotated[
                Any,
                PlainValidator(_found),
                WithJsonSchema({"type": ["integer", "string"]}),
            ]
        ],
        BeforeValidator(_several),
    ] = Field(
        [],
        description="What must be closed before: positions in this list, from 0; ids "
        "of it; or tasks such as #42.",
    )

    @model_validator(mode="before")
    @classmethod
    def _spelt(cls, value: Any) -> Any:
        """The fields that are given, in our spelling; a title is enough."""
        if isinstance(value, str):
            return {"title": value}
        if not isinstance(value, dict):
            return value
        for theirs, ours in _SPELT.items():
            if theirs in value and ours in value:
                raise ValueError(f"{theirs}: the same as {ours}; give one")
        named = {_SPELT.get(str(n), str(n)): each for n, each in value.items()}
        return {name: each for name, each in named.items() if each is not None}

    @property
    def new(self) -> NewTask:
        """What it begins with; what it depends on is apart."""
        return NewTask(**{name: getattr(self, name) for name in CONTENT})

    @property
    def inside(self) -> tuple[int, ...]:
        """The positions of those that it depends on."""
        return tuple(
            sorted({each for each in self.depends_on if isinstance(each, int)})
        )

    @property
    def outside(self) -> tuple[int, ...]:
        """The numbers of the tasks outside that it depends on."""
        found = {int(each[1:]) for each in self.depends_on if isinstance(each, str)}
        return tuple(sorted(found))


_SUBTASKS = TypeAdapter(list[Subtask])
# What a model sees of a spec.
SCHEMA = {
    "type": "object",
    "required": ["subtasks"],
    "properties": {
        "subtasks": {
            "type": "array",
            "items": Subtask.model_json_schema() | {"required": ["title"]},
        }
    },
}


class Spec(NamedTuple):
    """A checked spec. Equal ones have the same digest, however they were written."""

    subtasks: tuple[Subtask, ...]

    @property
    def digest(self) -> str:
        """What stands for it."""
        return sha256_of(self.text.encode())

    @property
    def text(self) -> str:
        """As it is kept; `restored` has it back."""
        return dumps([
            (*(getattr(each, name) for name in _TEXTS), each.inside, each.outside)
            for each in self.subtasks
        ]).decode()  # fmt: skip

    @property
    def data(self) -> dict[str, Any]:
        """As it is shown: without what is empty."""
        return {"subtasks": [_data(each) for each in self.subtasks]}


def restored(text: str) -> Spec:
    """The spec whose `text` this is: it was checked."""
    return Spec(
        tuple(
            Subtask.model_construct(
                **dict(zip(_TEXTS, texts, strict=True)),
                depends_on=[*inside, *(f"#{number}" for number in outside)],
            )
            for *texts, inside, outside in loads(text)
        )
    )


def read(value: object, *, check_outside: Callable[[int], str] = lambda _: "") -> Spec:
    """The spec that a JSON object is; all that is wrong with it is said at once.

    `check_outside` says what is wrong with waiting for a task of this number; nothing.

    Raises:
        BadSpec: it is no spec, or its subtasks would wait for one another in a circle.
    """
    fields = value if isinstance(value, dict) else {}
    found = fields.get("subtasks", fields.get("tasks"))
    if not isinstance(found, list) or not found:
        raise BadSpec([f"subtasks: expected a list of subtasks, got {quoted(found)}"])
    if len(found) > MAX_SUBTASKS:
        raise BadSpec([f"subtasks: {len(found):,}; at most {MAX_SUBTASKS:,}"])
    strange = fields.keys() - {"subtasks", "tasks"}
    problems = [_unknown(str(name), ["subtasks"], "") for name in strange]
    if "subtasks" in fields and "tasks" in fields:
        problems.append("tasks: the same as subtasks; give one of them")
    ids, twice = _ids(found)
    try:
        whole = _Whole(ids, len(found), check_outside)
        parts = _SUBTASKS.validate_python(found, context=whole)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False)
        raise BadSpec([*problems, *twice, *map(_said, errors)]) from None
    spec = Spec(tuple(parts))
    if problems := problems + twice or _circle(spec):
        raise BadSpec(problems)
    return spec


def _ids(found: list[Any]) -> tuple[dict[str, int], list[str]]:
    """Which subtask has which id, and which ids stand twice."""
    ids: dict[str, int] = {}
    problems = []
    for number, each in enumerate(found):
        name = each.get("id", each.get("name")) if isinstance(each, dict) else None
        if isinstance(name, str | int) and ids.setdefault(str(name), number) != number:
            first = ids[str(name)]
            problems.append(
                f"subtasks[{number}].id: {quoted(name)} is subtasks[{first}]'s"
            )
    return ids, problems


def _said(error: Any) -> str:
    """One of pydantic's errors, with its place."""
    number, *inside = error["loc"]
    place, said = f"subtasks[{number}]", error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return _unknown(str(inside[0]), [*Subtask.model_fields], f"{place}.")
    if error["type"] == "model_type":
        return f"{place}: expected an object, got {quoted(error['input'])}"
    if len(inside) > 1:
        return f"{place}.{inside[0]}[{inside[1]}]: {said}"
    # What checks a field names it.
    return f"{place}.{said}"


def _unknown(name: str, known: Sequence[str], place: str) -> str:
    near = did_you_mean(name, known) or f"; known: {', '.join(known)}"
    return f"{place}{shortened(name, 60)}: there is no such field{near}"


def _circle(spec: Spec) -> list[str]:
    """The first circle that is found, drawn."""
    before = {number: each.inside for number, each in enumerate(spec.subtasks)}
    found = find_circle(before)
    drawn = " → ".join(_named(spec, each) for each in found)
    return [f"subtasks[{found[0]}].depends_on: a circle: {drawn}"] if found else []


def _named(spec: Spec, number: int) -> str:
    return f"{number} ({shortened(spec.subtasks[number].title, 40)})"


def _data(subtask: Subtask) -> dict[str, Any]:
    fields = {name: getattr(subtask, name) for name in _TEXTS}
    outside = [f"#{number}" for number in subtask.outside]
    fields["depends_on"] = [*subtask.inside, *outside]
    return {name: value for name, value in fields.items() if value}
