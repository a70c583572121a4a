"""Start `bridge.host.hook`; where it is missing, say so once, when a session starts.

    python -EPS full.py EVENT KIND STATE

It runs the code that it came with, whatever its environment has installed: an update of
a plugin replaces the one and not the other. What is installed is looked for when it is
needed: most events need nothing but the standard library.
"""

import gc
import os
import sys

# Of `signal` itself a tenth is needed.
from _signal import alarm

# The client waits 30 seconds. A hook that hangs ends before that, silently.
alarm(25)

# The process ends with the event, so collecting garbage only costs time: 5 % of it.
gc.disable()

event, kind = (*sys.argv[1:3], "", "")[:2]
above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for root in (above, os.path.dirname(above)):
    if os.path.isfile(root + "/bridge/host/hook.py"):
        sys.path.append(root)
        break
else:
    import site

    site.main()
try:
    from bridge.host.hook import main, use_what_is_installed

    use_what_is_installed()
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
    # What the shell has read is no business of other processes.
    main(*sys.argv[1:4], begun=os.environb.pop(b"BRIDGE_READ", b""))
