"""Look for what is wrong, with cause and cure.

Prints what is wrong, worst first, and what to do first; --all prints every check. It
looks at the machine, the state of this project, the hooks and who registered them, the
open sessions, and at requests that wait or have failed. With --live it also asks an
open session for a tiny answer, which costs that session one small agent. Exits 1 when
there is a problem.

For example:
  hostbridge doctor
  hostbridge doctor --live
"""

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

from bridge.cli.common.options import AS_JSON, switch, timeout
from bridge.cli.common.output import counted, say, say_json
from bridge.cli.screen.screen import Line, Style, Styled, screen_of, wrapped
from bridge.config import environment
from bridge.doctor.examine import PAST, examine, guarded, worst
from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.subject import subject

_COLOURS: dict[Verdict, Style] = {
    Verdict.OK: "green",
    Verdict.WARNING: "yellow",
    Verdict.PROBLEM: "red",
}
_WIDE = 80
_WIDTH = max(map(len, Verdict))
_NAME_WIDTH = 12


OPTIONS = (
    AS_JSON,
    switch("--all", help="Show every check, not only what is wrong."),
    switch("--live", help="Also ask an open session for a tiny answer."),
    timeout("How long --live waits; by default 1m.", least_s=0.1, default=60.0),
)


def command(options: Namespace) -> int:
    """Run every check and print what it found."""
    looked_at = subject(environment(), Path())
    checks = examine(looked_at)
    if options.live:
        from bridge.doctor.live import ask

        live = partial(ask, looked_at, timeout_s=options.timeout_s)
        checks = chain(checks, guarded("live", live))
    findings = list(_shown_working(checks))
    verdict = worst(findings)
    if options.as_json:
        say_json({"verdict": verdict, "checks": [asdict(f) for f in findings]})
    else:
        width = screen_of(sys.stdout).width
        say(*screen(findings, looked_at.project, width, everything=options.all))
    return 1 if verdict is Verdict.PROBLEM else 0


def _shown_working(checks: Iterable[Finding]) -> Iterator[Finding]:
    """The findings; on a terminal, with the name of the last one for the meantime."""
    is_shown = screen_of(sys.stderr).colour and sys.stderr.isatty()
    for finding in checks:
        if is_shown:
            sys.stderr.write(f"\r\x1b[Klooking: {finding.name}")
            sys.stderr.flush()
        yield finding
    if is_shown:
        sys.stderr.write("\r\x1b[K")


def screen(
    findings: list[Finding], project: Path, width: int | None, *, everything: bool
) -> Iterator[Line]:
    """What is wrong, worst first; if nothing is, which sessions can be asked."""
    order = list(Verdict)
    sick = [each for each in findings if each.verdict is not Verdict.OK]
    # What is past is not mended any more: it comes last.
    sick.sort(key=lambda each: (each.name == PAST, -order.index(each.verdict)))
    if sick and sick[0].name != PAST:
        # Each check relies on those before it.
        yield from wrapped(f"Do this first: {sick[0].cure}", width, whole_words=True)
        yield ""
    else:
        but = "; but of its last requests some failed:" if sick else ""
        text = f"hostbridge works in {project}{but}"
        yield from wrapped(text, width, whole_words=True)
        if sick:
            yield ""
    usual = ("live",) if sick else ("live", "session")
    for finding in findings if everything else sick:
        yield from finding_lines(finding, width)
    for finding in findings:
        if finding.name in usual and not everything and finding not in sick:
            yield from finding_lines(finding, width)
    yield from wrapped(_summary(findings, everything=everything), width)


def _summary(findings: list[Finding], *, everything: bool) -> str:
    counts = Counter(finding.verdict for finding in findings)
    worse = [v for v in (Verdict.PROBLEM, Verdict.WARNING) if counts[v]]
    summary = ", ".join(counted(counts[verdict], verdict) for verdict in worse)
    well = f"{counted(counts[Verdict.OK], 'check')} found nothing wrong"
    more = "" if everything else " (--all shows them)"
    return f"{summary}; {well}{more}" if summary else f"{well}{more}"


def finding_lines(finding: Finding, width: int | None) -> Iterator[Line]:
    """One finding; on a narrow terminal its words are below its name."""
    words = finding.found
    if finding.verdict is not Verdict.OK:
        cause = f"\ncause: {finding.cause}" if finding.cause else ""
        words = f"{words}{cause}\ncure:  {finding.cure}"
    verdict = Styled(f"{finding.verdict:<{_WIDTH}}", _COLOURS[finding.verdict])
    if width is not None and width < _WIDE:
        yield verdict, f" {finding.name}"
        yield from wrapped(words, width, "    ", whole_words=True)
        return
    indent = " " * (_WIDTH + _NAME_WIDTH + 2)
    first, *others = wrapped(words, width, indent, whole_words=True)
    yield verdict, f" {finding.name:<{_NAME_WIDTH}} {first.lstrip()}"
    yield from others
