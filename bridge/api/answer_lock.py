"""`answers.lock`: written from answers that hold; checked with no record of any."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.api.stale import MAX_REASONS, Freshness, Reason, Standing, State
from bridge.errors import InvalidRequest, reason_of
from bridge.freshness.checkout import Checkout
from bridge.freshness.lock_file import (
    MARKS,
    MAX_BYTES,
    Item,
    LockedAnswer,
    parsed,
    written,
)
from bridge.freshness.locked import Cannot, differences_of, file_item, items_of
from bridge.freshness.never_reused import Given
from bridge.store.plain_file import open_plain

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

_READABLE = 0o644
_SHOWN = 10
_NOTHING = Reason("unknown", "the lock names nothing that it rests on")


def write_lock(
    freshness: Freshness, file: Path, ids: Iterable[str] = ()
) -> tuple[int, list[Standing]]:
    """Write what answers rest on into a file.

    By default of all that hold, and can be told from a clone. Returns how many it has,
    and those that were left out, each with the reason.

    Raises:
        UnknownRequest: there is no such request.
        InvalidRequest: one that was named does not hold, or rests on something that a
            clone has not; or there is none to lock; or another file is there. Nothing
            was written.
    """
    from bridge.report.report_file import write

    ids = list(ids)
    checkout = Checkout(freshness.project, file, freshness.yours)
    answers: list[LockedAnswer] = []
    left_out: list[Standing] = []
    for given in freshness.given(ids):
        standing = freshness.standing(given)
        try:
            if standing.state == "fresh":
                answers.append(_locked(freshness, given, checkout))
                continue
        except Cannot as exc:
            reasons = (Reason("unknown", str(exc)),)
            standing = replace(standing, state="unknown", reasons=reasons)
        left_out.append(standing)
    if ids and left_out:
        first = left_out[0]
        why = f"{first.reasons[0].what}: {first.reasons[0].about}"
        raise InvalidRequest(
            f"the answer of request {first.request_id} cannot be locked: {why}; "
            "nothing was written",
            request_id=first.request_id,
        )
    if not answers:
        raise InvalidRequest(
            f"no answer can be locked; {file} was not written{_why_not(left_out)}",
            ways=("hostbridge stale",),
        )
    write(file, written(answers, file.name), *MARKS, mode=_READABLE)
    freshness.note_lock(file)
    return len(answers), left_out


def _why_not(left_out: list[Standing]) -> str:
    lines = [
        f"\n{each.request_id}: {each.reasons[0].what}: {each.reasons[0].about}"
        for each in left_out[:_SHOWN]
    ]
    more = len(left_out) - _SHOWN
    return "".join([*lines, f"\nand {more:,} more" if more > 0 else ""])


def _locked(freshness: Freshness, given: Given, checkout: Checkout) -> LockedAnswer:
    request = given.request
    if "change" in request.context:
        raise Cannot("it is about a change that is not committed")
    items = list(items_of(given.reads, checkout))
    if request.node is not None:
        items.append(file_item(request.node.file, checkout))
    then, definition = request.definition, None
    if then is not None and not request.is_temporary:
        route = given.response.route
        found = freshness.definition(request.agent_type, route)
        if found is not None:
            definition = (found.source.layer, then.digest)
        while found is not None:
            items += _of_definition(found, checkout)
            base = found.base
            found = freshness.definition(base, route) if base else None
    if not items:
        raise Cannot("it rests on nothing that a lock can name")
    return LockedAnswer(
        given.reads.question,
        request.agent_type,
        request.prompt,
        tuple(items),
        definition,
    )


def _of_definition(definition: Definition, checkout: Checkout) -> Iterator[Item]:
    """The files of the project that a definition is made of."""
    files = [definition.source.file]
    for tool in definition.script_tools:
        files += [tool.pym, *tool.context_providers]
    for file in files:
        real = Path(os.path.realpath(file))
        if real.is_relative_to(checkout.root):
            yield file_item(str(real.relative_to(checkout.root)), checkout)


def check_lock(project: Path, file: Path) -> list[Standing]:
    """How the answers in a lock stand, in its order; needs no record of any.

    Raises:
        InvalidRequest: it cannot be read, a line is not what it must be, or it has no
            answer.
    """
    checkout = Checkout(project, file)
    found = []
    for answer in parsed(_text(file), str(file)):
        differing = islice(differences_of(answer, checkout), MAX_REASONS)
        reasons = tuple(Reason(each.what, each.path) for each in differing)
        state: State = "stale" if reasons else "fresh"
        if not answer.items:
            state, reasons = "unknown", (_NOTHING,)
        found.append(
            Standing(state, reasons, "", answer.question, answer.agent, answer.asked)
        )
    return found


def _text(file: Path) -> str:
    try:
        with open_plain(file, links=False) as found:
            data = found.read(MAX_BYTES + 1)
    except OSError as exc:
        raise InvalidRequest(f"{file}: {reason_of(exc)}") from None
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{file}: more than {MAX_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise InvalidRequest(f"{file}:{line}: not UTF-8") from None
