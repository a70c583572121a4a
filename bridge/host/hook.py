"""One hook process: read the event, have it answered, say at most one thing.

Whatever goes wrong here is logged, and the user's own calls are not touched; requests
of our own agents are denied (`gate.last_word`). An alarm bounds the time,
`bridge.protocol.hook_output` the output.
"""

from __future__ import annotations

# `signal` itself makes enums of its numbers.
import _signal as signal  # type: ignore[import-not-found]  # has no stubs
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.bound.gate import last_word, read_all
from bridge.errors import StateRefused
from bridge.host import dispatch
from bridge.protocol.hook_output import SILENT, HookOutput, with_line
from bridge.store.hook_log import log_failure

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

TIME_LIMIT_S = 20
# For what is done after the client has its answer.
LATER_LIMIT_S = 20


# Of Jython: the standard library looks for it in vain.
_NOWHERE = "org"


class _Installed:
    """Finds what is installed, once something is wanted that is not there.

    Looking into `site-packages` and its `.pth` files takes longer than most events.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: object = None
    ) -> ModuleSpec | None:
        """Have all that is installed found from now on, and find this."""
        top = name.partition(".")[0]
        if path is not None or top == _NOWHERE or top in sys.stdlib_module_names:
            return None
        sys.meta_path.remove(_Installed)
        import site

        site.main()
        found = (each.find_spec(name, path, None) for each in sys.meta_path)
        return next(filter(None, found), None)


def use_what_is_installed() -> None:
    """Find installed libraries in a Python that was started without them (-S)."""
    if sys.flags.no_site:
        sys.meta_path.append(_Installed)


class _TooLong(BaseException):
    """The time is up; not an `Exception`, so that no handler on the way catches it."""


def main(
    event_name: str = "",
    kind: str = "",
    state: str = "",
    data: bytes | None = None,
    *,
    begun: bytes = b"",
) -> None:
    """Answer the event, which is on stdin if it was not read yet; never returns.

    `begun` is what somebody has read from there before.
    """
    output = SILENT
    signal.signal(signal.SIGALRM, _too_long)
    # The scripts have set an alarm that ends the process; part of it may have passed.
    left = signal.getitimer(signal.ITIMER_REAL)[0] or TIME_LIMIT_S
    # Repeatedly: an exception raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, min(TIME_LIMIT_S, left), 1)
    try:
        data = begun + read_all() if data is None else data
        output = dispatch.answer(data, event_name, kind, state)
    except (Exception, _TooLong) as exc:  # noqa: BLE001 - fails open, whatever it was
        # What follows must not be interrupted half way.
        signal.alarm(0)
        log_failure(event_name)
        output = _answer_to_failure(event_name, state, data or b"", exc)
    signal.alarm(0)
    _emit(output)


def _too_long(_signal: int, _frame: object) -> None:
    raise _TooLong(f"the hook took more than {TIME_LIMIT_S} s")


def _answer_to_failure(
    event_name: str, state: str, data: bytes, failure: BaseException
) -> HookOutput:
    """What to answer although something failed."""
    said = last_word(event_name, state, data)
    if said or event_name not in ("SessionStart", "CwdChanged"):
        return HookOutput(said)
    output = SILENT
    with suppress(Exception):
        output = dispatch.only_watch(data)
    if event_name == "SessionStart" and isinstance(failure, StateRefused):
        # So it will be at each event.
        output = with_line(output, f"hostbridge, and your rules, are off: {failure}")
    return output


def _emit(output: HookOutput) -> None:
    """Print and leave at once: nothing may come after the one document."""
    try:
        if output.stderr:
            os.write(2, output.stderr.encode())
        view = memoryview(output.stdout)
        while view:
            view = view[os.write(1, view) :]
        if output.printed is not None:
            output.printed()
    except Exception:  # noqa: BLE001, S110 - the answer is out, or nobody reads it
        pass
    if output.later is not None:
        _do_later(output.later)
    os._exit(output.exit_code)


def _do_later(later: Callable[[], None]) -> None:
    """Do it in another process; the client waits for this one.

    It takes any process that holds stdout for a running hook.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if os.fork():
            return
    except OSError:
        return
    try:
        os.setsid()
        os.nice(5)
        signal.setitimer(signal.ITIMER_REAL, LATER_LIMIT_S, 1)
        later()
    except _TooLong:
        pass
    except Exception:  # noqa: BLE001 - nobody would see it
        signal.alarm(0)
        log_failure("after the answer")
    finally:
        os._exit(0)
