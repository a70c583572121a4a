"""Start the gate, or who waits for a ring, with only the standard library on the path.

If it fails, nothing has been read or decided yet, and the shell decides.
"""

import gc
import os
import sys

# Of `signal` itself a tenth is needed, and the rest takes a twentieth of the gate.
from _signal import alarm

# The client waits 30 seconds and then lets the call through. A hook that hangs ends
# before that, silently. If this process goes on as the full hook, it keeps the alarm.
alarm(25)

# The process ends with the event, so collecting garbage only costs time.
gc.disable()


def full(*event: object) -> None:
    """Go on as the full hook, with all that is installed."""
    from bridge.host.hook import main, use_what_is_installed

    use_what_is_installed()
    main(*event)


folder, *arguments = sys.argv[1:]
sys.path.append(folder + "/..")
try:
    if arguments[-1:] == ["ring"]:
        from bridge import ring

        ring.main(full, *arguments)
    else:
        from bridge.bound import gate

        gate.main(full, *arguments, begun=os.environb.pop(b"BRIDGE_READ", b""))
except Exception:
    sys.exit(1)
