"""The schema of an answer as it is typed: a file, JSON itself, or `module:Class`.

The last imports the user's own module, and so runs its code. It happens only in the
process of the user's command; a request holds the JSON Schema alone.
"""

from __future__ import annotations

import os
import re
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import orjson

from bridge.cli.common.output import complain
from bridge.cli.common.read_file import bytes_of, decoded
from bridge.errors import InvalidRequest
from bridge.hints import close

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge

_JSON = re.compile(r'\s*[{\["]|true\Z|false\Z')
_MODEL = re.compile(r"[^\W\d]\w*(\.\w+)*:[^\W\d]\w*(\.\w+)*\Z")
_FORMS = (
    'a JSON Schema in a file, the schema itself (\'{"type": "object"}\'), or a '
    "pydantic model as module:Class"
)


def read_schema(bridge: Bridge, typed: str) -> Any:
    """What `--schema` names.

    Warns about keywords that look misspelt.

    Raises:
        InvalidRequest: it names nothing, or no schema; says where.
        InsideSession: a model could be behind `module:Class`, which runs code.
    """
    if os.path.exists(typed):
        return _checked(typed, bytes_of(Path(typed)))
    if _JSON.match(typed):
        return _checked("--schema", typed.encode("utf-8", "surrogateescape"))
    if _MODEL.match(typed):
        _refuse_inside_a_session(bridge, typed)
        return _model(typed)
    raise InvalidRequest(f"--schema {typed}: no such file; expected {_FORMS}")


def _checked(place: str, data: bytes) -> dict[str, Any]:
    """The JSON Schema in `data`, which is `place`."""
    from bridge.protocol.json_schema import problem_of_schema
    from bridge.protocol.keywords import constrains_nothing, misspelt_keywords

    decoded(data, place)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        where = f"{place}:{exc.lineno}:{exc.colno}"
        raise InvalidRequest(f"{where}: not JSON: {exc.msg}") from None
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise InvalidRequest(f"{place}: expected a JSON Schema (an object), got {kind}")
    problem = problem_of_schema(value)
    if problem:
        raise InvalidRequest(f"{place}: not a JSON Schema: {problem}")
    slips = list(misspelt_keywords(value))
    if constrains_nothing(value):
        raise InvalidRequest(f"{place}: allows anything: {slips[0]}")
    for slip in slips:
        complain(f"{place}: {slip} (it is ignored)")
    return value


def _refuse_inside_a_session(bridge: Bridge, typed: str) -> None:
    """Let no model run code by a command that its user allowed for questions."""
    from bridge.bound.session_above import only_outside_sessions

    only_outside_sessions(bridge.settings, bridge.store, f"--schema {typed}")


def _model(typed: str) -> Any:
    """The pydantic model `module:Class`, of the working folder or installed."""
    from pydantic import BaseModel

    module_name, _, name = typed.partition(":")
    module = _imported(typed, module_name)
    try:
        model = reduce(getattr, name.split("."), module)
    except AttributeError:
        known = [
            each
            for each, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, BaseModel)
        ]
        near = close(name, known)
        hint = f"; did you mean {module_name}:{near[0]}?" if near else ""
        where = module.__file__ or module_name
        raise InvalidRequest(f"--schema {typed}: {where} has no {name}{hint}") from None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        kind = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidRequest(
            f"--schema {typed}: expected a pydantic model (a class), got {kind}"
        )
    try:
        model.model_json_schema()
    except Exception as exc:  # noqa: BLE001 - code of the user
        raise InvalidRequest(f"--schema {typed}: no JSON Schema: {exc}") from None
    return model


def _imported(typed: str, name: str) -> ModuleType:
    folder = os.getcwd()
    # Only for this import: what we load later is not to come from a project.
    sys.path.insert(0, folder)
    try:
        return import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name and f"{name}.".startswith(f"{exc.name}."):
            raise InvalidRequest(
                f"--schema {typed}: no module {exc.name!r} in {folder}, and none is "
                "installed"
            ) from None
        raise InvalidRequest(
            f"--schema {typed}: {_place(exc)}: {exc}; hostbridge runs in "
            f"{sys.executable}: install it there, or give the schema as a file"
        ) from None
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - code of the user
        kind = type(exc).__name__
        raise InvalidRequest(
            f"--schema {typed}: {_place(exc)}: {kind}: {exc}"
        ) from None
    finally:
        sys.path.remove(folder)


def _place(exc: BaseException) -> str:
    """Where the user's code failed."""
    if isinstance(exc, SyntaxError):
        return f"{exc.filename}:{exc.lineno}"
    # Slow to import.
    from traceback import extract_tb

    last = extract_tb(exc.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
