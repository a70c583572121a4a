"""Print the state directory of this project; on stderr, why it is that one."""

from bridge.api.bridge import Bridge
from bridge.cli.options import AsJson
from bridge.cli.output import complain, say, say_json


def command(*, as_json: AsJson = False) -> None:
    """Print the path."""
    store = Bridge.open().store
    place = store.place
    if as_json:
        told = {"state": place.state, "project": place.project, "reason": place.reason}
        say_json(told | {"exists": store.exists()})
        return
    say(str(place.state))
    yet = "" if store.exists() else "; it is not there yet: nothing was ever asked here"
    complain(f"the project is {place.project}; {place.reason}{yet}")
