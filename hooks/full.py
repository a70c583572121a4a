"""Start `bridge.host.hook`; where it is missing, say so once, when a session starts.

    python -EP full.py EVENT KIND STATE

A plugin runs the code beside it, whatever its environment has installed: an update of
the plugin replaces the one and not the other.
"""

import gc
import os
import signal
import sys

# The client waits 30 seconds. A hook that hangs ends before that, silently.
signal.alarm(25)

# The process ends with the event, so collecting garbage only costs time: 5 % of it.
gc.disable()

event, kind = (*sys.argv[1:3], "", "")[:2]
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if kind == "plugin" and os.path.isfile(root + "/bridge/host/hook.py"):
    sys.path.insert(0, root)
try:
    from bridge.host.hook import main

    if event == "SessionStart":
        # Plain events need no library; without one the others would fail unsaid.
        import orjson  # noqa: F401
except Exception as missing:  # not there, half there, or for another Python
    if event != "SessionStart":
        # Nothing was decided: the shell denies what must not go through.
        sys.exit(1)
    import json

    cure = (
        "run scripts/plugin-setup, in the plugin's folder"
        if kind == "plugin"
        else f"install it there, or `hostbridge uninstall --{kind}` elsewhere"
    )
    line = f"hostbridge: {sys.executable} cannot start it ({missing}): {cure}"
    sys.stdout.write(json.dumps({"systemMessage": line}) + "\n")
else:
    main(*sys.argv[1:4])
