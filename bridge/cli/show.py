"""One request's whole story: what was asked, what happened, how it was answered."""

from typing import Annotated

import typer

from bridge.api.bridge import Bridge
from bridge.cli.options import AsJson, Id
from bridge.cli.output import say, say_json
from bridge.cli.show_text import story_text


def command(
    request_id: Id,
    *,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Everything uncut, and all that the agent was told."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the story."""
    bridge = Bridge.open()
    story = bridge.story(request_id)
    if as_json:
        say_json(story)
    else:
        say(story_text(story, now_ms=bridge.store.now_ms(), full=full))
