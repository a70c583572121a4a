"""Whether two requests ask the same thing: what a dedup key may stand for. Pure.

Deadline, priority, number of attempts and whether the agent may ask back do not count:
they say how soon, how often and how a question is asked. Everything that changes what
the answer means, or who may give it, counts.
"""

from collections.abc import Collection
from typing import Any

from bridge.protocol import plain_json
from bridge.protocol.request import Request
from bridge.protocol.value import as_data

# The fields of a request that make its question, and what an asker calls them.
QUESTION = {
    "agent_type": "agent",
    "prompt": "prompt",
    "answer_schema": "schema",
    "model": "model",
    "arguments": "arguments",
    "variables": "variables",
    "node": "node",
    "context": "change to look at",
    "session": "session",
    "task_id": "task id",
    "workflow": "workflow",
    "folder": "folder",
    "continues": "request that it continues",
    "context_from": "context",
}
# What a definition fills in where the asker left it open.
_FILLED_IN = frozenset({"answer_schema", "context", "model", "variables"})
_SHOWN = frozenset(
    {
        *("agent_type", "model", "session", "task_id", "workflow", "folder"),
        *("continues", "context_from"),
    }
)


def differences(
    asked: Request, earlier: Request, *, routes: Collection[str] = (), by: str = ""
) -> list[str]:
    """How `asked` differs from `earlier`, in words; empty if they ask the same.

    `routes` are those that may answer `asked`, by default its own; `by` is the route
    that answers `earlier`, by default its own.
    """
    found = [
        _difference(field, word, getattr(asked, field), getattr(earlier, field))
        for field, word in QUESTION.items()
        if not _is_same(field, asked, earlier)
    ]
    by = by or (earlier.claim.route if earlier.claim else earlier.route)
    if by not in (routes or (asked.route,)):
        found.append(f"route ({by!r} there, {asked.route!r} here)")
    return found


def _is_same(field: str, asked: Request, earlier: Request) -> bool:
    ours, theirs = asked_in(field, asked), asked_in(field, earlier)
    # As JSON: Python takes 1, 1.0 and true for the same.
    if plain_json.dumps(as_data(ours), sort_keys=True) == plain_json.dumps(
        as_data(theirs), sort_keys=True
    ):
        return True
    if field not in _FILLED_IN or (not asked.definition) == (not earlier.definition):
        return False
    # Only one of them has been filled in by the definition so far.
    bare = ours if asked.definition is None else theirs
    return bool(bare == Request.fields[field].get_default())


def asked_in(field: str, request: Request) -> Any:
    """The value that counts; of a node without its line, which moves with edits."""
    value = getattr(request, field)
    if field == "node" and value is not None:
        return [value.file, value.type, value.name, value.text]
    return value


def _difference(field: str, word: str, ours: Any, theirs: Any) -> str:
    if field in _SHOWN:
        return f"{word} ({theirs!r} there, {ours!r} here)"
    return word
