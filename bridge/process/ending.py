"""How a program ended, in words: its exit code, or the signal that ended it."""

import signal

# 128 + N is how shells, and our supervisor, report signal N.
_AFTER_SIGNAL = 128
# Those whose name alone does not tell what to look for. A few programs have such exit
# codes of their own: git's for a wrong option is 129, which would be SIGHUP.
_CAUSES = {
    signal.SIGILL: "it has instructions that this processor refuses",
    signal.SIGABRT: "it stopped itself over a fault",
    signal.SIGBUS: "a file that it had mapped was cut short, or its memory has no room",
    signal.SIGFPE: "it divided by zero",
    signal.SIGKILL: "somebody killed it, or the system, short of memory, did",
    signal.SIGSEGV: "it used memory that is not its own",
    signal.SIGSYS: "it made a system call that is forbidden here",
    signal.SIGXCPU: "its limit of processor time is used up",
    signal.SIGXFSZ: "a file became larger than its limit",
}


def cause_of(code: int) -> str:
    """What the signal in an exit code says of the program; empty without a signal."""
    number = -code if code < 0 else code - _AFTER_SIGNAL
    return next((cause for each, cause in _CAUSES.items() if each == number), "")


def name_of(code: int) -> str:
    """The name of the signal that ended a program, whose exit code is negative."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        # A real-time signal but the first and the last.
        return f"signal {-code}"


def how_it_ended(code: int) -> str:
    """An exit code in words: -N if the program was seen to be ended by signal N."""
    cause = cause_of(code)
    if code < 0:
        return f"ended by {name_of(code)}" + (f": {cause}" if cause else "")
    after = name_of(_AFTER_SIGNAL - code)
    return f"exit code {code}" + (f" (as after {after}: {cause})" if cause else "")
