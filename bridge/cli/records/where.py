"""Print the state directory of this project; on a terminal, also why it is that one.

For example:
  hostbridge where
  ls "$(hostbridge where)"
"""

import sys
from argparse import Namespace
from collections.abc import Iterator

from bridge.api.bridge import Bridge
from bridge.cli.common.options import AS_JSON
from bridge.cli.common.output import say, say_json
from bridge.cli.screen.screen import Line, Styled, screen_of, wrapped
from bridge.store.location import Place

OPTIONS = (AS_JSON,)


def command(options: Namespace) -> None:
    """Print the path."""
    store = Bridge.open().store
    place = store.place
    if options.as_json:
        value = {"state": place.state, "project": place.project, "reason": place.reason}
        say_json(value | {"exists": store.exists()})
        return
    say(*where_lines(place, screen_of(sys.stdout).width, exists=store.exists()))


def where_lines(place: Place, width: int | None, *, exists: bool) -> Iterator[Line]:
    """The path; in a pipe nothing else."""
    yield str(place.state)
    if width is None:
        return
    why = f"the project is {place.project}; {place.reason}"
    yield from wrapped(Styled(why, "dim"), width, whole_words=True)
    if not exists:
        yet = "it is not there yet: nothing was ever asked here"
        yield from wrapped(Styled(yet, "yellow"), width)
