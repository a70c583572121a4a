"""Print the state directory of this project; on stderr, why it is that one."""

from bridge.cli.options import AsJson
from bridge.cli.printing import complain, say, say_json
from bridge.spawner.bridge import Bridge


def command(*, as_json: AsJson = False) -> None:
    """Print the path."""
    place = Bridge.open().store.place
    if as_json:
        told = {"state": place.state, "project": place.project, "reason": place.reason}
        say_json(told | {"exists": place.state.exists()})
        return
    say(str(place.state))
    complain(f"the project is {place.project}; {place.reason}")
