"""`hostbridge flow design`: an agent writes a flow, and a person looks at it.

What is designed is text from a model: nothing here runs it, and stdout has the flow
alone. Everything else is said on stderr.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.library import FLOWS
from bridge.api.bridge import Bridge
from bridge.api.flow_design import DESIGNER, TriedFlow, design
from bridge.bound.session_above import only_by_hand
from bridge.cli.asking.answer_text import by_whom
from bridge.cli.common.exit_codes import Exit, of_result
from bridge.cli.common.inputs import read_words, whole
from bridge.cli.common.interrupts import Interrupts
from bridge.cli.common.model_name import from_here
from bridge.cli.common.output import complain, counted, say, say_json, visible
from bridge.cli.common.progress import ProgressLine
from bridge.cli.flows.named_files import fitting
from bridge.cli.screen.screen import screen_of
from bridge.errors import BridgeError, InvalidRequest, reason_of
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.protocol.wording import in_shell, one_line, unseen

if TYPE_CHECKING:
    from argparse import Namespace

(SUFFIX,) = FLOWS.suffixes


def design_flow(options: Namespace) -> int:
    """Ask for a flow, and print it; returns the exit code."""
    wish = _wish(options)
    bridge = Bridge.open()
    out = _place(bridge, options)
    given = {name: getattr(options, name) for name in ("route", "session", "timeout_s")}
    given["model"] = from_here(options.model, bridge.settings)
    progress, interrupts = ProgressLine(DESIGNER), Interrupts()
    interrupts.on()
    tries: list[TriedFlow] = []
    given["on_stage"] = interrupts.before(progress)
    try:
        with progress:
            for each in design(bridge, wish, on_progress=progress.follow, **given):
                tries.append(each)
                interrupts()
    finally:
        # Also if it is interrupted, or cannot be asked again.
        if tries and tries[-1].problems:
            _say_failure(tries)
    tried = tries[-1]
    if not tried.problems and out:
        _write(out, tried.flow, is_forced=options.force)
    if options.as_json:
        say_json(_value(tried, out))
    if tried.problems:
        return Exit.FAILED
    if not (out or options.as_json):
        _print(tried.flow)
    _say_success(tried, out)
    return of_result(tried.result, accept_degraded=options.accept_degraded)


def _wish(options: Namespace) -> str:
    if len(options.flows) != 1:
        wrong = "put it in quotes" if options.flows else "what is the flow to do"
        raise InvalidRequest(
            f'design: {wrong}: {options.prog} design "Find and mend …"'
        )
    [said] = options.flows
    return read_words(None, "what the flow is to do") if said == "-" else whole(said)


def _place(bridge: Bridge, options: Namespace) -> Path | None:
    """Where the flow is to be written, if anywhere; refused before anybody is asked."""
    if not options.out:
        return None
    out: Path = options.out
    if out.suffix != SUFFIX:
        raise InvalidRequest(f"--out {out}: the file of a flow ends with {SUFFIX}")
    if not out.parent.is_dir():
        raise InvalidRequest(f"--out {out}: there is no folder {out.parent}")
    if os.path.lexists(out) and not options.force:
        raise InvalidRequest(
            f"{out} is there already, and stays as it is; choose another name, or add "
            "--force"
        )
    home = os.path.realpath(bridge.settings.home)
    if Path(os.path.realpath(out)).is_relative_to(home):
        # What is there has a name, and hides a built-in flow of the same name.
        only_by_hand(bridge.settings, bridge.store, "hostbridge flow design --out")
    return out


def _write(out: Path, text: str, *, is_forced: bool) -> None:
    """Write it; what stands there as a link is replaced, not what that leads to."""
    new = out.with_name(f".{out.name}.{secrets.token_hex(6)}") if is_forced else out
    try:
        with new.open("x", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, out)
    except OSError as exc:
        why = reason_of(exc)
        raise BridgeError(f"{out}: {why}; the flow is in {_kept(text)}") from None


def _kept(text: str) -> str:
    """A new file with a flow that has no other place."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="hostbridge-", suffix=SUFFIX, encoding="utf-8", delete=False
    ) as file:
        file.write(text)
    return file.name


def _print(text: str) -> None:
    if sys.stdout.isatty():
        say(visible(text.rstrip("\n"), kept="\n\t"))
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()


def _say_failure(tries: list[TriedFlow]) -> None:
    tried = tries[-1]
    said = visible(f"{tried.flow}\n{tried.problems}\n", kept="\n\t")
    sys.stderr.write(said)
    file = _kept(tried.flow)
    complain(
        f"this flow, of {counted(len(tries), 'attempt')}, cannot run; mend it: {file}, "
        f"then look with: {in_shell('hostbridge', 'flow', 'check', file)}"
    )


def _say_success(tried: TriedFlow, out: Path | None) -> None:
    if hidden := unseen(tried.flow, kept="\n\t"):
        codes = ", ".join(f"U+{ord(sign):04X}" for sign in sorted(hidden))
        complain(f"the flow has characters that do not show: {codes}")
    if sys.stderr.isatty():
        plan = compile_flow(parse_flow(tried.flow))
        for line in fitting(plan, screen_of(sys.stderr).width):
            sys.stderr.write(f"{visible(line)}\n")
    if tried.notes:
        complain(f"{DESIGNER} says: {one_line(tried.notes)}")
    if who := by_whom(tried.result):
        complain(who)
    if out:
        complain(f"look at {out}, then: {in_shell('hostbridge', 'run', out)}")
    elif sys.stdout.isatty():
        complain(
            f"look at it, put it into NAME{SUFFIX}, then: hostbridge run NAME.flow"
        )


def _value(tried: TriedFlow, out: Path | None) -> dict[str, object]:
    return {
        "requestId": tried.result.request_id,
        "success": not tried.problems,
        "route": tried.result.route,
        "flow": tried.flow,
        "notes": tried.notes,
        "problems": tried.problems or None,
        "file": None if tried.problems else out,
    }
