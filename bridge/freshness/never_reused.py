"""Which answers are never reused, and why: one table. Pure.

A new reason is one line here; `ask --cached` then asks as usual, and `stale` says why.
Required evidence was checked before the answer counted as a success.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bridge.freshness.reads import Reads
from bridge.protocol.digest import sha256_of
from bridge.protocol.request import Request
from bridge.protocol.response import Response

ANOTHER = "another"
# Why it is unknown whether an answer still holds: `Reads.doubt`.
OUTSIDE = "outside"
ACTED = "acted"
MEANWHILE = "meanwhile"
UNKNOWABLE = "unknowable"
_DOUBTS = {
    OUTSIDE: "it rests on something that cannot be checked",
    ACTED: "its agent changed files: that was an action, no reading",
    MEANWHILE: "something that it rests on changed while the agent worked",
    UNKNOWABLE: "what it rests on could not be read",
}


class Given(NamedTuple):
    """An answer: what was asked, what came, what it rests on."""

    request: Request
    response: Response
    reads: Reads


class Never(NamedTuple):
    """A reason: its name, what it says, and when it holds.

    `is_doubt`: it is unknown whether the answer still holds.
    """

    name: str
    says: str
    holds: Callable[[Given], bool]
    is_doubt: bool = False


def _of_doubt(name: str) -> Never:
    return Never(name, _DOUBTS[name], lambda g: g.reads.doubt == name, is_doubt=True)


NEVER = (
    Never(
        ANOTHER,
        "what is known of an answer to this question is about another one",
        lambda g: not is_about(g),
    ),
    Never("failed", "it is no success", lambda g: not g.response.success),
    Never(
        "by_hand",
        "a person gave it by hand",
        lambda g: g.response.route in ("manual", "none"),
    ),
    Never(
        "degraded",
        "a small model gave it, or not the one that was wanted",
        lambda g: g.response.degraded,
    ),
    Never(
        "conversation",
        "its agent knew an earlier conversation",
        lambda g: bool(
            g.response.continued or g.request.continues or g.request.context_from
        ),
        is_doubt=True,
    ),
    Never(
        "replied",
        "its agent asked, and somebody replied",
        lambda g: bool(g.request.exchanges),
        is_doubt=True,
    ),
    Never(
        "workflow",
        "its agent worked through a step workflow, which acts and has a state",
        lambda g: g.request.works_through is not None,
        is_doubt=True,
    ),
    Never(
        "worktree",
        "its agent worked in a worktree of its own",
        lambda g: g.request.folder is not None,
        is_doubt=True,
    ),
    *map(_of_doubt, _DOUBTS),
)


def why_never(given: Given) -> Never | None:
    """The first reason why an answer is never reused; None if it may be."""
    return next((each for each in NEVER if each.holds(given)), None)


def is_about(given: Given) -> bool:
    """Whether a read set is of this answer: of this request, with these words."""
    request, response, reads = given
    return (
        reads.request_id == request.request_id
        and response.request_digest == request.digest
        and reads.answer == words_digest(response)
    )


def words_digest(response: Response) -> str:
    """The SHA-256 of an agent's words."""
    return sha256_of(response.raw_output.encode("utf-8", "surrogatepass"))
