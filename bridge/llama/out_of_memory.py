"""How a process that ran out of memory is told from one that ended otherwise."""

from __future__ import annotations

from pathlib import Path

# Source: proc(5), "/proc/vmstat", `oom_kill`: processes that the kernel has killed for
# want of memory, in a control group or on the whole machine.
_VMSTAT = Path("/proc/vmstat")
_COUNTER = "oom_kill "
# What Python, the C++ runtime, the loader and llama.cpp say.
_SIGNS = (
    "bad_alloc",
    "out of memory",
    "MemoryError",
    "memory allocation of",
    "failed to allocate",
    "Cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
)


def is_told(words: str) -> bool:
    """Whether these words tell of memory that was not to be had."""
    return any(sign in words for sign in _SIGNS)


def kernel_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    try:
        told = _VMSTAT.read_text()
    except OSError:
        return 0
    counts = [line for line in told.splitlines() if line.startswith(_COUNTER)]
    return int(counts[0].removeprefix(_COUNTER)) if counts else 0
