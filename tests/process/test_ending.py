"""How a program ended is said by name: a number tells nobody what to look for."""

import signal
import subprocess
import time

import pytest

from bridge.agent_loop.command_tool import run_command
from bridge.process.ending import how_it_ended

CAUSES = {
    "SIGILL": "it has instructions that this processor refuses",
    "SIGABRT": "it stopped itself over a fault",
    "SIGBUS": "a file that it had mapped was cut short, or its memory has no room",
    "SIGFPE": "it divided by zero",
    "SIGKILL": "somebody killed it, or the system, short of memory, did",
    "SIGSEGV": "it used memory that is not its own",
    "SIGSYS": "it made a system call that is forbidden here",
    "SIGXCPU": "its limit of processor time is used up",
    "SIGXFSZ": "a file became larger than its limit",
}


@pytest.mark.parametrize(("name", "cause"), CAUSES.items(), ids=CAUSES)
def test_a_signal_is_named_with_its_cause(tmp_path, name, cause):
    """Seen by us or reported as 128 + N, as by our supervisor and every shell."""
    kill = ["sh", "-c", f"ulimit -c 0; kill -{name.removeprefix('SIG')} $$"]
    code = subprocess.run(kill, check=False).returncode
    ran = run_command("x", kill, folder=tmp_path, deadline_s=time.monotonic() + 300)

    assert how_it_ended(code) == f"ended by {name}: {cause}"
    assert ran.ended == f"exit code {128 - code} (as after {name}: {cause})"


OTHER_ENDS = [
    (0, "exit code 0"),
    (1, "exit code 1"),
    # git's for a wrong option; SIGHUP is no fault of the program either.
    (129, "exit code 129"),
    (255, "exit code 255"),
    (-signal.SIGHUP, "ended by SIGHUP"),
    (-signal.SIGTERM, "ended by SIGTERM"),
    (-(signal.SIGRTMIN + 3), f"ended by signal {signal.SIGRTMIN + 3}"),
]


@pytest.mark.parametrize(("code", "words"), OTHER_ENDS)
def test_any_other_end_is_said_as_it_is(code, words):
    assert how_it_ended(code) == words
