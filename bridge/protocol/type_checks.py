"""Check what a program passes in, since Python does not.

One table says what each argument of the public functions may be. A test passes every
wrong kind of value to every argument.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from bridge.errors import InvalidRequest
from bridge.protocol.record import as_json
from bridge.protocol.request import Node
from bridge.protocol.wording import quoted


def seconds_in(value: Any) -> float:
    """The seconds in a duration; TypeError or ValueError for anything else."""
    if hasattr(value, "total_seconds"):
        return float(value.total_seconds())
    if not _is_number(value):
        raise TypeError(value)
    return float(value)


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and not math.isnan(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.encode() is not None


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and as_json(value) is not None


def _is_path(value: Any) -> bool:
    return _is_text(value.__fspath__() if hasattr(value, "__fspath__") else value)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(map(_is_text, values))


def _is_many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# The names of arguments, what is expected, and what fits.
_TABLE: tuple[tuple[str, str, Callable[[Any], object]], ...] = (
    (("prompt agent words model priority route fallback task_id workflow dedup_key "
        "session continues request_id run task intent complexity escalate_to"),
        "text", _is_text),
    ("mode", "terminal, headless or self",
        lambda v: v in ("terminal", "headless", "self")),
    ("context", "session", lambda v: v == "session"),
    ("flow", "the path, the name or the text of a flow", _is_path),
    ("max_agents", "a number of agents, 0 or more", _is_size),
    ("max_bytes", "a number of bytes, 0 or more", _is_size),
    ("max_attempts", "a number of tries, 1 to 100", lambda v: _is_size(v) and v),
    ("max_tokens", "a number of tokens, 0 or more", _is_size),
    ("on_failure", "abort, skip or ask", lambda v: v in ("abort", "skip", "ask")),
    ("timeout_s fallback_after_s step_timeout_s", "a number of seconds, or a timedelta",
        lambda v: seconds_in(v) is not None),
    ("arguments variables params", "a dict that JSON can hold", _is_mapping),
    ("node", "FILE::NAME or a Node", lambda v: isinstance(v, Node) or _is_text(v)),
    ("change", "a Change, as read_change returns it",
        lambda v: hasattr(v, "as_context")),
    ("validators scope", "a name, or several, such as a list",
        lambda v: _is_text(v) or (_is_many(v) and _are_texts(v))),
    ("rounds", "a number of rounds, from 1 to 20",
        lambda v: _is_size(v) and 1 <= v <= 20),  # noqa: PLR2004
    (("dry_run answer_to_host wait_quota staged accept_degraded together cached "
        "in_worktree may_ask"), "True or False", lambda v: isinstance(v, bool)),
    ("on_stage on_progress on_change on_question", "a function", callable),
    ("requests", "the ids of requests, such as a list", _is_many),
    ("path agents_dir", "a path, as text or a Path", _is_path),
    ("older_than_days", "a number of days, 0 or more",
        lambda v: _is_number(v) and v >= 0),
)  # fmt: skip
_KINDS = {
    name: (expected, fits) for names, expected, fits in _TABLE for name in names.split()
}


def check(**arguments: object) -> None:
    """Check arguments, each by its name.

    Raises:
        InvalidRequest: one is something else than it must be.
    """
    for name, value in arguments.items():
        expected, fits = _KINDS[name]
        try:
            is_right = fits(value)
        except (TypeError, ValueError, OverflowError):
            is_right = False
        if not is_right:
            raise InvalidRequest(f"{name} {quoted(value)}: expected {expected}")
