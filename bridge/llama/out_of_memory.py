"""Tell whether a process ended because it ran out of memory."""

from pathlib import Path

# Source: proc(5), "/proc/vmstat", `oom_kill`: processes that the kernel killed because
# memory ran out, in a control group or on the whole machine.
_VMSTAT = Path("/proc/vmstat")
_COUNTER = "oom_kill "
# What Python, NumPy, the C++ runtime, the loader and llama.cpp say.
_SIGNS = (
    "bad_alloc", "out of memory", "MemoryError", "memory allocation of",
    "failed to allocate", "allocation still failed", "Cannot allocate memory",
    "failed to map segment", "cannot map zero-fill pages", "can't start new thread",
)  # fmt: skip


def is_reported(message: str) -> bool:
    """Whether a message says that there was not enough memory."""
    return any(sign in message for sign in _SIGNS)


def kernel_kills() -> int:
    """How many processes the kernel has killed for lack of memory since it started."""
    try:
        text = _VMSTAT.read_text()
    except OSError:
        return 0
    counts = [line for line in text.splitlines() if line.startswith(_COUNTER)]
    return int(counts[0].removeprefix(_COUNTER)) if counts else 0
