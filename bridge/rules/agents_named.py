"""Whether a rule names an agent that there is: asked by `rules check` and `trust`."""

from collections.abc import Callable
from pathlib import Path

from bridge.agents.known_agents import Agents
from bridge.config import Settings
from bridge.errors import BridgeError, NotTrusted


def agent_check(settings: Settings, project: Path) -> Callable[[str], str | None]:
    """A function that says what is wrong with the name of an agent."""
    agents = Agents.open(settings, project)

    def wrong(name: str) -> str | None:
        try:
            agents.find(name)
        except NotTrusted:
            # It is there; `trust` shows both.
            return None
        except BridgeError as error:
            return str(error)
        return None

    return wrong
