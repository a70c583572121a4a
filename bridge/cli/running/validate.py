"""Have validators look at a change, side by side; print their verdict.

By default it is what is not committed; --staged, a revision REV (what has changed
since), A..B or paths say otherwise, as for `git diff`. How complex the change is
decides which of the built-in validators are asked; --with names others. Issues are
printed as compilers do, so that editors find them; --sarif writes them for CI.

A validator that fails, does not answer in time, has seen too little or was not itself
approves nothing. Of an empty change nobody is asked, and nothing is approved.

Exit codes: 0 approved, or nothing to validate; 1 rejected; 8 needs review: a person has
to decide; 2 called wrongly, or approved and --sarif could not be written; 4 nobody
could take it; 6 begun, cannot wait here; 130 interrupted.

For example:
  hostbridge validate --staged
  hostbridge validate --intent "Prices in euros" --json
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import AS_JSON, NO_WAIT_QUOTA, SESSION, option
from bridge.cli.common.verbs import given_in
from bridge.cli.running.run_options import ARGUMENTS, ROUTE, option_for
from bridge.cli.running.run_shown import shown
from bridge.cli.running.validation_text import end_of_validation
from bridge.validation.complexity import Complexity
from bridge.validation.report import Validation

_LOOK = "Who looks at it"
# What chooses the validators, and who answers for them.
WHO_LOOKS = (
    option(
        "--with",
        dest="validators",
        metavar="NAME,...",
        heading=_LOOK,
        completes="agents",
        action="append",
        default=[],
        help="These validators, whatever the change; may be repeated.",
    ),
    option_for("validate", "complexity", _LOOK, choices=(*map(str, Complexity),)),
    option_for("validate", "accept_degraded", _LOOK),
    option_for("validate", "together", _LOOK),
    ROUTE,
    SESSION,
)
SARIF = option(
    "--sarif",
    metavar="FILE",
    completes="file",
    type=Path,
    help="Write the issues as SARIF, too; only an earlier log of ours is replaced.",
)
USAGE = "[REV|A..B|PATH...]"
OPTIONS = (
    option(
        "scope",
        metavar="REV|A..B|PATH...",
        nargs="*",
        completes="file",
        help="What to look at; a path after --.",
    ),
    option_for("validate", "staged", "Options"),
    option_for("validate", "intent", "Options"),
    *WHO_LOOKS,
    option_for(
        "validate",
        "timeout_s",
        "Options",
        help="How long each validator may take; by default as its definition says.",
    ),
    NO_WAIT_QUOTA,
    SARIF,
    AS_JSON,
)


def command(options: Namespace) -> int:
    """Ask, wait, print; returns the exit code."""
    bridge = Bridge.open()
    given = given_in(options, ARGUMENTS["validate"]) | {"validators": named(options)}
    scope = options.scope
    if options.after_dashes is not None:
        before = len(scope) - len(options.after_dashes)
        scope = [*scope[:before], "--", *options.after_dashes]
    found = shown(
        bridge,
        lambda on_change: bridge.validate(scope, on_change=on_change, **given),
        as_json=options.as_json,
    )
    code = end_of_validation(bridge, found, as_json=options.as_json)
    return write_sarif(options.sarif, found, code) if options.sarif else code


def named(options: Namespace) -> list[str] | None:
    """The validators that `--with` names; None for the usual ones."""
    names = [each.strip() for said in options.validators for each in said.split(",")]
    return [each for each in names if each] if options.validators else None


def write_sarif(file: Path, found: Validation, code: int) -> int:
    """Write a validation as SARIF, after its verdict was printed; the exit code.

    A log that cannot be written is no success. Any other end keeps its code.
    """
    from importlib.metadata import version

    from bridge.cli.common.error_report import complain_of
    from bridge.cli.common.output import json_text
    from bridge.errors import InvalidRequest
    from bridge.report.report_file import write
    from bridge.validation.sarif import sarif_of

    log = sarif_of(found, version=version("hostbridge"))
    text = json_text(log, pretty=True) + "\n"
    # The driver's name comes first in it, so that what begins so is a log of ours.
    begin, name, _ = text.partition('"name": "hostbridge"')
    try:
        write(file, text, begin + name, mode=0o666)
    except InvalidRequest as exc:
        complain_of(exc)
        return code or Exit.USAGE
    return code
