"""`runs` and `words` for conditions, loaded when a command must really be read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bridge.policy.command_reading import Reading


def shell(
    clock: Callable[[], float], folders: Sequence[str] | None = None
) -> dict[str, Callable[..., Any]]:
    """The functions of `condition.evaluate` that read commands; each is read once.

    Args:
        clock: seconds that only go forward; `time.process_time` counts only the work
            of this process, so that a busy machine changes nothing.
        folders: where the parser's packages are, if not on `sys.path`: a hook without
            site-packages has them from `bash_parser.parser_folders`.
    """
    readings: dict[str, Reading] = {}

    def reading(command: str) -> Reading:
        if command not in readings:
            from bridge.policy.bash_parser import BashParser
            from bridge.policy.started_programs import read

            readings[command] = read(command, BashParser(clock, folders))
        return readings[command]

    return {
        "runs": lambda command, *names: reading(command).runs(names),
        "words": lambda command: reading(command).words(),
    }
