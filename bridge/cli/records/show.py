"""The history of one request: what was asked, what happened, how it was answered.

Without an ID it is the latest request; the beginning of an id will do, if no other one
begins with it.

For example:
  hostbridge show
  id=$(hostbridge submit "Which modules lack tests?")
  hostbridge show --full "$id"
"""

import sys
from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.api.result import result_of
from bridge.cli.asking.answer_text import bare_text
from bridge.cli.common.options import AS_JSON, AS_TEXT, ID, switch
from bridge.cli.common.output import say, say_result
from bridge.cli.common.which_request import latest, which
from bridge.cli.records.show_text import StoryScreen
from bridge.cli.screen.screen import screen_of
from bridge.errors import BridgeError
from bridge.protocol.status import Status

OPTIONS = (
    ID._replace(
        settings=ID.settings
        | {
            "metavar": "ID",
            "nargs": "?",
            "help": "The id that `submit` printed, or how it begins; by default the "
            "latest request.",
        }
    ),
    switch("--full", help="Everything uncut, and the whole prompt that the agent got."),
    AS_JSON,
    AS_TEXT,
)


def command(options: Namespace) -> None:
    """Print the history."""
    bridge = Bridge.open()
    named = options.request_id
    story = bridge.story(which(bridge, named) if named is not None else latest(bridge))
    if options.as_text:
        if story.response is None or story.response.parsed_output is None:
            raise BridgeError(
                f"request {story.request_id} has no answer: {story.status}"
            )
        say(bare_text(result_of(story.response)))
        return
    request = story.request
    waits = story.status == Status.PENDING and request and request.route == "host"
    screen = StoryScreen(
        story,
        now_ms=bridge.store.now_ms(),
        width=screen_of(sys.stdout).width,
        full=options.full,
        why_waiting=bridge.hosts.why_waiting(request) if request and waits else None,
    )
    say_result(options, story, *screen.lines())
