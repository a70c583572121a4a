"""What a run needs here, by its plan: what is missing is said before anybody is asked.

| a plan has | it needs |
| --- | --- |
| an agent led through a workflow by our tools | the extra `mcp`, but in our own loop |
| the same, in a session | the server registered there |
| a worktree step that no condition guards | a git repository with a commit |
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bridge.errors import NoRoute
from bridge.extras import how_to_add
from bridge.host import mcp_registration
from bridge.host.install import Installer
from bridge.policy.tool_names import has_own_tools

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.flow.plan import Plan
    from bridge.routes import RouteName
    from bridge.store.location import Place

_SERVER = "mcp"


def check_needs(
    settings: Settings,
    place: Place,
    plan: Plan,
    route: RouteName,
    definitions: Iterable[Definition],
) -> None:
    """Check that a run of a plan, whose agents have these definitions, can go on here.

    Raises:
        NoRoute: the agents would not have their tools.
        WorktreeRefused: no worktree can be made.
    """
    led = sorted({each.name for each in definitions if _is_led(each)})
    if led and (ways := _missing(settings, place, route)):
        raise NoRoute(
            f"{', '.join(led)}: led through a workflow by hostbridge's own tools, "
            f"which agents do not get here on the route {route}",
            ways=ways,
        )
    if any(map(_makes_a_worktree, (plan, *plan["flows"].values()))):
        from bridge.worktrees import check_usable

        check_usable(place.project)


def _is_led(definition: Definition) -> bool:
    """Whether an agent goes nowhere without our tools; for others they are of use."""
    led = definition.workflow or definition.workflows or definition.steps
    return bool(led) and has_own_tools(definition.tools or ())


def _missing(settings: Settings, place: Place, route: RouteName) -> list[str]:
    """What adds the tools of our MCP server to agents on a route, all of it."""
    ways = []
    if route in ("host", "claude") and find_spec(_SERVER) is None:
        ways.append(how_to_add(_SERVER))
    if route == "host" and not mcp_registration.is_there(settings, place):
        scopes = Installer(settings, place.project).scopes()
        where = f"--{scopes[0]} " if scopes else ""
        ways.append(f"hostbridge install {where}--mcp")
        ways.append("open the session anew after that")
        ways.append("or have it answered without a session: `--route claude`")
    return ways


def _makes_a_worktree(plan: Plan) -> bool:
    """Whether a step that no condition guards works on the repository."""
    return any(
        node["kind"] == "worktree" and "if" not in node
        for node in plan["nodes"].values()
    )
