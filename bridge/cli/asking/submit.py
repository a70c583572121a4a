"""Ask without waiting: print the request's id. From then on the request is on disk.

No session needs to be open: the request waits for one until its deadline. With --route
claude, local or endpoint it waits for `hostbridge serve` instead.

For example:
  id=$(hostbridge submit "Which modules lack tests?")
  hostbridge submit --timeout 1d Explore "Where is main?"
"""

from argparse import Namespace

from bridge.api.bridge import Bridge
from bridge.cli.common.inputs import agent_and_prompt, hint_of_quotes, question
from bridge.cli.common.options import AS_JSON, QUESTION, option
from bridge.cli.common.output import say_result

OPTIONS = (
    *QUESTION,
    option(
        "--id",
        dest="request_id",
        metavar="ID",
        help="The request's id; by default a new one.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> None:
    """Submit and print the id."""
    bridge = Bridge.open()
    agent, prompt = agent_and_prompt(bridge, options)
    with hint_of_quotes(options):
        submitted = bridge.submit(prompt, agent, **question(options, bridge))
    say_result(options, {"requestId": submitted}, submitted)
