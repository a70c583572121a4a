"""Which answers do not hold any more, and why.

An answer holds while everything that its agent looked at is as it was: the bytes of
files, the names below folders that it searched, its definition. Without an ID, the
newest answer to each question is looked at.

--write-lock writes what answers rest on into a file that a project can keep; --lock
checks such a file, without a model and without any record of the answers: for CI.

Exit codes: 0 all hold; 1 some do not, or nobody can tell, or there is no such request;
2 usage, also a lock that cannot be read, or no answer for one.

For example:
  hostbridge stale
  hostbridge stale --write-lock answers.lock
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.api.bridge import Bridge
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import AS_JSON, IDS, option
from bridge.cli.common.output import complain, counted, say, say_json, visible
from bridge.cli.common.which_request import which
from bridge.errors import InvalidRequest
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from bridge.api.stale import Standing

_SHOWN = 10
_ASKED_CHARS = 60
OPTIONS = (
    IDS,
    option(
        "--lock",
        metavar="FILE",
        apart="lock",
        type=Path,
        completes="file",
        help="Check the answers in this file, such as answers.lock.",
    ),
    option(
        "--write-lock",
        metavar="FILE",
        apart="lock",
        type=Path,
        completes="file",
        help="Write what these answers rest on into this file; without an ID, of all "
        "that hold and that a clone can check.",
    ),
    AS_JSON,
)
USAGE = "[ID...]"


def command(options: Namespace) -> int:
    """List them; returns the exit code."""
    bridge = Bridge.open()
    if options.lock is not None and options.ids:
        raise InvalidRequest("--lock checks all that is in the file; leave out the ID")
    ids = [which(bridge, each) for each in options.ids]
    if options.write_lock is not None:
        return _write(bridge, options, ids)
    if options.lock is not None:
        found = bridge.check_lock(options.lock)
    else:
        found = bridge.stale(ids)
    _show(options, found)
    return Exit.OK if all(each.state == "fresh" for each in found) else Exit.FAILED


def _write(bridge: Bridge, options: Namespace, ids: list[str]) -> int:
    count, left_out = bridge.write_lock(options.write_lock, ids)
    if options.as_json:
        say_json({"locked": count, "leftOut": [_data(each) for each in left_out]})
        return Exit.OK
    for each in left_out:
        complain("left out: " + "\n".join(_lines(each)))
    say(f"{counted(count, 'answer')} in {visible(str(options.write_lock))}")
    return Exit.OK


def _show(options: Namespace, found: list[Standing]) -> None:
    if options.as_json:
        for each in found:
            say_json(_data(each))
        return
    for each in found:
        if each.state != "fresh":
            say(*_lines(each))
    fresh = sum(each.state == "fresh" for each in found)
    unknown = sum(each.state == "unknown" for each in found)
    stale = len(found) - fresh - unknown
    say(f"{fresh:,} fresh, {stale:,} stale, {unknown:,} unknown")


def _lines(standing: Standing) -> Iterator[str]:
    which_one = standing.request_id or standing.question[:12]
    asked = one_line(standing.asked, _ASKED_CHARS)
    yield visible(f"{which_one}  {standing.agent}  {asked}")
    for reason in standing.reasons[:_SHOWN]:
        yield visible(f"    {reason.what}: {reason.about}")
    if (more := len(standing.reasons) - _SHOWN) > 0:
        yield f"    and {more:,} more"


def _data(standing: Standing) -> dict[str, Any]:
    reasons = [{"what": each.what, "about": each.about} for each in standing.reasons]
    return {
        "requestId": standing.request_id or None,
        "question": standing.question,
        "state": standing.state,
        "agent": standing.agent,
        "asked": standing.asked,
        "completedAt": standing.given_at_ms or None,
        "reasons": reasons,
    }
