"""Have something done in a repository by a process of its own, which has a deadline.

    python -EPB own_process.py MODULE FUNCTION

It reads the function's arguments from stdin, as JSON, and prints what it gives, or
{"refused", "ways"}. A pipe among git's files holds up libgit2 for ever, and with it
every thread of its process: an alarm ends that in a main thread alone, and nothing
else does. A process can be killed.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LIMIT_S = 300.0
_EXTRA_S = 5.0
_MAX_BYTES = 1 << 24


def in_own_process(
    function: Callable[..., dict[str, Any]],
    *,
    limit_s: float = LIMIT_S + _EXTRA_S,
    should_stop: Callable[[], bool] = lambda: False,
    **given: Any,
) -> dict[str, Any]:
    """What a function of a module gives for these arguments; all of it is JSON.

    Raises:
        WorktreeRefused: it cannot be done, or takes longer than `limit_s`.
        Stopped: `should_stop`, which is asked several times a second, said so.
    """
    from bridge.config import git_environment
    from bridge.errors import reason_of
    from bridge.process import run
    from bridge.worktrees.refused import WorktreeRefused

    output = run.WholeOutput(_MAX_BYTES)
    try:
        ended = run.run(
            # Without the project's modules, and without writing bytecode.
            [
                sys.executable,
                "-EPB",
                __file__,
                function.__module__,
                function.__name__,
            ],
            output,
            stdin=json.dumps(given).encode("ascii"),
            env=git_environment(),
            folder=Path("/"),
            deadline_s=time.monotonic() + limit_s,
            should_stop=should_stop,
        )
    except OSError as exc:
        raise WorktreeRefused(
            f"the process for git's files cannot be started: {reason_of(exc)}"
        ) from None
    if ended.how == "stopped":
        raise run.Stopped
    if ended.how == "deadline":
        raise WorktreeRefused(
            f"git's files could not be read and written within {limit_s:.0f} s",
            ways=("look for a pipe among them, or a drive that does not answer",),
        )
    try:
        done: dict[str, Any] = json.loads(bytes(output.data))
    except ValueError:
        last = ended.stderr.strip().rpartition("\n")[2] or f"exit {ended.exit_code}"
        done = {"refused": f"what was to be done has failed: {last[:300]}", "ways": ()}
    if "refused" in done:
        raise WorktreeRefused(done["refused"], ways=tuple(done["ways"]))
    return done


def main(module: str, function: str) -> None:
    """Do it."""
    # Under -P our package may not be on the path; it goes behind everything else.
    sys.path.append(os.path.abspath(__file__ + "/../../.."))
    from bridge.errors import BridgeError

    try:
        said = getattr(import_module(module), function)(**json.load(sys.stdin))
    except BridgeError as exc:
        said = {"refused": exc.what, "ways": exc.ways}
    sys.stdout.write(json.dumps(said, ensure_ascii=True))


if __name__ == "__main__":
    main(*sys.argv[1:3])
