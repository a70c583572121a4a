"""`hostbridge task validate`: an agent looks whether a task is done."""

from argparse import Namespace
from typing import Any

from bridge.api.bridge import Bridge
from bridge.api.task_holder import person_here
from bridge.api.task_validation import Validation
from bridge.cli.exit_codes import Exit
from bridge.cli.interrupts import Interrupts
from bridge.cli.output import prose, say, say_json
from bridge.cli.progress import Progress
from bridge.tasks.validation import VALIDATOR


def validate(bridge: Bridge, options: Namespace) -> int:
    """Have each task looked at, and print the verdict; fails if one has not passed."""
    is_good = True
    for word in options.words:
        found = _validated(bridge, word, options)
        is_good = is_good and found["state"] == "passed"
        if options.as_json:
            say_json(found)
        else:
            say(*_lines(found))
    return Exit.OK if is_good else Exit.FAILED


def _validated(bridge: Bridge, word: str, options: Namespace) -> dict[str, Any]:
    progress, interrupts = Progress(VALIDATOR), Interrupts()
    interrupts.on()
    validation = Validation(
        bridge.store,
        bridge.settings,
        person_here(bridge.store, bridge.settings),
        route=options.route or "auto",
        on_stage=interrupts.before(progress),
        on_progress=progress.follow,
    )
    with progress:
        return validation.validate(word, summary=options.reason or "")


def _lines(found: dict[str, Any]) -> list[str]:
    """The verdict, and what was found."""
    ref, turn, most = found["taskId"], found["iteration"], found["maxIterations"]
    lines = [f"{ref} {found['state']} (look {turn} of {most})"]
    lines += [f"  {prose(found['void'])}"] if found["void"] else []
    if found["state"] != "passed":
        lines += [f"  - {prose(each)}" for each in found["feedback"]]
    return lines
