"""What validators said, on the screen: verdict, validators, issues as compilers do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.api.validation_result import build_of_run, validation_of_run
from bridge.cli.common.exit_codes import Exit, of_verdict
from bridge.cli.common.output import complain, counted, say, say_json, span, visible
from bridge.cli.running.run_text import stands, ways_out
from bridge.cli.screen.screen import Styled
from bridge.engine.view import view
from bridge.protocol.wording import in_shell, one_line
from bridge.store.sessions import live_sessions
from bridge.validation.names import BUILD
from bridge.validation.report import Severity, Verdict
from bridge.validation.words import issue_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.api.bridge import Bridge
    from bridge.api.validation_result import BuildResult
    from bridge.cli.screen.screen import Line, Style
    from bridge.validation.report import Validation, ValidatorReport

_COLOURS: dict[Verdict, Style] = {
    Verdict.APPROVED: "green", Verdict.REJECTED: "red",
    Verdict.NEEDS_REVIEW: "yellow", Verdict.NOTHING: "dim",
}  # fmt: skip
_MAX_WORDS = 300
_WORDS = {
    Verdict.APPROVED: "approved",
    Verdict.REJECTED: "rejected",
    Verdict.NEEDS_REVIEW: "needs review",
    Verdict.NOTHING: "nothing to validate",
}


def end_of(bridge: Bridge, kind: str, run: str, *, as_json: bool) -> int:
    """Print what a run of `validate` or `build` came to; returns the exit code."""
    if kind == BUILD:
        return end_of_build(bridge, build_of_run(bridge.store, run), as_json=as_json)
    return end_of_validation(
        bridge, validation_of_run(bridge.store, run), as_json=as_json
    )


def said_in(bridge: Bridge, kind: str, run: str) -> Iterator[Line]:
    """What was said in a run of `validate` or `build` that has come to its end."""
    if kind == BUILD:
        return build_lines(build_of_run(bridge.store, run))
    return validation_lines(validation_of_run(bridge.store, run))


def end_of_validation(bridge: Bridge, found: Validation, *, as_json: bool) -> int:
    """Print a verdict; returns the exit code."""
    if as_json:
        say_json(found)
    else:
        say(*validation_lines(found))
    if few := few_slots(bridge, found):
        complain(few)
    return _end(bridge, found.run, of_verdict(found.verdict))


def end_of_build(bridge: Bridge, done: BuildResult, *, as_json: bool) -> int:
    """Print what a build came to; returns the exit code."""
    if as_json:
        say_json(done)
    else:
        say(*build_lines(done))
    if done.is_approved:
        return Exit.OK
    code = Exit.FAILED if done.verdict is Verdict.NOTHING else of_verdict(done.verdict)
    return _end(bridge, done.run, code)


def few_slots(bridge: Bridge, found: Validation) -> str:
    """That validators had to wait for one another, and the way out; or nothing."""
    asked = len({each.request_id for each in found.reports} - {None})
    if found.run is None:
        return ""
    route = view(bridge.store, found.run).run["ask"].get("route", "host")
    sessions = len(live_sessions(bridge.store)) if route == "host" else 1
    slots = bridge.settings.slots * max(1, sessions)
    if route == "local" or asked <= slots:
        return ""
    return (
        f"{asked} validators had {counted(slots, 'slot')}, so that some waited; all at "
        f"once: hostbridge config set slots {asked}"
    )


def _end(bridge: Bridge, run_id: str | None, code: Exit) -> Exit:
    """The exit code; of a run that has not come to its end, why, and what to do."""
    if run_id is None:
        return code
    run = view(bridge.store, run_id).run
    if run["status"] == "completed":
        return code
    for line in (stands(run), *ways_out(run)):
        complain(line)
    if "(--timeout)" in run["why"]:
        return Exit.DEADLINE
    return Exit.FAILED if run["status"] == "failed" else code


def validation_lines(found: Validation) -> Iterator[Line]:
    """A verdict, and what it rests on."""
    about = [found.scope]
    if found.verdict is not Verdict.NOTHING:
        about += [counted(found.files, "file")]
        about += [found.complexity] if found.complexity else []
    yield (
        Styled(_WORDS[found.verdict], _COLOURS[found.verdict]),
        f": {visible(', '.join(filter(None, about)))}" if found.scope else "",
    )
    if not found.reports:
        yield from (f"  {_short(each)}" for each in found.reasons)
    for report in found.reports:
        yield _report_line(report)
        doubts = (each for each in report.doubts if each != report.summary)
        yield from (f"  {_short(each)}" for each in doubts)
    if found.reports and (more := _own_reasons(found)):
        yield from (f"  {_short(each)}" for each in more)
    order = [*Severity]
    issues = [(each, issue) for each in found.reports for issue in each.issues]
    for report, issue in sorted(issues, key=lambda pair: order.index(pair[1].severity)):
        yield visible(issue_line(report, issue))
    yield from map(_short, (*found.readings, *found.notes))
    yield from (f"not shown to them: {_short(each)}" for each in found.left_out)


def _own_reasons(found: Validation) -> list[str]:
    """The reasons that are no validator's."""
    names = tuple(f"{report.validator}: " for report in found.reports)
    return [each for each in found.reasons if not each.startswith(names)]


def _report_line(report: ValidatorReport) -> Line:
    took = f" ({span(report.duration_s)})" if report.duration_s else ""
    how = ", degraded" if report.degraded else ""
    how += ", by hand" if report.by_hand else ""
    said = _short(report.summary)
    return (
        f"{visible(report.validator)}: ",
        Styled(_WORDS[report.verdict], _COLOURS[report.verdict]),
        f"{how}{took}{f': {said}' if said else ''}",
    )


def build_lines(done: BuildResult) -> Iterator[Line]:
    """What a build came to: the end, and what was said of the last round."""
    rounds = counted(len(done.rounds), "round")
    by = f" by {'its user' if done.approved_by == 'person' else 'all validators'}"
    word: Style = "green" if done.is_approved else "red"
    said = f"approved{by}" if done.is_approved else "not approved"
    yield Styled(said, word), f", {rounds}"
    if done.summary:
        yield f"built: {_short(done.summary)}"
    if done.rounds:
        yield from validation_lines(done.rounds[-1])
    if done.said and not done.is_approved:
        yield f"its user said: {_short(done.said)}"
    if done.task:
        yield f"handed over as task {done.task}: " + in_shell(
            "hostbridge", "task", "show", done.task
        )
    if done.branch:
        way = f": git merge {done.branch}" if done.is_approved else ", not approved"
        yield f"on branch {done.branch}{way}"
    # One that has stopped goes on there.
    if done.branch and done.worktree and done.status == "completed":
        yield _removal(done.worktree, done.branch, is_merged=done.is_approved)


def _removal(worktree: str, branch: str, *, is_merged: bool) -> str:
    """How its user gets rid of a worktree that nothing needs any more."""
    force = () if is_merged else ("-f",)
    remove = in_shell("git", "worktree", "remove", *force, worktree)
    delete = in_shell("git", "branch", "-d" if is_merged else "-D", branch)
    return (
        f"{'after that' if is_merged else 'to drop it'}: {visible(remove)} && {delete}"
    )


def _short(text: str) -> str:
    return visible(one_line(text, _MAX_WORDS))
