"""Start `hostbridge mcp`: the plugin's own, or that of the interpreter's environment.

python -EP mcp_server.py KIND
"""

import os
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.argv[1:] == ["plugin"] and os.path.isfile(root + "/bridge/cli/entry.py"):
    sys.path.insert(0, root)
sys.argv[:] = ["hostbridge", "mcp"]

from bridge.cli.entry import main  # noqa: E402 - only now is its place known

main()
