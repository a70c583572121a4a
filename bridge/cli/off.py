"""Stop everything at once: in this project, or in one session.

Nothing is offered any more. Agents that run are stopped at their next tool call.
Requests wait, until `hostbridge on` or their deadline.
"""

from typing import Annotated

import typer

from bridge.cli.printing import say
from bridge.host.sessions import switch_off
from bridge.spawner.bridge import Bridge


def command(
    *,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Only in this session.")
    ] = None,
) -> None:
    """Switch off and say what that means."""
    store = Bridge.open().store
    switch_off(store, session)
    place = f"session {session}" if session else str(store.place.project)
    say(
        f"off in {place}: running agents are stopped at their next tool call, "
        "requests wait. `hostbridge on` goes on"
    )
