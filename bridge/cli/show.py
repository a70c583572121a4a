"""The history of one request: what was asked, what happened, how it was answered.

For example:
  hostbridge show $(hostbridge submit "Which modules lack tests?")
  hostbridge show --full $(hostbridge submit "Which modules lack tests?")
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.options import AS_JSON, ID, switch
from bridge.cli.output import say_result
from bridge.cli.show_text import story_text

OPTIONS = (
    ID,
    switch("--full", help="Everything uncut, and the whole prompt that the agent got."),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Print the history."""
    bridge = Bridge.open()
    story = bridge.story(options.request_id)
    text = story_text(story, now_ms=bridge.store.now_ms(), full=options.full)
    say_result(options, story, text)
