"""Options of the commands that begin a run: `run`, `validate`, `build`."""

from functools import partial

from bridge.api.run_options import OF_RUNS
from bridge.cli.common.options import WHO, Option, option
from bridge.cli.common.verbs import option_of
from bridge.operation import keys_of
from bridge.setting import count

BOUNDS = "Bounds"
ROUTE = option(
    "--route",
    metavar="ROUTE",
    heading=WHO,
    completes="routes",
    help="host, claude, local, endpoint, or auto, the default: an open session.",
)
ARGUMENTS = {of: (*keys_of(content),) for of, content in OF_RUNS.items()}


def option_for(of: str, name: str, heading: str = BOUNDS, **more: object) -> Option:
    """The option that stands for an argument of `run`, `validate` or `build`."""
    (argument,) = (each for each in ARGUMENTS[of] if each.name == name)
    return option_of(argument, heading, **more)


# How long a run may take, and how much it may use before it is paused.
TIMES = (option_for("run", "timeout_s"), option_for("run", "step_timeout_s"))
BUDGETS = (
    option_for("run", "max_agents"),
    option_for("run", "max_tokens", type=partial(count(0).read, "--max-tokens")),
)
