"""Look for what is wrong, with cause and cure.

Looks at the machine, the state of this project, the hooks and who registered them, the
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
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

from bridge.cli.options import AS_JSON, switch, timeout
from bridge.cli.output import counted, say, say_json
from bridge.cli.screen import Line, Style, Styled, screen_of, wrapped
from bridge.config import environment
from bridge.doctor.examine import examine, guarded, worst
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
    findings = []
    width = screen_of(sys.stdout).width
    for finding in checks:
        findings.append(finding)
        if not options.as_json:
            say(*finding_lines(finding, width))
    verdict = worst(findings)
    if options.as_json:
        say_json({"verdict": verdict, "checks": [asdict(f) for f in findings]})
    else:
        _sum_up(findings)
    return 1 if verdict is Verdict.PROBLEM else 0


def finding_lines(finding: Finding, width: int | None) -> Iterator[Line]:
    """One finding; on a narrow terminal its words are below its name."""
    words = finding.found
    if finding.verdict is not Verdict.OK:
        words = f"{words}\ncause: {finding.cause}\ncure:  {finding.cure}"
    verdict = Styled(f"{finding.verdict:<{_WIDTH}}", _COLOURS[finding.verdict])
    if width is not None and width < _WIDE:
        yield verdict, f" {finding.name}"
        yield from wrapped(words, width, "    ", whole_words=True)
        return
    indent = " " * (_WIDTH + _NAME_WIDTH + 2)
    first, *others = wrapped(words, width, indent, whole_words=True)
    yield verdict, f" {finding.name:<{_NAME_WIDTH}} {first.lstrip()}"
    yield from others


def _sum_up(findings: list[Finding]) -> None:
    counts = Counter(finding.verdict for finding in findings)
    worse = [v for v in (Verdict.PROBLEM, Verdict.WARNING) if counts[v]]
    summary = ", ".join(counted(counts[verdict], verdict) for verdict in worse)
    say(summary or "nothing is wrong")
