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
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

from bridge.cli.options import AS_JSON, at_least, switch, timeout
from bridge.cli.output import counted, say, say_json
from bridge.config import environment
from bridge.doctor.examine import examine, guarded, worst
from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.subject import subject

_COLOURS = {Verdict.OK: "32", Verdict.WARNING: "33", Verdict.PROBLEM: "31"}
_WIDTH = max(map(len, Verdict))
_NAME_WIDTH = 12


OPTIONS = (
    AS_JSON,
    switch("--live", help="Also ask an open session for a tiny answer."),
    timeout(
        "How long --live waits, in seconds; by default 60.", at_least(0.1), default=60.0
    ),
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
    for finding in checks:
        findings.append(finding)
        if not options.as_json:
            _print(finding)
    verdict = worst(findings)
    if options.as_json:
        say_json({"verdict": verdict, "checks": [asdict(f) for f in findings]})
    else:
        _sum_up(findings)
    return 1 if verdict is Verdict.PROBLEM else 0


def _print(finding: Finding) -> None:
    verdict = f"{finding.verdict:<{_WIDTH}}"
    indent = " " * (_WIDTH + _NAME_WIDTH + 2)
    lines = [f"{finding.name:<{_NAME_WIDTH}} {finding.found}"]
    if finding.verdict is not Verdict.OK:
        lines += [f"{indent}cause: {finding.cause}", f"{indent}cure:  {finding.cure}"]
    if sys.stdout.isatty():
        # Not with `say`, which strips escape sequences.
        sys.stdout.write(f"\x1b[{_COLOURS[finding.verdict]}m{verdict}\x1b[0m ")
    else:
        sys.stdout.write(f"{verdict} ")
    say("\n".join(lines))
    sys.stdout.flush()


def _sum_up(findings: list[Finding]) -> None:
    counts = Counter(finding.verdict for finding in findings)
    worse = [v for v in (Verdict.PROBLEM, Verdict.WARNING) if counts[v]]
    summary = ", ".join(counted(counts[verdict], verdict) for verdict in worse)
    say(summary or "nothing is wrong")
