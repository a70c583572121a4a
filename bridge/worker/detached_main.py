"""Work for a project in a process of its own: `detached_main.py PLACE MODULE …`.

Started by `bridge.process.detached`, and outlives whoever started it. PLACE is the
project's `Place` as a JSON list. `MODULE` has a function `detached`, which takes the
store, the settings and the other words.
"""

from __future__ import annotations

import json
import os
import sys


def main(place: str, module: str, *words: str) -> None:
    """Do it. What it cannot do is for whoever looks next; a bug is logged."""
    from importlib import import_module

    from bridge.config import Settings
    from bridge.errors import BridgeError
    from bridge.store.config_file import in_files
    from bridge.store.hook_log import log_failure
    from bridge.store.location import Place
    from bridge.store.store import Store

    where = Place.of_words(json.loads(place))
    settings, _problems = in_files(Settings.from_environment(), where.state)
    store = Store(where, lease_s=settings.lease_s)
    try:
        import_module(module).detached(store, settings, *words)
    except BridgeError:
        return
    except Exception:  # noqa: BLE001 - nobody sees it otherwise
        log_failure(module.rpartition(".")[2])


if __name__ == "__main__":
    # Whoever started us neither waits for us nor takes us along to its end.
    if os.fork():
        os._exit(0)
    # The same package as that of whoever started it, whatever else is installed.
    sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
    main(*sys.argv[1:])
