"""The verdict of all validators together: one table of rules. Pure.

| what | verdict |
| --- | --- |
| the change is known to be empty | NOTHING_TO_VALIDATE; nobody is asked |
| any validator rejects | REJECTED |
| no validator at all | NEEDS_REVIEW |
| any is in doubt, has failed or asks for a review | NEEDS_REVIEW |
| the change was not read whole, and they could not read all the rest | NEEDS_REVIEW |
| otherwise: all of them approve | APPROVED |
"""

from collections.abc import Sequence

from bridge.change.change import Change
from bridge.protocol.wording import one_line
from bridge.validation.answers import ORDER
from bridge.validation.report import Validation, ValidatorReport, Verdict

MAX_PATHS = 100
_MAX_REST = 300


def validation_of(
    change: Change,
    reports: Sequence[ValidatorReport],
    *,
    complexity: str | None = None,
    can_read: bool = False,
    duration_s: float = 0,
) -> Validation:
    """What validators say of a change, and the verdict of all.

    `can_read` says whether every one of them can read the files themselves, which makes
    up for what the diff leaves out if all of it is named, and is text in the project.
    `duration_s` is how many seconds it took.
    """
    verdict, reasons = decide(change, reports, can_read=can_read)
    return Validation(
        verdict=verdict,
        reasons=reasons,
        scope=str(change.scope),
        complexity=complexity,
        files=len(change.files) + change.more_files,
        paths=tuple(file.path for file in change.files[:MAX_PATHS]),
        left_out=() if change.is_empty else change.notes,
        reports=tuple(reports),
        duration_s=duration_s,
    )


def decide(
    change: Change, reports: Sequence[ValidatorReport], *, can_read: bool = False
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict, and the reasons for it, in sentences."""
    if change.is_empty:
        aside = one_line(change.aside, _MAX_REST)
        also = f"nothing else differs, and nobody was asked. {aside}"
        return Verdict.NOTHING, (
            also if aside else "nothing differs: nobody was asked",
        )
    found: list[tuple[Verdict, str]] = []
    if not reports:
        found.append((Verdict.NEEDS_REVIEW, "no validator was asked"))
    for report in reports:
        found += _of_report(report)
    could_read = can_read and change.is_rest_in_files and change.files
    if not change.is_whole and not could_read:
        why = "the validators were not shown the whole change"
        rest = one_line("; ".join(change.notes), _MAX_REST)
        why = f"{why}: {rest}" if rest else why
        found.append((Verdict.NEEDS_REVIEW, why))
    worst = max((each for each, _ in found), key=ORDER.index, default=Verdict.APPROVED)
    return worst, tuple(why for verdict, why in found if verdict is worst)


def _of_report(report: ValidatorReport) -> list[tuple[Verdict, str]]:
    if report.verdict is Verdict.APPROVED:
        return []
    why = "; ".join(report.doubts) or report.summary or "it gives no reason"
    return [(report.verdict, f"{report.validator}: {why}")]
