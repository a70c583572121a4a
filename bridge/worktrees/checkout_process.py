"""The process that makes, looks for and removes checkouts: `checkout_process.py WHAT`.

Reads what `checkouts` gives it from stdin, and prints what came of it as JSON, or
{"refused", "ways"}.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(what: str) -> None:
    """Do it."""
    # Under -P our package may not be on the path; it goes behind everything else.
    sys.path.append(os.path.abspath(__file__ + "/../../.."))
    from bridge.errors import BridgeError
    from bridge.worktrees import checkouts

    given = json.load(sys.stdin)
    project = (Path(given.pop("project")),) if "project" in given else ()
    done: dict[str, Callable[..., dict[str, Any]]] = {
        "make": checkouts.make, "look": checkouts.look, "drop": checkouts.remove,
    }  # fmt: skip
    said: dict[str, Any]
    try:
        said = done[what](*project, **given)
    except BridgeError as exc:
        said = {"refused": exc.what, "ways": exc.ways}
    sys.stdout.write(json.dumps(said, ensure_ascii=True))


if __name__ == "__main__":
    main(sys.argv[1])
