"""Print the state directory of this project; on stderr, why it is that one.

For example:
  hostbridge where
  ls "$(hostbridge where)"
"""

from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.options import AS_JSON
from bridge.cli.output import complain, say, say_json
from bridge.config import Settings

OPTIONS = (AS_JSON,)


def command(options: Namespace) -> None:
    """Print the path."""
    store = Bridge(Settings.from_environment(), Path()).store
    place = store.place
    if options.as_json:
        value = {"state": place.state, "project": place.project, "reason": place.reason}
        say_json(value | {"exists": store.exists()})
        return
    say(str(place.state))
    yet = "" if store.exists() else "; it is not there yet: nothing was ever asked here"
    complain(f"the project is {place.project}; {place.reason}{yet}")
