"""What follows the verdict on what was built: one table. Pure.

    verdict        rounds left    none left
    APPROVED       the end        the end
    REJECTED       build again    escalate
    NOTHING        build again    escalate
    NEEDS_REVIEW   escalate       escalate

A validator that could not decide has found nothing to mend, so that another round of
building leads nowhere: it is escalated at once. And an architect, whose advice is for
the builder, cannot help it: then it goes to the person.

    escalate to    who is asked, and what follows
    human          a person: yes approves, other words are advice for one more round,
                   no ends it
    architect      an agent, once: its advice is for one more round; then a person
    coordinator    nobody: what is left becomes a task, and the build ends
    none           nobody: the build ends
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from bridge.validation.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

EscalateTo = Literal["human", "architect", "coordinator", "none"]
ESCALATE_TO: tuple[EscalateTo, ...] = get_args(EscalateTo)
# What follows: the nodes of a build's plan, or its end.
Next = Literal["build", "architect", "person", "task", "end"]

_MENDS: Mapping[Verdict, bool] = {
    Verdict.REJECTED: True,
    Verdict.NOTHING: True,
    Verdict.NEEDS_REVIEW: False,
}
_ASKS: Mapping[EscalateTo, Next] = {
    "human": "person",
    "architect": "architect",
    "coordinator": "task",
    "none": "end",
}


def next_of(
    verdict: Verdict, *, is_last: bool, escalate_to: EscalateTo, is_advised: bool
) -> Next:
    """What follows a verdict.

    `is_last`: no round is left. `is_advised`: the architect was asked before.
    """
    if verdict is Verdict.APPROVED:
        return "end"
    mends = _MENDS[verdict]
    if mends and not is_last:
        return "build"
    asks = _ASKS[escalate_to]
    return "person" if asks == "architect" and (is_advised or not mends) else asks
