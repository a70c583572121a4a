"""How much a run may use before it is paused: options of `run` and `build`."""

from functools import partial

from bridge.cli.numbers import number
from bridge.cli.options import option
from bridge.setting import count

# The part of the help that lists them.
BOUNDS = "Bounds"
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
