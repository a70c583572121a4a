"""What validators say, and what a build came to, as values. Pure."""

from enum import StrEnum
from typing import Annotated, Literal

from bridge.protocol.plain_types import Limits
from bridge.protocol.record import Count, printable
from bridge.protocol.value import Value

# An agent may say anything, but JSON holds only valid Unicode.
Words = Annotated[str, printable]
Seconds = Annotated[float, Limits(ge=0)]


class Verdict(StrEnum):
    """What is said of a change.

    A validator says one of the first three. `NOTHING` is the verdict on a change that
    is empty: nobody was asked, and nobody has approved anything.
    """

    APPROVED = "APPROVED"
    NEEDS_REVIEW = "NEEDS_REVIEW"
    REJECTED = "REJECTED"
    NOTHING = "NOTHING_TO_VALIDATE"


class Severity(StrEnum):
    """How much an issue weighs: an error rejects."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Issue(Value):
    """Something that a validator found.

    `file` is relative to the project, as the validator wrote it; `line` counts from 1.
    `rule` is the check that found it, if the validator says so.
    """

    severity: Severity
    message: Words
    file: Words | None = None
    line: Annotated[int, Limits(ge=1)] | None = None
    rule: Words | None = None

    @property
    def place(self) -> str:
        """`src/a.py:3`, or as much of it as is known."""
        line = "" if self.line is None else f":{self.line}"
        return f"{self.file}{line}" if self.file else ""


class Check(Value):
    """Something that a validator looked at."""

    name: Words
    passed: bool
    detail: Words = ""


class ValidatorReport(Value):
    """What one validator says, and how far it can be relied on.

    Attributes:
        validator: the name of its definition.
        said: the verdict in its own words; None if it gave none.
        verdict: what that counts for: `said`, or less, with the reason in `doubts`.
        summary: its summary, or why there is none.
        doubts: why it is no approval although it says so, or says nothing, in words.
        code: the code of its failure; None if it answered.
        degraded: a small model answered, or not the one wanted.
        by_hand: a person gave its answer, with `hostbridge reply`.
        verified: its answer rests on a command that was seen to succeed.
        request_id: of its request; None if none was made.
        duration_s: seconds from the question to the answer.
    """

    validator: str
    said: Verdict | None = None
    verdict: Verdict = Verdict.NEEDS_REVIEW
    summary: Words = ""
    checks: tuple[Check, ...] = ()
    issues: tuple[Issue, ...] = ()
    doubts: tuple[Words, ...] = ()
    code: str | None = None
    degraded: bool = False
    by_hand: bool = False
    verified: bool = False
    request_id: str | None = None
    duration_s: Seconds = 0.0


class Validation(Value):
    """What all validators say of a change.

    Attributes:
        verdict: the verdict of all; see `bridge.validation.aggregate`.
        reasons: what decided it, in sentences.
        scope: what was looked at, in words: `what is staged, in src`.
        complexity: trivial, low, medium or high; None if the change is empty.
        files: how many files the change touches.
        paths: the first of them, relative to the project.
        left_out: what of the change no validator was shown, in sentences.
        reports: of each validator, in the order in which they were asked for.
        readings: who was asked together, and who alone and why, in sentences; empty
            if they were not to be asked together.
        notes: what else to know of how it was looked at, in sentences: that commands
            ran with files that are no part of the change.
        duration_s: seconds that the whole took.
        run: the run that asked them, for `hostbridge runs show`; None if there is none.
    """

    verdict: Verdict
    reasons: tuple[Words, ...] = ()
    scope: Words = ""
    complexity: str | None = None
    files: Count = 0
    paths: tuple[Words, ...] = ()
    left_out: tuple[Words, ...] = ()
    reports: tuple[ValidatorReport, ...] = ()
    readings: tuple[Words, ...] = ()
    notes: tuple[Words, ...] = ()
    duration_s: Seconds = 0.0
    run: str | None = None

    @property
    def is_approved(self) -> bool:
        """Whether every validator approved; an empty change is not."""
        return self.verdict is Verdict.APPROVED


class BuildOutcome(Value):
    """What a build came to.

    Attributes:
        is_approved: every validator approved at last, or a person did.
        approved_by: who did; None if nobody.
        rounds: what the validators said to each round, the first one first.
        said: what a person said at last, if one was asked.
        task: the task that what is left was handed over as, such as `#42`.
    """

    is_approved: bool
    approved_by: Literal["validators", "person"] | None = None
    rounds: tuple[Validation, ...] = ()
    said: Words | None = None
    task: str | None = None
