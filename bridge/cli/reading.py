"""What commands read: prompts, answers and schemas, from arguments, pipes and files.

Every problem names the file and the place in it.
"""

import sys
from pathlib import Path
from typing import Any

import orjson

from bridge.cli.printing import complain
from bridge.errors import InvalidRequest


def agent_and_prompt(first: str | None, second: str | None) -> tuple[str, str]:
    """Agent and prompt from one or two words; a prompt of `-` is read from stdin.

    Raises:
        InvalidRequest: there is no prompt, or it is not UTF-8.
    """
    if first is None:
        raise InvalidRequest(
            'no prompt; try: hostbridge ask "Which modules lack tests?"'
        )
    agent, prompt = ("general-purpose", first) if second is None else (first, second)
    return agent, read_words(None, "the prompt") if prompt == "-" else whole(prompt)


def whole(argument: str) -> str:
    """An argument as it is, when it is UTF-8."""
    try:
        return decoded(argument.encode("utf-8", "surrogateescape"), "the prompt")
    except UnicodeEncodeError:
        raise InvalidRequest("the prompt is not UTF-8") from None


def read_words(file: Path | None, what: str) -> str:
    """Words from a file, or from stdin for None and `-`; `what` names them."""
    if file is not None and str(file) != "-":
        return decoded(_bytes_of(file), str(file))
    if sys.stdin is None:
        raise InvalidRequest(f"{what} was to come from stdin, which is closed")
    if sys.stdin.isatty():
        complain(f"type {what}; Ctrl-D ends it")
    return decoded(sys.stdin.buffer.read(), f"{what} (from stdin)")


def decoded(data: bytes, what: str) -> str:
    """UTF-8, or an error that says where it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        raise InvalidRequest(
            f"{what}: expected UTF-8, got byte 0x{data[exc.start]:02x} at offset "
            f"{exc.start}"
        ) from None


def read_schema(file: Path | None) -> dict[str, Any] | None:
    """A JSON Schema from a file; None for no file.

    Raises:
        InvalidRequest: no such file, not JSON, or not a JSON Schema; says where.
    """
    if file is None:
        return None
    data = _bytes_of(file)
    decoded(data, str(file))
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        place = f"{file}:{exc.lineno}:{exc.colno}"
        raise InvalidRequest(f"{place}: not JSON: {exc.msg}") from None
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise InvalidRequest(f"{file}: expected a JSON Schema (an object), got {kind}")
    from bridge.protocol.json_schema import problem_of_schema

    problem = problem_of_schema(value)
    if problem:
        raise InvalidRequest(f"{file}: not a JSON Schema: {problem}")
    return value


def read_arguments(told: list[str] | None) -> dict[str, Any] | None:
    """`NAME=TEXT` or `NAME:=JSON`, each.

    Raises:
        InvalidRequest: one has no name, or is not JSON where it says so.
    """
    if not told:
        return None
    found = {}
    for each in told:
        name, sign, value = whole(each).partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":")
        if not (name and sign):
            raise InvalidRequest(f"--arg {each!r}: expected NAME=TEXT or NAME:=JSON")
        try:
            found[name] = orjson.loads(value) if is_json else value
        except orjson.JSONDecodeError as exc:
            raise InvalidRequest(f"--arg {each!r}: not JSON: {exc.msg}") from None
    return found


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as exc:
        raise InvalidRequest(f"{file}: {(exc.strerror or str(exc)).lower()}") from None
