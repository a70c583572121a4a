"""Remove finished requests with all that belonged to them; what is unfinished stays.

Without options: what ended more than 30 days ago. What is overdue is ended first;
left-over temporary files, wake-up files of closed sessions, and checkouts of what was
staged that nobody needs any more, go in any case. So do worktrees of runs that were
cancelled or removed; one with work that is not committed or merged stays, and is named.
So does one that somebody works in: a process has it as its working folder, it is on
another branch, or its run was removed and a file in it is younger than that time.

For example:
  hostbridge prune --older-than 7d
  hostbridge prune --max-mib 100 --dry-run
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.common.options import AS_JSON, at_least, option, switch
from bridge.cli.common.output import complain, say_result
from bridge.cli.screen.durations import DAY_S, duration

KEPT_DAYS = 30.0
MIB = 1024 * 1024


OPTIONS = (
    option(
        "--older-than",
        dest="age_s",
        metavar="TIME",
        apart="age",
        type=duration(least_s=0, most_s=3650 * DAY_S),
        help="Remove what ended longer ago than this, such as 7d or 12h.",
    ),
    option(
        "--days",
        metavar="N",
        apart="age",
        type=at_least(0),
        help="Remove what ended more than N days ago; 0 is all that has ended.",
    ),
    option(
        "--max-mib",
        metavar="N",
        type=at_least(0),
        help="Remove the oldest until the rest fits into N MiB.",
    ),
    switch("--dry-run", help="Show how much would be removed, and remove nothing."),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Prune and say how much was removed."""
    days, max_mib = options.days, options.max_mib
    if options.age_s is not None:
        days = options.age_s / DAY_S
    if days is None and max_mib is None:
        days = KEPT_DAYS
    gone = Bridge.open().prune(
        older_than_days=days,
        max_bytes=None if max_mib is None else int(max_mib * MIB),
        dry_run=options.dry_run,
    )
    done = "would remove" if options.dry_run else "removed"
    for each in () if options.as_json else gone.removed_worktrees:
        complain(f"{done} the worktree {each.folder} and its branch {each.branch}")
    for each in () if options.as_json else gone.kept_worktrees:
        complain(f"kept: {each.holds}. What to do: {'; '.join(each.ways)}")
    trees = f"worktrees {gone.worktrees:,}, " if gone.worktrees else ""
    if options.dry_run:
        said = (
            f"would remove: {trees}requests {gone.requests:,}, quarantined files "
            f"{gone.quarantined:,}; {gone.freed_bytes / MIB:.1f} MiB"
        )
        say_result(options, gone, said)
        return
    said = (
        f"removed: {trees}requests {gone.requests:,}, quarantined files "
        f"{gone.quarantined:,}, temporary files {gone.temporaries:,}, wake-up files of "
        f"closed sessions {gone.bells:,}, runs of flows {gone.runs:,}; "
        f"{gone.freed_bytes / MIB:.1f} MiB freed"
    )
    say_result(options, gone, said)
