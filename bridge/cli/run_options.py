"""Options of the commands that begin a run: `run`, `validate`, `build`."""

from functools import partial

from bridge.cli.numbers import number
from bridge.cli.options import WHO, option
from bridge.setting import count

BOUNDS = "Bounds"
ROUTE = option(
    "--route",
    metavar="ROUTE",
    heading=WHO,
    completes="routes",
    help="host, claude, local, endpoint, or auto, the default: an open session.",
)
# How much a run may use before it is paused.
BUDGETS = (
    option(
        "--max-agents",
        metavar="N",
        heading=BOUNDS,
        type=number(0),
        help="How many agents it may ask; then it is paused.",
    ),
    option(
        "--max-tokens",
        metavar="N",
        heading=BOUNDS,
        type=partial(count(0).read, "--max-tokens"),
        help="How many tokens they may use, such as 500k; then it is paused.",
    ),
)
