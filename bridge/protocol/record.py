"""The base of every record on disk, and the two ways of reading and writing one.

JSON is UTF-8, camelCase, one object, a newline at the end. Unknown keys survive a round
trip; a record of a newer version is refused, never rewritten.

A field that is added within a version and must not be ignored is `needed`: a record
that sets it lists its name in `needs`, and a hostbridge that does not know the name
refuses the record. In records that only hostbridge writes, every unknown key is refused
(`refuse_unknown`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar, get_args

from bridge.errors import NewerSchema
from bridge.protocol import plain_json
from bridge.protocol.plain_types import QUOTED_CHARS, InvalidValue, Limits
from bridge.protocol.value import Value
from bridge.protocol.wording import one_line

SCHEMA_VERSION = 1

# What JSON calls pydantic's kinds of values.
_KINDS = {
    "boolean": "true or false",
    "dictionary": "an object",
    "integer": "an integer",
}

# The key that lists what a reader must know.
_NEEDS = "needs"
_NAMED = 5

R = TypeVar("R", bound="Record")

# The largest integer that every JSON reader keeps exact.
LATEST_MS = 2**53 - 1
Milliseconds = Annotated[int, Limits(ge=0, le=LATEST_MS)]
# Bounded: an integer of more than 64 bits cannot be written.
Count = Annotated[int, Limits(ge=0, le=LATEST_MS)]


class Record(Value):
    """A frozen value with a file of its own."""

    schema_version: Annotated[int, Limits(ge=1)] = SCHEMA_VERSION

    def to_data(self) -> dict[str, Any]:
        """As any value, with what a reader needs to know."""
        data = super().to_data()
        if needs := self.needs():
            data[_NEEDS] = sorted(needs.union(data.get(_NEEDS) or ()))
        return data

    def to_json(self) -> bytes:
        """The bytes of the file.

        Raises:
            ValueError: a string or number in it has no JSON form.
        """
        return as_json(self.to_data())


def as_json(data: dict[str, Any]) -> bytes:
    """The bytes of a file that holds this.

    Raises:
        ValueError: a string or number in it has no JSON form.
    """
    try:
        return plain_json.dumps(data, indented=True, line=True)
    except plain_json.JSONEncodeError as exc:
        raise ValueError(f"cannot be written as JSON: {exc}") from None


class Unparsable(Exception):
    """The bytes are not a record of this kind; `str()` says why, in one line."""


def refuse_newer(version: int, newest: int, *, file: str = "") -> None:
    """Refuse what a later hostbridge wrote: it may mean something else there.

    Raises:
        NewerSchema: `version` is later than the `newest` that is read here.
    """
    if version > newest:
        where = f"{file}: " if file else ""
        raise NewerSchema(
            f"{where}schemaVersion {version} is newer than {newest}, the newest this "
            "hostbridge reads; update hostbridge"
        )


def refuse_unknown(
    found: Iterable[str], known: Iterable[str], *, file: str = ""
) -> None:
    """Refuse a record with unknown keys: it would be misread.

    Raises:
        NewerSchema: names what is not known.
    """
    if strange := sorted({*found}.difference(known)):
        where = f"{file}: " if file else ""
        raise NewerSchema(
            f"{where}{one_line(', '.join(strange[:_NAMED]))}: not known to this "
            "hostbridge; update hostbridge"
        )


@contextmanager
def newer_named(place: str) -> Iterator[None]:
    """Put the place in front of the message of a `NewerSchema`."""
    try:
        yield
    except NewerSchema as exc:
        raise NewerSchema(f"{place}: {exc.what}") from None


def _names_in(kind: type[Value]) -> set[str]:
    """The names in JSON of the fields of a value, and of its parts."""
    found = {each.json_name for each in kind.fields.values()}
    parts = [*kind.hints().values()]
    for part in parts:
        parts += get_args(part)
        if isinstance(part, type) and issubclass(part, Value):
            found |= _names_in(part)
    return found


def parse(kind: type[R], data: bytes) -> R:
    """Read one record.

    Raises:
        Unparsable: not JSON, not an object, or a field is wrong.
        NewerSchema: written by a newer hostbridge.
    """
    try:
        value = plain_json.loads(data)
    except plain_json.JSONDecodeError as exc:
        raise Unparsable(f"not JSON: {exc}") from None
    return from_value(kind, value)


def from_value(kind: type[R], value: Any) -> R:
    """Read one record from decoded JSON; raises as `parse` does.

    A record that can be read can be written again. Otherwise, every attempt to move it
    on would fail.
    """
    if not isinstance(value, dict):
        raise Unparsable(f"expected a JSON object, got {type(value).__name__}")
    version = value.get("schemaVersion", SCHEMA_VERSION)
    if type(version) is not int:
        raise Unparsable("schemaVersion: expected an integer")
    refuse_newer(version, SCHEMA_VERSION)
    if needs := value.get(_NEEDS):
        if not isinstance(needs, list) or not all(type(each) is str for each in needs):
            raise Unparsable(f"{_NEEDS}: expected a list of names")
        refuse_unknown(needs, _names_in(kind))
    try:
        plain_json.check(value)
        return kind.model_validate(value)
    except (RecursionError, plain_json.JSONEncodeError):
        raise Unparsable("nested too deeply") from None
    except InvalidValue as exc:
        raise Unparsable(str(exc)) from None


def json_object(data: bytes | None) -> dict[str, Any]:
    """The JSON object that a file or a line holds; empty for anything else."""
    try:
        value = plain_json.loads(data or b"null")
    except plain_json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def json_lines(data: bytes) -> list[dict[str, Any]]:
    """The JSON objects of a log, one a line; broken lines are skipped."""
    return [found for line in data.splitlines() if (found := json_object(line))]


def printable(text: str) -> str:
    """The text with lone surrogates, which have no UTF-8, shown as `?`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    # Itself: a long answer is not kept twice.
    return text


def first_problem(exc: Any) -> str:
    """The first problem in pydantic's `ValidationError`, in one line, place first."""
    problem = exc.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in problem["loc"]) or "the object"
    said, value = str(problem["msg"]), problem["input"]
    kind = said.partition(" a valid ")[2].partition(",")[0]
    if said.startswith("Input should be a valid"):
        line = f"{place}: expected {_KINDS.get(kind, f'a {kind}')}"
    else:
        said = said.replace("Input should", "must")
        line = f"{place}: {said[:1].lower()}{said[1:]}"
    if problem["type"] == "literal_error" and isinstance(value, str):
        line += f", not {value[:QUOTED_CHARS]!r}"
    return line
